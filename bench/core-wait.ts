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

/** What a machine takes from a thread that has a core for itself. Times in microseconds, by share of frames. */
export interface CoreLoss {
  /** What a frame that comes at a random moment waits for a thread that spins there. */
  wait(share: number): number;
  /** How long work that always needs the same time takes, if it is begun at a random moment at which the thread has its core. */
  work(neededUs: number, share: number): number;
}

export async function coreLoss(cpu: number, forMs: number): Promise<CoreLoss> {
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
  const watchedNs = gaps[1]!;
  const hadNs = watchedNs - found.reduce((sum, gap) => sum + gap, 0);
  return {
    wait: (share) => waitAt(found, watchedNs, share) / 1000,
    work: (neededUs, share) => neededUs + gapAt(found, hadNs, neededUs * 1000, share) / 1000,
  };
}

/** The gap that work of that length meets: a longer one begins in it for (1 - share) of all frames, no two of them together. */
function gapAt(sorted: Float64Array, hadNs: number, neededNs: number, share: number): number {
  const longer = Math.floor(((1 - share) * hadNs) / neededNs);
  return sorted[sorted.length - 1 - longer] ?? 0;
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
