import { invariant } from './errors/index.ts';

/**
 * A trade as it travels from a decode kernel through a ring to a partition worker: 64 bytes, one cache line,
 * little-endian.
 *
 *     0       4      8        16     24      32        40       48        56           64
 *     +-------+------+--------+------+-------+---------+--------+---------+------------+
 *     |symbol | flags|time_us |price |amount |first_id |last_id |sequence |received_ns |
 *     | u32   | u32  | u64    | u64  | u64   | u64     | u64    | u64     | u64        |
 *     +-------+------+--------+------+-------+---------+--------+---------+------------+
 *
 * `symbol` is the route's index. `time_us` is the venue's trade time. `first_id..last_id` are the venue's raw trades
 * in it (an aggregate trade of 100..105 counts as 6); a venue without aggregates gives one id twice. `sequence` is the
 * number by which the venue's stream is continuous: Binance's aggregate id, elsewhere the trade id.
 */
export const TRADE = {
  symbol: 0,
  flags: 4,
  time_us: 8,
  price: 16,
  amount: 24,
  first_id: 32,
  last_id: 40,
  sequence: 48,
  received_ns: 56,
} as const;

export const TRADE_BYTES = 64;

/** Flag: the taker bought. Without it the taker sold. */
export const TRADE_TAKER_BUY = 1;
/** Flag: no trade, but a mark in the feed: trades of the symbol may be missing from here on. Its price is 0. */
export const TRADE_LOSS = 2;
/** Flag: fetched from the venue, ascending, with nothing left out between it and the one before. */
export const TRADE_FETCHED = 4;
/** Flag: fetched beside what was missing: it counts only where it is certain that it was never seen. */
export const TRADE_OFFERED = 8;

invariant(TRADE.received_ns + 8 === TRADE_BYTES, 'a trade fills its cache line');
