import { WORD_BYTES } from '../threads/layout.ts';
import type { Memory } from '../threads/memory.ts';
import type { Buckets } from './buckets.ts';
import { addToCount, CountReader, readCount } from './counter.ts';
import { COUNT_BYTES } from './layout.ts';

const COUNT_WORDS = COUNT_BYTES / WORD_BYTES;
const VALUE_NS_MAX = 0x7fff_ffff;

/** Durations that any thread records: two atomic adds each. */
export class SharedHistogram {
  readonly #memory: Memory;
  readonly #sum: number;
  readonly #buckets: Buckets;

  constructor(memory: Memory, at: number, buckets: Buckets) {
    this.#memory = memory;
    this.#sum = at / WORD_BYTES;
    this.#buckets = buckets;
  }

  record(ns: number): void {
    addToCount(this.#memory, this.#sum + COUNT_WORDS * (1 + this.#buckets.bucketOf(ns)), 1);
    addToCount(this.#memory, this.#sum, Math.max(0, Math.min(VALUE_NS_MAX, Math.round(ns))));
  }
}

export interface HistogramView {
  readonly boundsNs: readonly number[];
  /** How many values fell into each bucket, not cumulated. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sumNs: number;
}

export class HistogramReader {
  readonly #memory: Memory;
  readonly #at: number;
  readonly #buckets: Buckets;
  readonly #sum: CountReader;

  constructor(memory: Memory, at: number, buckets: Buckets) {
    this.#memory = memory;
    this.#at = at;
    this.#buckets = buckets;
    this.#sum = new CountReader(memory, at);
  }

  read(): HistogramView {
    const first = this.#at / WORD_BYTES + COUNT_WORDS;
    const { boundsNs } = this.#buckets;
    const counts = boundsNs.map((_, index) => readCount(this.#memory, first + index * COUNT_WORDS));
    const count = counts.reduce((total, each) => total + each, 0);
    return { boundsNs, counts, count, sumNs: this.#sum.read() };
  }
}

/** The bound below which the given share of the values lies; undefined when there are none. */
export function percentileNs(view: HistogramView, share: number): number | undefined {
  let left = Math.ceil(view.count * share);
  for (const [index, count] of view.counts.entries()) {
    left -= count;
    if (count > 0 && left <= 0) return view.boundsNs[index];
  }
  return undefined;
}
