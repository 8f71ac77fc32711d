// The venue's own bars, from its own trades: plain and exact, sharing nothing with the product's kernels, so that the
// two can be compared.
import type { TradeLog } from './trade-log.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** 1970-01-05 was a Monday. */
const FIRST_MONDAY_MS = 4 * DAY_MS;

const LENGTH_MS: Readonly<Record<string, number>> = {
  '1s': SECOND_MS,
  '1m': MINUTE_MS,
  '3m': 3 * MINUTE_MS,
  '5m': 5 * MINUTE_MS,
  '15m': 15 * MINUTE_MS,
  '30m': 30 * MINUTE_MS,
  '1h': HOUR_MS,
  '2h': 2 * HOUR_MS,
  '4h': 4 * HOUR_MS,
  '6h': 6 * HOUR_MS,
  '8h': 8 * HOUR_MS,
  '12h': 12 * HOUR_MS,
  '1d': DAY_MS,
  '3d': 3 * DAY_MS,
  '1w': 7 * DAY_MS,
};

export const INTERVALS: readonly string[] = [...Object.keys(LENGTH_MS), '1M'];

/** When the bar that holds a time opens. Weeks open on Monday, months on the first, all in UTC. */
export function openTime(interval: string, timeMs: number): number {
  if (interval === '1M') {
    const date = new Date(timeMs);
    return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  }
  const length = LENGTH_MS[interval]!;
  const origin = interval === '1w' ? FIRST_MONDAY_MS : 0;
  return Math.floor((timeMs - origin) / length) * length + origin;
}

export function nextOpenTime(interval: string, openMs: number): number {
  if (interval !== '1M') return openMs + LENGTH_MS[interval]!;
  const date = new Date(openMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}

/** Prices in ticks, volumes in lots, quote volumes in ticks times lots. */
export interface VenueBar {
  readonly openMs: number;
  /** The last millisecond of the bar. */
  readonly closeMs: number;
  open: bigint;
  high: bigint;
  low: bigint;
  close: bigint;
  volume: bigint;
  quoteVolume: bigint;
  trades: number;
  takerBuyVolume: bigint;
  takerBuyQuoteVolume: bigint;
  /** Raw trade ids, 0 for a bar without trades. */
  firstId: number;
  lastId: number;
}

export interface BarQuery {
  readonly interval: string;
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
  readonly limit: number;
}

/**
 * The bars that open in [startMs, endMs], oldest first; without a start, the newest ones. Bars without trades are flat
 * at the last close. Bars of which some trades are no longer kept are left out.
 */
export function barsOf(log: TradeLog, query: BarQuery, nowMs: number): VenueBar[] {
  const { interval, limit } = query;
  if (log.next === log.first) return [];
  const oldestMs = log.at(log.first).timeUs / 1000;
  const earliest =
    log.first === 1 ? openTime(interval, oldestMs) : nextOpenTime(interval, openTime(interval, oldestMs));
  const lastOpen = openTime(interval, Math.min(query.endMs ?? nowMs, nowMs));
  const asked = query.startMs ?? stepBack(interval, lastOpen, limit - 1);
  const firstOpen = openTime(interval, asked);
  let open = Math.max(
    earliest,
    firstOpen < asked && query.startMs !== undefined ? nextOpenTime(interval, firstOpen) : firstOpen,
  );
  let lastPrice = closeBefore(log, open);
  const bars: VenueBar[] = [];
  for (; open <= lastOpen && bars.length < limit; open = nextOpenTime(interval, open)) {
    const bar = barOf(log, open, nextOpenTime(interval, open), lastPrice);
    lastPrice = bar.close;
    bars.push(bar);
  }
  return bars;
}

function stepBack(interval: string, openMs: number, bars: number): number {
  if (interval !== '1M') return Math.max(0, openMs - bars * LENGTH_MS[interval]!);
  const date = new Date(openMs);
  return Math.max(0, Date.UTC(date.getUTCFullYear(), date.getUTCMonth() - bars, 1));
}

function closeBefore(log: TradeLog, openMs: number): bigint {
  return BigInt((log.lastBefore(openMs * 1000) ?? log.at(log.first)).price);
}

function barOf(log: TradeLog, openMs: number, nextMs: number, lastPrice: bigint): VenueBar {
  const trades = log.between(openMs * 1000, nextMs * 1000, Number.POSITIVE_INFINITY);
  const bar: VenueBar = {
    openMs,
    closeMs: nextMs - 1,
    open: lastPrice,
    high: lastPrice,
    low: lastPrice,
    close: lastPrice,
    volume: 0n,
    quoteVolume: 0n,
    trades: 0,
    takerBuyVolume: 0n,
    takerBuyQuoteVolume: 0n,
    firstId: 0,
    lastId: 0,
  };
  for (const trade of trades) {
    const price = BigInt(trade.price);
    const lots = BigInt(trade.lots);
    if (bar.trades === 0) {
      bar.open = bar.high = bar.low = price;
      bar.firstId = trade.firstId;
    }
    if (price > bar.high) bar.high = price;
    if (price < bar.low) bar.low = price;
    bar.close = price;
    bar.volume += lots;
    bar.quoteVolume += price * lots;
    bar.trades += trade.lastId - trade.firstId + 1;
    bar.lastId = trade.lastId;
    if (trade.takerBuys) {
      bar.takerBuyVolume += lots;
      bar.takerBuyQuoteVolume += price * lots;
    }
  }
  return bar;
}
