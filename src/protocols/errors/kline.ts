import type { ErrorEntry } from './index.ts';

export const KLINE_ERRORS = {} as const satisfies Record<string, ErrorEntry>;
