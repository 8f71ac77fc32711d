/** Times are told over about the last minute: six slices of ten seconds, so 60 to 70 s once it has run for so long. */
export const WINDOW_MS = 60_000;
const SLICES = 6;
const SLICE_MS = WINDOW_MS / SLICES;

/**
 * What was added to rising counts within the last minute. Whoever counts pays nothing for it: the reader remembers the
 * counts of each ten seconds in which it looked, and subtracts the oldest that it has.
 *
 *     seconds ago   64      54      44      34      24      14      4     now
 *                   [0]     [1]     [2]     [3]     [4]     [5]     [6]   counts - [0]
 *
 * A reader that stayed away for longer gets what was added since its last look.
 */
export class CountsWindow {
  /** Oldest first, kept modulo 2^32. */
  readonly #marks: Uint32Array[] = [];
  #markedMs = Number.NEGATIVE_INFINITY;

  /** The part of the counts that belongs to the window. To be asked with the same length and later times. */
  of(counts: ArrayLike<number>, nowMs: number): number[] {
    const [oldest] = this.#marks;
    const added = Array.from(counts, (count, at) => (oldest === undefined ? count : (count - oldest[at]!) >>> 0));
    if (nowMs - this.#markedMs >= SLICE_MS) this.#mark(counts, nowMs);
    return added;
  }

  /** Room is made once; afterwards the oldest mark is written over. Counts before the first look are of the window too. */
  #mark(counts: ArrayLike<number>, nowMs: number): void {
    const isFirst = this.#marks.length === 0;
    const mark = this.#marks.length > SLICES ? this.#marks.shift()! : new Uint32Array(counts.length);
    if (!isFirst) mark.set(counts);
    this.#marks.push(mark);
    this.#markedMs = nowMs;
  }
}
