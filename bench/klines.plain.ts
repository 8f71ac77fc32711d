// How bars are usually kept in JavaScript: an object a bar in a map of maps, floats, every interval on every trade.
import { INTERVALS, type Interval } from '../src/protocols/kline.ts';
import { TRADE, TRADE_BYTES } from '../src/protocols/trade-layout.ts';

interface PlainBar {
  openTime: number;
  open: number;
  high: number;
  low: number;
  close: number;
  volume: number;
  quote: number;
  takerVolume: number;
  takerQuote: number;
  count: number;
}

export interface PlainTrade {
  readonly symbol: string;
  readonly time: number;
  readonly price: number;
  readonly amount: number;
  readonly count: number;
  readonly takerBuy: boolean;
}

export function plainTrades(records: Uint8Array): PlainTrade[] {
  const view = new DataView(records.buffer);
  const big = (at: number) => Number(view.getBigUint64(at, true));
  return Array.from({ length: records.length / TRADE_BYTES }, (_, index) => {
    const at = index * TRADE_BYTES;
    return {
      symbol: `S${view.getUint32(at, true)}`,
      time: big(at + TRADE.time_us) / 1000,
      price: big(at + TRADE.price) / 1e8,
      amount: big(at + TRADE.amount) / 1e8,
      count: big(at + TRADE.last_id) - big(at + TRADE.first_id) + 1,
      takerBuy: view.getUint32(at + TRADE.flags, true) === 1,
    };
  });
}

export class PlainBars {
  readonly bars = new Map<string, Map<string, PlainBar>>();
  readonly intervals: readonly (readonly [string, number])[];
  closed = 0;

  constructor(names: readonly Interval[]) {
    this.intervals = names.map((name) => [name, INTERVALS[name].lengthUs / 1000] as const);
  }

  apply(trade: PlainTrade): void {
    let bars = this.bars.get(trade.symbol);
    if (bars === undefined) {
      bars = new Map();
      this.bars.set(trade.symbol, bars);
    }
    const { price, amount } = trade;
    for (const [name, length] of this.intervals) {
      const openTime = trade.time - (trade.time % length);
      let bar = bars.get(name);
      if (bar === undefined || bar.openTime !== openTime) {
        if (bar !== undefined) this.closed++;
        const sums = { volume: 0, quote: 0, takerVolume: 0, takerQuote: 0, count: 0 };
        bar = { openTime, open: price, high: price, low: price, close: price, ...sums };
        bars.set(name, bar);
      }
      bar.high = Math.max(bar.high, price);
      bar.low = Math.min(bar.low, price);
      bar.close = price;
      bar.volume += amount;
      bar.quote += price * amount;
      bar.count += trade.count;
      if (trade.takerBuy) {
        bar.takerVolume += amount;
        bar.takerQuote += price * amount;
      }
    }
  }
}
