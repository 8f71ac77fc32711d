import { type BarFigures, fromDecimal, PRICE_DIGITS, QUOTE_DIGITS } from '../../protocols/kline.ts';
import type { Trade } from '../../protocols/trade-record.ts';
import type { BarHistory, TradesById, VenueHistory } from '../history.ts';
import { askRest } from '../rest.ts';
import { BINANCE } from './facts.ts';

const PAGE_MAX = 1000;

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

/** Aggregate trades. */
const tradesById: TradesById = {
  weight: 4,
  pageMax: PAGE_MAX,
  fetch: (restUrl, { name, index }, fromId, limit) => {
    const query = `symbol=${encodeURIComponent(name)}&fromId=${fromId}&limit=${Math.min(limit, PAGE_MAX)}`;
    return askRest(BINANCE.rest, restUrl, `/api/v3/aggTrades?${query}`, (text) =>
      (JSON.parse(text) as RawTrade[]).map((trade) => tradeOf(trade, index)),
    );
  },
};

const bars: BarHistory = {
  weight: 2,
  pageMax: PAGE_MAX,
  fetch: (restUrl, symbol, interval, fromUs, limit) => {
    const series = `symbol=${encodeURIComponent(symbol)}&interval=${interval}`;
    const query = `${series}&startTime=${fromUs / 1000n}&limit=${Math.min(limit, PAGE_MAX)}`;
    return askRest(BINANCE.rest, restUrl, `/api/v3/klines?${query}`, (text) =>
      (JSON.parse(text) as RawBar[]).map(barOf),
    );
  },
};

export const binanceHistory = { tradesById, bars } as const satisfies VenueHistory;

function tradeOf(raw: RawTrade, symbol: number): Trade {
  return {
    symbol,
    takerBuy: !raw.m,
    timeUs: BigInt(raw.T) * 1000n,
    price: fromDecimal(raw.p, PRICE_DIGITS),
    amount: fromDecimal(raw.q, PRICE_DIGITS),
    firstId: BigInt(raw.f),
    lastId: BigInt(raw.l),
    sequence: BigInt(raw.a),
  };
}

function barOf(raw: RawBar): BarFigures {
  const value = (text: string) => fromDecimal(text, PRICE_DIGITS);
  // Ours are exact sums of products; the venue gives half of these places.
  const quote = (text: string) => fromDecimal(text, QUOTE_DIGITS);
  return {
    openUs: BigInt(raw[0]) * 1000n,
    closeUs: BigInt(raw[6]) * 1000n + 999n,
    open: value(raw[1]),
    high: value(raw[2]),
    low: value(raw[3]),
    close: value(raw[4]),
    volume: value(raw[5]),
    quoteVolume: quote(raw[7]),
    trades: BigInt(raw[8]),
    takerVolume: value(raw[9]),
    takerQuoteVolume: quote(raw[10]),
  };
}
