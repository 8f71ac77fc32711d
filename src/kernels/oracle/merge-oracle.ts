// What a merged summary is, said plainly: all levels of all living venues in one list, sorted, cut.
import {
  BOOK,
  SUMMARY,
  SUMMARY_LEVEL,
  SUMMARY_LEVEL_BYTES,
  summaryAsksOffset,
  summaryBidsOffset,
} from '../../protocols/book-layout.ts';
import { bitmapWordsOffset, FLAT_SYMBOLS } from '../../protocols/merge-layout.ts';
import type { Level } from './frame-oracle.ts';

export interface VenueBook {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

export type MergedLevel = readonly [price: bigint, amount: bigint, venue: number];

export interface MergedBook {
  readonly spread: bigint;
  readonly bids: readonly MergedLevel[];
  readonly asks: readonly MergedLevel[];
}

const I64_MAX = (1n << 63n) - 1n;

/** `books` by venue; undefined where the venue does not count. */
export function mergeOracle(books: readonly (VenueBook | undefined)[], depth: number): MergedBook {
  const side = (key: 'bids' | 'asks', sign: 1n | -1n): MergedLevel[] =>
    books
      .flatMap((book, venue) => (book?.[key] ?? []).map(([price, amount]): MergedLevel => [price, amount, venue]))
      .sort((a, b) => Number((a[0] - b[0]) * sign || b[1] - a[1] || BigInt(a[2] - b[2])))
      .slice(0, depth);
  const bids = side('bids', -1n);
  const asks = side('asks', 1n);
  const apart = bids.length > 0 && asks.length > 0 ? asks[0]![0] - bids[0]![0] : 0n;
  const tooFar = apart > I64_MAX || apart < -I64_MAX;
  return { spread: tooFar ? (apart > 0n ? I64_MAX : -I64_MAX) : apart, bids, asks };
}

/** Reads a summary record. */
export function readSummary(view: DataView, at: number, venues: number, depth: number): MergedBook {
  const side = (from: number, count: number): MergedLevel[] =>
    Array.from({ length: count }, (_, n) => {
      const level = at + from + n * SUMMARY_LEVEL_BYTES;
      return [
        view.getBigUint64(level + SUMMARY_LEVEL.price, true),
        view.getBigUint64(level + SUMMARY_LEVEL.amount, true),
        view.getUint32(level + SUMMARY_LEVEL.venue, true),
      ];
    });
  return {
    spread: view.getBigInt64(at + SUMMARY.spread, true),
    bids: side(summaryBidsOffset(venues), view.getUint16(at + SUMMARY.bid_count, true)),
    asks: side(summaryAsksOffset(venues, depth), view.getUint16(at + SUMMARY.ask_count, true)),
  };
}

/** Writes a book record as an exchange thread would. */
export function writeBook(view: DataView, at: number, depth: number, book: VenueBook, stamp: bigint): void {
  view.setBigUint64(at + BOOK.sequence, stamp, true);
  view.setBigUint64(at + BOOK.received_ns, stamp, true);
  view.setBigUint64(at + BOOK.venue_time_us, stamp / 1000n, true);
  view.setUint16(at + BOOK.bid_count, book.bids.length, true);
  view.setUint16(at + BOOK.ask_count, book.asks.length, true);
  for (const [side, from] of [
    [book.bids, 0],
    [book.asks, depth],
  ] as const)
    for (const [n, [price, amount]] of side.entries()) {
      view.setBigUint64(at + BOOK.levels + 16 * (from + n), price, true);
      view.setBigUint64(at + BOOK.levels + 16 * (from + n) + 8, amount, true);
    }
}

/**
 * Marks a symbol in a bitmap that begins at byte `bitmap`. Call after the slot is published. A mark that still stands
 * serves this value too, because whoever clears it looks at the slot afterwards.
 */
export function markDirty(words: Int32Array, bitmap: number, symbols: number, symbol: number): void {
  mark(words, (bitmap + bitmapWordsOffset(symbols)) / 4 + (symbol >>> 5), 1 << (symbol & 31));
  if (symbols > FLAT_SYMBOLS) mark(words, bitmap / 4 + (symbol >>> 10), 1 << ((symbol >>> 5) & 31));
}

function mark(words: Int32Array, word: number, bit: number): void {
  if ((Atomics.load(words, word) & bit) === 0) Atomics.or(words, word, bit);
}
