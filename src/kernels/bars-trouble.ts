import type { IntervalPlan } from '../protocols/kline.ts';
import type { Trouble } from '../protocols/partition.ts';

// The same offsets as in assembly/lib/bars-layout.ts; the kernel's tests read through both.
const HEAD = { flags: 160, body: 164, holes: 172, expected: 176 } as const;
const BODY = { global: 0, suspectFrom: 8, deepFrom: 16, deepTo: 24, deepMask: 32 } as const;
const HOLE_BYTES = 40;
const SUSPECT = 4;

/** `at` is the symbol's head, `table` its holes. */
export function readTrouble(view: DataView, at: number, table: number, plan: IntervalPlan): Trouble {
  const flags = view.getUint32(at + HEAD.flags, true);
  const body = view.getUint32(at + HEAD.body, true);
  const mask = view.getUint32(body + BODY.deepMask, true);
  return {
    symbol: view.getUint32(body + BODY.global, true),
    holes: Array.from({ length: view.getUint32(at + HEAD.holes, true) }, (_, index) => {
      const hole = table + index * HOLE_BYTES;
      return {
        first: view.getBigUint64(hole, true),
        last: view.getBigUint64(hole + 8, true),
        fromUs: view.getBigUint64(hole + 16, true),
        toUs: view.getBigUint64(hole + 24, true),
        isCoarse: view.getBigUint64(hole + 32, true) !== 0n,
      };
    }),
    suspectFromUs: flags & SUSPECT ? view.getBigUint64(body + BODY.suspectFrom, true) : undefined,
    expected: view.getBigUint64(at + HEAD.expected, true),
    deep:
      mask === 0
        ? undefined
        : {
            intervals: plan.names.filter((_, index) => mask & (1 << index)),
            fromUs: view.getBigUint64(body + BODY.deepFrom, true),
            toUs: view.getBigUint64(body + BODY.deepTo, true),
          },
  };
}
