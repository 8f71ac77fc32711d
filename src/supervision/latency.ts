import type { LatencyInfo } from './inspect.ts';

// Four buckets to each doubling from 100 ns up, so a percentile is at most 19 % off: 0.1, 0.12, 0.14, 0.17, 0.2 us ...
const PER_DOUBLING = 4;
const BUCKETS = 30 * PER_DOUBLING;
const FIRST_MS = 0.0001;

/** Durations in logarithmic buckets; recording one is an increment. */
export class LatencyRecorder {
  readonly #buckets = new Float64Array(BUCKETS);
  #count = 0;
  #max = 0;

  record(ms: number): void {
    const bucket = ms <= FIRST_MS ? 0 : Math.ceil(Math.log2(ms / FIRST_MS) * PER_DOUBLING);
    this.#buckets[Math.min(bucket, BUCKETS - 1)]!++;
    this.#count++;
    if (ms > this.#max) this.#max = ms;
  }

  info(): LatencyInfo | undefined {
    if (this.#count === 0) return undefined;
    return { count: this.#count, p50: this.#percentile(0.5), p99: this.#percentile(0.99), max: this.#max };
  }

  #percentile(share: number): number {
    let left = Math.ceil(this.#count * share);
    for (let bucket = 0; bucket < BUCKETS; bucket++) {
      left -= this.#buckets[bucket]!;
      if (left <= 0) return Math.min(FIRST_MS * 2 ** (bucket / PER_DOUBLING), this.#max);
    }
    return this.#max;
  }
}
