import { fromDecimal, type Interval } from '../../protocols/kline.ts';
import type { Trade } from '../../protocols/trade-record.ts';
import { askRest, type RestResult } from './rest.ts';

/** A bar as the venue counts it. Prices and amounts count 10^-8, and so do quote volumes here. */
export interface VenueBar {
  readonly openUs: bigint;
  readonly closeUs: bigint;
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
  readonly volume: bigint;
  readonly quoteVolume: bigint;
  readonly trades: bigint;
  readonly takerVolume: bigint;
  readonly takerQuoteVolume: bigint;
}

export const AGG_TRADES_WEIGHT = 4;
export const KLINES_WEIGHT = 2;
export const PAGE_MAX = 1000;
const DIGITS = 8;

interface RawTrade {
  readonly a: number;
  readonly p: string;
  readonly q: string;
  readonly f: number;
  readonly l: number;
  readonly T: number;
  readonly m: boolean;
}
type RawBar = readonly [number, string, string, string, string, string, number, string, number, string, string, string];

/** Binance's market-data questions that repairs and audits ask. `base` is everything before /api. */
export class BinanceRest {
  readonly #base: string;

  constructor(base: string) {
    this.#base = base.replace(/\/$/, '');
  }

  /** Aggregate trades from an id on, ascending, for the symbol index that their records will carry. */
  trades(symbol: string, index: number, fromId: bigint, limit: number): Promise<RestResult<Trade[]>> {
    const query = `symbol=${symbol}&fromId=${fromId}&limit=${Math.min(limit, PAGE_MAX)}`;
    return this.#ask(`/api/v3/aggTrades?${query}`, (raw) => (raw as RawTrade[]).map((trade) => tradeOf(trade, index)));
  }

  /** The venue's own bars from a time on, ascending. */
  klines(symbol: string, interval: Interval, fromUs: bigint, limit: number): Promise<RestResult<VenueBar[]>> {
    const query = `symbol=${symbol}&interval=${interval}&startTime=${fromUs / 1000n}&limit=${Math.min(limit, PAGE_MAX)}`;
    return this.#ask(`/api/v3/klines?${query}`, (raw) => (raw as RawBar[]).map(barOf));
  }

  #ask<T>(path: string, read: (raw: unknown) => T): Promise<RestResult<T>> {
    return askRest(this.#base + path, (text) => read(JSON.parse(text)));
  }
}

function tradeOf(raw: RawTrade, symbol: number): Trade {
  return {
    symbol,
    takerBuy: !raw.m,
    timeUs: BigInt(raw.T) * 1000n,
    price: fromDecimal(raw.p, DIGITS),
    amount: fromDecimal(raw.q, DIGITS),
    firstId: BigInt(raw.f),
    lastId: BigInt(raw.l),
    sequence: BigInt(raw.a),
  };
}

function barOf(raw: RawBar): VenueBar {
  const value = (text: string) => fromDecimal(text, DIGITS);
  return {
    openUs: BigInt(raw[0]) * 1000n,
    closeUs: BigInt(raw[6]) * 1000n + 999n,
    open: value(raw[1]),
    high: value(raw[2]),
    low: value(raw[3]),
    close: value(raw[4]),
    volume: value(raw[5]),
    quoteVolume: value(raw[7]),
    trades: BigInt(raw[8]),
    takerVolume: value(raw[9]),
    takerQuoteVolume: value(raw[10]),
  };
}
