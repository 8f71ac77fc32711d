import { bookBytes, DEPTH_MAX, DEPTH_MIN, SUMMARY_LEVEL_BYTES, summaryBytes, VENUES_MAX } from './book-layout.ts';
import { invariant } from './errors/index.ts';

/**
 * The shared memory of a merger: V venues, S symbols, depth D. Exchange threads write on the left, the merger's thread
 * reads there and writes on the right, the publisher reads there. While the merger does not come, an exchange's thread that gets the
 * turn does the merger's work for its own book.
 *
 *     1024
 *     +---------+------------+---------+--------------+--------+---------+------------+------------+
 *     | control | deadlines  | V dirty | V x S book   | merger | output  | S summary  | scratch of |
 *     | words   | V + V x S  | bitmaps | slots        | rows S | bitmap  | slots      | the merger |
 *     +---------+------------+---------+--------------+--------+---------+------------+------------+
 *
 * A dirty bitmap has a bit a symbol, and above it a bit for each of its words, so that a sweep over 1,000 idle symbols
 * looks at one word. A writer publishes its slot, then sets the symbol's bit, then the word's bit; the reader clears them
 * in the opposite order, so that no mark is lost.
 *
 * Deadlines are milliseconds of the threads' common clock, modulo 2^32, as one word: OUT means that the book does not
 * count, ALWAYS that it counts until told otherwise, anything else that it counts until that moment. A book is in the
 * summary while both its venue's and its own deadline say so: a timer-driven feed moves its own with each frame, a
 * change-driven one with each sign of life of its connection. The venue's serves whoever wants to leave out all its books.
 */
export interface MergeShape {
  readonly venues: number;
  readonly symbols: number;
  readonly depth: number;
  /** Bytes of a slot that carries a payload of that many bytes. */
  readonly slotBytes: (payloadBytes: number) => number;
}

export interface MergeLayout {
  readonly shape: MergeShape;
  readonly bookBytes: number;
  readonly summaryBytes: number;
  readonly bookSlotBytes: number;
  readonly summarySlotBytes: number;
  /** Byte offsets. */
  readonly control: number;
  readonly venueDeadlines: number;
  readonly bookDeadlines: number;
  readonly venueDirty: number;
  readonly venueDirtyBytes: number;
  readonly bookSlots: number;
  readonly rows: number;
  readonly outputDirty: number;
  readonly summarySlots: number;
  readonly scratch: number;
  readonly totalBytes: number;
}

/** Words of the control block, by byte offset. */
export const MERGE_CONTROL = {
  /** A doorbell (rings, waiting) that the merger rings after it has marked summaries in the output bitmap. */
  doorbell: 0,
  /** Summaries published, and those of them that a helper merged, modulo 2^32. */
  merges: 128,
  helped: 132,
  /** Who merges at the moment, 0 for nobody. Only its holder gives it back, or the owner once the holder's thread has ended. */
  turn: 256,
  /** Somebody died in its turn: everything is to be merged again. */
  redo: 384,
  /** Books have been left out since the merger last looked for those that do not count any more. */
  left: 388,
} as const;
export const MERGE_CONTROL_BYTES = 512;

/** The merger's number as a holder of the turn; helpers have others, each thread its own. */
export const MERGER_TURN = 1;

/** What the merger remembers of a symbol: sequence u64, venues in the last summary u32, venues that have a book u32. */
export const MERGE_ROW_BYTES = 16;

export const DEADLINE_OUT = 0;
export const DEADLINE_ALWAYS = 1;

/** Up to this many symbols a bitmap is four words, and its upper level is not used. */
export const FLAT_SYMBOLS = 128;

const LINE = 128;
export const SYMBOLS_MAX = 65_536;

const roundUp = (value: number, unit: number) => Math.ceil(value / unit) * unit;

/** Bytes of a bitmap: its upper level first, then the bits themselves, each on lines of its own. */
export function bitmapBytes(symbols: number): number {
  return bitmapWordsOffset(symbols) + roundUp(Math.ceil(symbols / 32) * 4, LINE);
}

export function bitmapWordsOffset(symbols: number): number {
  return roundUp(Math.ceil(symbols / 1024) * 4, LINE);
}

export function mergeLayout(shape: MergeShape): MergeLayout {
  const { venues, symbols, depth } = shape;
  invariant(venues >= 1 && venues <= VENUES_MAX, 'a merger takes 1..16 venues', { venues });
  invariant(symbols >= 1 && symbols <= SYMBOLS_MAX, 'a merger takes 1..65536 symbols', { symbols });
  invariant(depth >= DEPTH_MIN && depth <= DEPTH_MAX, 'depth is 1..100', { depth });
  // The first kilobyte stays free: no address in it is ever valid.
  let next = 1024;
  const take = (bytes: number) => {
    const at = next;
    next = roundUp(at + bytes, LINE);
    return at;
  };
  const sizes = { book: bookBytes(depth), summary: summaryBytes(venues, depth) };
  const bookSlotBytes = roundUp(shape.slotBytes(sizes.book), LINE);
  const summarySlotBytes = roundUp(shape.slotBytes(sizes.summary), LINE);
  const venueDirtyBytes = bitmapBytes(symbols);
  return {
    shape,
    bookBytes: sizes.book,
    summaryBytes: sizes.summary,
    bookSlotBytes,
    summarySlotBytes,
    control: take(MERGE_CONTROL_BYTES),
    venueDeadlines: take(venues * LINE),
    bookDeadlines: take(venues * symbols * 4),
    venueDirty: take(venues * venueDirtyBytes),
    venueDirtyBytes,
    bookSlots: take(venues * symbols * bookSlotBytes),
    rows: take(symbols * MERGE_ROW_BYTES),
    outputDirty: take(venueDirtyBytes),
    summarySlots: take(symbols * summarySlotBytes),
    scratch: take(VENUES_MAX * 4 + depth * SUMMARY_LEVEL_BYTES),
    totalBytes: next,
  };
}

/** A venue's deadline word; venues are written by different threads, so each has a line of its own. */
export function venueDeadlineOffset(layout: MergeLayout, venue: number): number {
  return layout.venueDeadlines + venue * LINE;
}

export function bookDeadlineOffset(layout: MergeLayout, venue: number, symbol: number): number {
  return layout.bookDeadlines + (venue * layout.shape.symbols + symbol) * 4;
}

export function bookSlotOffset(layout: MergeLayout, venue: number, symbol: number): number {
  return layout.bookSlots + (venue * layout.shape.symbols + symbol) * layout.bookSlotBytes;
}

export function summarySlotOffset(layout: MergeLayout, symbol: number): number {
  return layout.summarySlots + symbol * layout.summarySlotBytes;
}

/** Milliseconds as a deadline word: 0 and 1 have another meaning and move on to 2. */
export function deadlineWord(milliseconds: number): number {
  const word = Math.floor(milliseconds) >>> 0;
  return word < 2 ? 2 : word | 0;
}

/** Clears every mark of a bitmap and visits its symbol; look at the slot in the visit, not before. */
export function drainDirty(words: Int32Array, bitmap: number, symbols: number, visit: (symbol: number) => void): void {
  const first = (bitmap + bitmapWordsOffset(symbols)) / 4;
  if (symbols <= FLAT_SYMBOLS) {
    for (let word = 0; word < Math.ceil(symbols / 32); word++) drainWord(words, first, word, visit);
    return;
  }
  for (let upper = 0; upper < Math.ceil(symbols / 1024); upper++) {
    if (Atomics.load(words, bitmap / 4 + upper) === 0) continue;
    for (let marks = Atomics.exchange(words, bitmap / 4 + upper, 0); marks !== 0; marks &= marks - 1) {
      drainWord(words, first, upper * 32 + lowestBit(marks), visit);
    }
  }
}

function drainWord(words: Int32Array, first: number, word: number, visit: (symbol: number) => void): void {
  if (Atomics.load(words, first + word) === 0) return;
  for (let bits = Atomics.exchange(words, first + word, 0); bits !== 0; bits &= bits - 1) {
    visit(word * 32 + lowestBit(bits));
  }
}

function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits);
}
