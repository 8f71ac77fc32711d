import { fromDecimal, PRICE_DIGITS } from '../../protocols/kline.ts';
import { fitsRecord, type Trade } from '../../protocols/trade-record.ts';
import type { TradeWindows, VenueHistory } from '../history.ts';
import { askRest } from '../rest.ts';
import { BITSTAMP } from './facts.ts';

interface RawTrade {
  /** Whole seconds. */
  readonly date: string;
  readonly tid: string | number;
  readonly price: string;
  readonly amount: string;
  /** 0: the taker bought. */
  readonly type: string | number;
}

const windows: TradeWindows = {
  weight: 1,
  fetch: (restUrl, { name, index }, window) =>
    askRest(BITSTAMP.rest, restUrl, `/api/v2/transactions/${encodeURIComponent(name)}/?time=${window}`, (text) =>
      lossless(text)
        .map((trade) => fitting(tradeOf(trade, index)))
        .sort(byId)
        // One that is listed twice was traded once.
        .filter(({ sequence }, at, all) => sequence !== all[at - 1]?.sequence),
    ),
};

export const bitstampHistory = { windows } as const satisfies VenueHistory;

/** Numbers beyond 2^53 that stand without quotes lose digits in JSON.parse, so ids are quoted first. */
function lossless(text: string): RawTrade[] {
  return JSON.parse(text.replace(/("tid"\s*:\s*)(\d+)/g, '$1"$2"')) as RawTrade[];
}

function tradeOf(raw: RawTrade, symbol: number): Trade {
  const id = BigInt(raw.tid);
  return {
    symbol,
    takerBuy: Number(raw.type) === 0,
    timeUs: BigInt(raw.date) * 1_000_000n,
    price: fromDecimal(raw.price, PRICE_DIGITS),
    amount: fromDecimal(raw.amount, PRICE_DIGITS),
    firstId: id,
    lastId: id,
    sequence: id,
  };
}

/** Refuses the whole answer: a window is only good without holes of its own. */
function fitting(trade: Trade): Trade {
  if (!fitsRecord(trade)) throw new RangeError(`trade ${trade.sequence} is too large`);
  return trade;
}

function byId(a: Trade, b: Trade): number {
  return a.sequence < b.sequence ? -1 : 1;
}
