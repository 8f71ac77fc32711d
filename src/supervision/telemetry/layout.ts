import { roundUp, SEPARATION_BYTES } from '../threads/layout.ts';

/**
 * Figures in shared memory, which any thread may write and whoever scrapes reads.
 *
 * A count is 64 bits in two words, because 32 bits wrap within minutes on a hot path and JavaScript has no cheap atomic
 * add of 64:
 *
 *     0        4        8
 *     +--------+--------+
 *     | LOW    | HIGH   |      HIGH counts how often LOW has wrapped
 *     +--------+--------+
 *
 *   counter:     one count, alone on 128 bytes
 *   histogram:   the sum of all values, then one count for each bucket; rounded up to 128 bytes, since all of it is
 *                written by the threads that observe the same thing
 */
export const COUNT_BYTES = 8;
export const COUNTER_BYTES = SEPARATION_BYTES;

export function histogramBytes(buckets: number): number {
  return roundUp(COUNT_BYTES * (1 + buckets), SEPARATION_BYTES);
}

/** Where a figure lies; can be sent to another thread. */
export interface FigurePlace {
  readonly buffer: SharedArrayBuffer;
  readonly at: number;
}
