// How long the machine keeps a thread from its core although it has it for itself: timer ticks, interrupts, the hypervisor.
// No frame can be served faster than that, so the latency benchmarks show it beside their own tails.
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { DutyContext, DutyCycle } from '../src/supervision/threads/duty-cycle.ts';
import { PinnedThread } from '../src/supervision/threads/pinned-thread.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';

/** A look at the clock takes 50 ns; what is longer than this was not our doing. */
const GAP_NS = 1_000;
const GAPS_MAX = 100_000;
const LOOKS_A_CYCLE = 10_000;

interface WatcherArgs {
  /** The number of gaps, the time watched, then the gaps themselves, in nanoseconds. */
  readonly gaps: Float64Array<SharedArrayBuffer>;
}

/** Looks at the clock without end and notes when it jumped. */
export function watcher({ args }: DutyContext): DutyCycle {
  const { gaps } = args as WatcherArgs;
  const beginNs = nowNs();
  let lastNs = beginNs;
  return {
    doWork() {
      for (let look = 0; look < LOOKS_A_CYCLE; look++) {
        const now = nowNs();
        if (now - lastNs > GAP_NS && gaps[0]! < GAPS_MAX) {
          gaps[2 + gaps[0]!] = now - lastNs;
          gaps[0]!++;
        }
        lastNs = now;
      }
      gaps[1] = lastNs - beginNs;
      return 0;
    },
  };
}

/** What a frame that comes at a random moment waits for a spinning thread on that core, in microseconds, by share of frames. */
export async function coreWait(cpu: number, forMs: number): Promise<(share: number) => number> {
  const gaps = new Float64Array(new SharedArrayBuffer((2 + GAPS_MAX) * 8));
  const thread = new PinnedThread({
    name: 'core-wait',
    module: pathToFileURL(fileURLToPath(import.meta.url)),
    exportName: 'watcher',
    cpu,
    idle: { kind: 'spin' },
    prepare: () => ({ args: { gaps } satisfies WatcherArgs }),
  });
  await thread.start();
  await new Promise((resolve) => setTimeout(resolve, forMs));
  await thread.stop(1_000);
  const found = gaps.slice(2, 2 + gaps[0]!).sort();
  return (share) => waitAt(found, gaps[1]!, share) / 1000;
}

/** A frame in a gap of g waits between g and nothing: of all frames, sum(g - d) / time wait longer than d. */
function waitAt(sorted: Float64Array, watchedNs: number, share: number): number {
  const allowedNs = (1 - share) * watchedNs;
  let longer = 0;
  let sum = 0;
  for (let at = sorted.length - 1; at >= 0; at--) {
    const shorter = at > 0 ? sorted[at - 1]! : 0;
    longer++;
    sum += sorted[at]!;
    if (sum - longer * shorter >= allowedNs) return (sum - allowedNs) / longer;
  }
  return 0;
}
