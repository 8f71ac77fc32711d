import type { SimulatedTrade } from './trade-log.ts';

const HOUR_US = 3_600_000_000;
const HOURS = 24;

interface Hour {
  readonly hour: number;
  readonly open: number;
  high: number;
  low: number;
  close: number;
  volume: bigint;
  quoteVolume: bigint;
}

/** The statistics of the last 24 hours that tickers show, in whole hours. Prices in ticks, volumes in lots. */
export class DayStats {
  readonly #hours: Hour[] = [];

  add(trade: SimulatedTrade): void {
    const { price, lots } = trade;
    const hour = Math.floor(trade.timeUs / HOUR_US);
    let latest = this.#hours.at(-1);
    if (latest === undefined || latest.hour < hour) {
      latest = { hour, open: price, high: price, low: price, close: price, volume: 0n, quoteVolume: 0n };
      this.#hours.push(latest);
      while (this.#hours[0]!.hour <= hour - HOURS) this.#hours.shift();
    }
    latest.high = Math.max(latest.high, price);
    latest.low = Math.min(latest.low, price);
    latest.close = price;
    latest.volume += BigInt(lots);
    latest.quoteVolume += BigInt(price) * BigInt(lots);
  }

  read() {
    const hours = this.#hours;
    const first = hours[0];
    const last = hours.at(-1);
    if (first === undefined || last === undefined) return undefined;
    return {
      open: first.open,
      close: last.close,
      high: Math.max(...hours.map((hour) => hour.high)),
      low: Math.min(...hours.map((hour) => hour.low)),
      volume: hours.reduce((sum, hour) => sum + hour.volume, 0n),
      quoteVolume: hours.reduce((sum, hour) => sum + hour.quoteVolume, 0n),
    };
  }
}
