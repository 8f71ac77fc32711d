import type { IntervalPlan } from '../protocols/kline.ts';
import type { Trouble } from '../protocols/partition.ts';

// The same offsets as in assembly/lib/bars-layout.ts; the kernel's tests read through both.
const HEAD = {
  flags: 160,
  global: 164,
  holes: 172,
  expected: 176,
  suspectFrom: 200,
  tailLast: 208,
  deepFrom: 216,
  deepTo: 224,
  deepMask: 232,
} as const;
const HEAD_BYTES = 320;
const INTERVAL_BYTES = 64;
const HOLE_BYTES = 32;
const SUSPECT = 4;
const TAIL = 8;

export function readTrouble(view: DataView, at: number, plan: IntervalPlan): Trouble {
  const flags = view.getUint32(at + HEAD.flags, true);
  const mask = view.getUint32(at + HEAD.deepMask, true);
  const table = at + HEAD_BYTES + plan.names.length * INTERVAL_BYTES;
  return {
    symbol: view.getUint32(at + HEAD.global, true),
    holes: Array.from({ length: view.getUint32(at + HEAD.holes, true) }, (_, index) => {
      const hole = table + index * HOLE_BYTES;
      return {
        first: view.getBigUint64(hole, true),
        last: view.getBigUint64(hole + 8, true),
        fromUs: view.getBigUint64(hole + 16, true),
        toUs: view.getBigUint64(hole + 24, true),
      };
    }),
    suspectFromUs: flags & SUSPECT ? view.getBigUint64(at + HEAD.suspectFrom, true) : undefined,
    tailLast: flags & TAIL ? view.getBigUint64(at + HEAD.tailLast, true) : undefined,
    expected: view.getBigUint64(at + HEAD.expected, true),
    deep:
      mask === 0
        ? undefined
        : {
            intervals: plan.names.filter((_, index) => mask & (1 << index)),
            fromUs: view.getBigUint64(at + HEAD.deepFrom, true),
            toUs: view.getBigUint64(at + HEAD.deepTo, true),
          },
  };
}
