import * as contract from '../../kernels/assembly/lib/contract.ts';
import type { ErrorCode } from '../../protocols/errors/index.ts';

/** The decode kernel's refusals as error codes. */
const CODES: Readonly<Record<number, ErrorCode>> = {
  [contract.REFUSED_JSON]: 'TW_FRAME_JSON',
  [contract.REFUSED_SHAPE]: 'TW_FRAME_SHAPE',
  [contract.REFUSED_DECIMAL]: 'TW_FRAME_DECIMAL',
  [contract.REFUSED_OVERFLOW]: 'TW_FRAME_OVERFLOW',
  [contract.REFUSED_PRECISION]: 'TW_FRAME_PRECISION',
  [contract.REFUSED_ORDER]: 'TW_FRAME_ORDER',
  [contract.REFUSED_ROUTE]: 'TW_FRAME_ROUTE',
  [contract.REFUSED_ESCAPE]: 'TW_FRAME_ESCAPE',
  [contract.REFUSED_DEPTH]: 'TW_FRAME_NESTING',
  [contract.REFUSED_FIELDS]: 'TW_FRAME_FIELDS',
  [contract.REFUSED_CAPACITY]: 'TW_FRAME_CAPACITY',
  [contract.REFUSED_SIZE]: 'TW_FRAME_SIZE',
};

export function refusalCode(code: number): ErrorCode {
  return CODES[code] ?? 'TW_FRAME_UNKNOWN';
}
