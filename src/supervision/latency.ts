import type { LatencyInfo } from './inspect.ts';
import { CountsWindow } from './telemetry/counts-window.ts';

// Four buckets to each doubling from 100 ns up, so a percentile is at most 19 % off: 0.1, 0.12, 0.14, 0.17, 0.2 us ...
const PER_DOUBLING = 4;
const BUCKETS = 30 * PER_DOUBLING;
const FIRST_MS = 0.0001;
/** What nothing was added to is looked at so often, to see it grow old. */
const RESTING_MS = 5000;

/** Durations in logarithmic buckets; recording one is an increment. What is told of them is of the last minute. */
export class LatencyRecorder {
  readonly #buckets = new Float64Array(BUCKETS);
  readonly #window = new CountsWindow();
  #max = 0;
  #recorded = 0;
  /** What was told last, how much was recorded by then, and when. */
  #told: { readonly info: LatencyInfo | undefined; readonly recorded: number; readonly atMs: number } | undefined;

  record(ms: number): void {
    const bucket = ms <= FIRST_MS ? 0 : Math.ceil(Math.log2(ms / FIRST_MS) * PER_DOUBLING);
    this.#buckets[Math.min(bucket, BUCKETS - 1)]!++;
    if (ms > this.#max) this.#max = ms;
    this.#recorded++;
  }

  /** The tree is looked at several times a second, and most of its actors rest: those are not summed up anew. */
  info(nowMs: number): LatencyInfo | undefined {
    const told = this.#told;
    if (told !== undefined && told.recorded === this.#recorded && nowMs - told.atMs < RESTING_MS) return told.info;
    const info = this.#recorded === 0 ? undefined : this.#sumUp(nowMs);
    this.#told = { info, recorded: this.#recorded, atMs: nowMs };
    return info;
  }

  #sumUp(nowMs: number): LatencyInfo | undefined {
    const counts = this.#window.of(this.#buckets, nowMs);
    const count = counts.reduce((sum, each) => sum + each, 0);
    if (count === 0) return undefined;
    const percentile = (share: number) => this.#percentile(counts, Math.ceil(count * share));
    return { count, p50: percentile(0.5), p99: percentile(0.99), max: percentile(1) };
  }

  /** The bound of the bucket that holds the given rank, and never more than was ever recorded. */
  #percentile(counts: readonly number[], rank: number): number {
    let left = rank;
    const bucket = counts.findIndex((count) => {
      left -= count;
      return left <= 0;
    });
    return Math.min(FIRST_MS * 2 ** (bucket / PER_DOUBLING), this.#max);
  }
}
