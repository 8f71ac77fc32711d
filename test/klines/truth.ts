// The venue's own bars beside ours, in every figure.
import { INTERVALS, type Interval } from '../../src/protocols/kline.ts';
import { tradeId as binanceId } from '../../src/venues/binance/text.ts';
import { tradeId as bitstampId } from '../../src/venues/bitstamp/text.ts';
import type { VenueBar } from '../../src/venues/simulation/klines.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';

export interface Figures {
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
  readonly volume: bigint;
  readonly quoteVolume: bigint;
  readonly takerVolume: bigint;
  readonly takerQuoteVolume: bigint;
  readonly trades: bigint;
  readonly firstId: bigint;
  readonly lastId: bigint;
}

export const FIGURES = [
  ...(['open', 'high', 'low', 'close', 'volume', 'quoteVolume', 'takerVolume', 'takerQuoteVolume'] as const),
  ...(['trades', 'firstId', 'lastId'] as const),
];

/** The figures in which two bars differ. One that a venue gave as a bar may have no ids. */
export function differences(ours: Figures & { readonly quality?: string }, theirs: Figures): string[] {
  const isWithoutIds = ours.quality === 'repaired' && ours.firstId === 0n && ours.lastId === 0n;
  const compared = isWithoutIds ? FIGURES.filter((name) => name !== 'firstId' && name !== 'lastId') : FIGURES;
  return compared
    .filter((name) => ours[name] !== theirs[name])
    .map((name) => `${name} ${ours[name]} not ${theirs[name]}`);
}

const BARS_MOST = 100_000;

/** A trade's id as the venue sends it. Bitstamp's are large, leave numbers out, and are one a trade. */
function wireId(simulator: Simulator, venue: string, symbol: string, raw: number): bigint {
  if (venue !== 'bitstamp') return BigInt(binanceId(raw));
  return bitstampId(simulator.truth.listing(venue, symbol).trades.at(raw));
}

/** The venue's bars of one series by opening time, from one window on; asked for once, when the market stands still. */
export class TruthSeries {
  readonly #bars: ReadonlyMap<number, VenueBar>;
  readonly #figures: (bar: VenueBar) => Figures;

  constructor(simulator: Simulator, venue: string, symbol: string, interval: Interval, fromMs: number) {
    const { truth } = simulator;
    const lengthMs = INTERVALS[interval].lengthUs / 1000;
    const startMs = Math.floor(fromMs / lengthMs) * lengthMs;
    const bars = truth.bars(venue, symbol, { interval, startMs, limit: BARS_MOST });
    this.#bars = new Map(bars.map((bar) => [bar.openMs, bar]));
    const { priceDecimals, amountDecimals } = truth.listing(venue, symbol);
    const price = (ticks: bigint) => ticks * 10n ** BigInt(8 - priceDecimals);
    const amount = (lots: bigint) => lots * 10n ** BigInt(8 - amountDecimals);
    const quote = (units: bigint) => units * 10n ** BigInt(16 - priceDecimals - amountDecimals);
    const id = (raw: number) => (raw === 0 ? 0n : wireId(simulator, venue, symbol, raw));
    this.#figures = (bar) => ({
      ...{ open: price(bar.open), high: price(bar.high), low: price(bar.low), close: price(bar.close) },
      ...{ volume: amount(bar.volume), quoteVolume: quote(bar.quoteVolume) },
      ...{ takerVolume: amount(bar.takerBuyVolume), takerQuoteVolume: quote(bar.takerBuyQuoteVolume) },
      ...{ trades: BigInt(bar.trades), firstId: id(bar.firstId), lastId: id(bar.lastId) },
    });
  }

  at(openMs: number): Figures | undefined {
    const bar = this.#bars.get(openMs);
    return bar === undefined ? undefined : this.#figures(bar);
  }
}
