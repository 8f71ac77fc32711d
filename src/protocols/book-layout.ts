import { invariant } from './errors/index.ts';

/**
 * The shared-memory records of the order-book path. All numbers are little-endian; prices and amounts are unsigned
 * fixed point, 10^-decimals a unit (8 by default); times in ns are CLOCK_MONOTONIC of the machine, one clock for all
 * threads.
 *
 * Book: what one venue says about one symbol, as it stands in a venue x symbol slot. Depth D, levels best first.
 *
 *     0        8            16             24      26      28     32             32+16D          32+32D
 *     +--------+------------+--------------+-------+-------+------+--------------+---------------+
 *     |sequence| received_ns| venue_time_us| bids  | asks  | flags| D bid levels | D ask levels  |
 *     | u64    | u64        | u64, 0: none | u16   | u16   | u32  | price,amount | price,amount  |
 *     +--------+------------+--------------+-------+-------+------+--------------+---------------+
 *
 * Levels beyond the counts hold whatever was there before. At depth 10 a book is 352 bytes.
 */
export const BOOK = {
  sequence: 0,
  received_ns: 8,
  venue_time_us: 16,
  bid_count: 24,
  ask_count: 26,
  flags: 28,
  levels: 32,
} as const;

export const BOOK_LEVEL_BYTES = 16;
export const DEPTH_MIN = 1;
export const DEPTH_MAX = 100;
export const DEPTH_DEFAULT = 10;

/** Fixed point: how many decimal places a unit of price or amount has. 18 is the most that a u64 can hold a 1 of. */
export const DECIMALS_DEFAULT = 8;
export const DECIMALS_MAX = 18;

export function bookBytes(depth: number): number {
  return BOOK.levels + 2 * depth * BOOK_LEVEL_BYTES;
}

export function bookAsksOffset(depth: number): number {
  return BOOK.levels + depth * BOOK_LEVEL_BYTES;
}

/**
 * Summary: one symbol's venues merged, as it stands in the merger's output slot. V venues, depth D.
 *
 *     0        8        16         24           32   34   36      40       44       48             48+32V
 *     +--------+--------+----------+------------+----+----+-------+--------+--------+--------------+------------+----
 *     |sequence| spread | merged_ns| received_ns|bids|asks|venues | symbol | live   | V venue rows | D bids     | D asks
 *     | u64    | i64    | u64      | u64, newest|u16 |u16 | u32   | u32    | bitmask|              |            |
 *     +--------+--------+----------+------------+----+----+-------+--------+--------+--------------+------------+----
 *
 *     venue row  | received_ns u64 | venue_time_us u64 | sequence u64 | flags u32 | reserved u32 |   32 bytes
 *     level      | price u64 | amount u64 | venue u32 | reserved u32 |                             24 bytes
 *
 * `received_ns` of the head is that of the newest book in it, so merged_ns - received_ns is the time from frame to
 * summary. A venue's age is merged_ns minus its row's received_ns; a row that was never written has received_ns 0.
 * `spread` is best ask minus best bid: negative when the venues cross, 0 when a side is empty, held at +-(2^63 - 1).
 */
export const SUMMARY = {
  sequence: 0,
  spread: 8,
  merged_ns: 16,
  received_ns: 24,
  bid_count: 32,
  ask_count: 34,
  venue_count: 36,
  symbol: 40,
  live: 44,
  venues: 48,
} as const;

export const SUMMARY_VENUE_BYTES = 32;
export const SUMMARY_VENUE = { received_ns: 0, venue_time_us: 8, sequence: 16, flags: 24 } as const;
/** The venue's levels are in the summary. Without it the venue is out: never heard, stale or down. */
export const SUMMARY_VENUE_IN = 1;

export const SUMMARY_LEVEL_BYTES = 24;
export const SUMMARY_LEVEL = { price: 0, amount: 8, venue: 16 } as const;

export const VENUES_MAX = 16;

export function summaryBidsOffset(venues: number): number {
  return SUMMARY.venues + venues * SUMMARY_VENUE_BYTES;
}

export function summaryAsksOffset(venues: number, depth: number): number {
  return summaryBidsOffset(venues) + depth * SUMMARY_LEVEL_BYTES;
}

export function summaryBytes(venues: number, depth: number): number {
  return summaryBidsOffset(venues) + 2 * depth * SUMMARY_LEVEL_BYTES;
}

invariant(BOOK.levels % 16 === 0, 'book levels are written as 128-bit pairs');
invariant(bookBytes(DEPTH_DEFAULT) === 352, 'a book of the default depth takes 352 bytes');
invariant(DEPTH_MAX <= 0xffff, 'level counts fit their u16');
invariant(VENUES_MAX <= 32, 'the live mask has a bit for each venue');
invariant(SUMMARY.venues % 8 === 0 && SUMMARY_VENUE_BYTES % 8 === 0, 'venue rows hold aligned u64');
invariant(SUMMARY_LEVEL_BYTES % 8 === 0, 'summary levels hold aligned u64');
