import { Book, type BookSide } from './book.ts';
import type { Instrument } from './instruments.ts';
import { Random } from './random.ts';
import { TradeLog } from './trade-log.ts';

/** How a venue trades: the names, ticks and lots that its instruments have there. */
export interface MarketProfile {
  /** USD is USDT on some venues. */
  quoteAsset(quote: string): string;
  priceDecimals(price: number): number;
  amountDecimals(price: number): number;
  /** True where several fills of one order at one price are reported as one trade with a range of ids. */
  readonly aggregatesFills: boolean;
}

const LEVELS_LOW = 110;
const LEVELS_HIGH = 160;
const TRADES_PER_STEP_MOST = 500;
const LEVELS_PER_TRADE_MOST = 6;
const NOTIONAL_MEDIAN = 900;
/** Usual distance of two levels of a lively book, as a share of the price; a quiet book is wider. */
const GAP_SHARE = 2e-5;
/** No order stands closer to the fair price than this share of a gap. */
const NEAREST_GAPS = 0.4;
/** So many levels from the top follow each other closely: a market order moves the price by little. */
const DENSE_LEVELS = 2 * LEVELS_PER_TRADE_MOST;

/**
 * One instrument on one venue: a book that orders change and trades eat into, drawn towards a fair price. Every trade
 * takes away exactly what stood in the book, so book and trades always agree.
 */
export class Listing {
  readonly instrument: Instrument;
  readonly symbol: string;
  readonly priceDecimals: number;
  readonly amountDecimals: number;
  readonly book = new Book();
  readonly trades: TradeLog;
  readonly listedUs: number;
  /** Sequence of the first trade of the current step. */
  stepFirstTrade = 1;
  /** The book's version before the current step. */
  stepVersion = 0;
  trading = true;
  readonly #random: Random;
  readonly #aggregates: boolean;
  /** The usual distance of two levels, in ticks. */
  readonly #gap: number;
  /** How close to the fair price orders may stand, in ticks. */
  readonly #nearest: number;
  readonly #lotsMedian: number;

  constructor(
    instrument: Instrument,
    symbol: string,
    profile: MarketProfile,
    options: { readonly seed: number; readonly venue: string; readonly retain: number; readonly nowUs: number },
  ) {
    this.instrument = instrument;
    this.symbol = symbol;
    this.priceDecimals = profile.priceDecimals(instrument.price);
    this.amountDecimals = profile.amountDecimals(instrument.price);
    this.trades = new TradeLog(options.retain);
    this.listedUs = options.nowUs;
    this.#aggregates = profile.aggregatesFills;
    this.#random = new Random(options.seed, `listing/${options.venue}/${symbol}`);
    const ticks = instrument.price * 10 ** this.priceDecimals;
    this.#gap = Math.max(1, Math.round((ticks * GAP_SHARE) / Math.sqrt(instrument.activity)));
    this.#nearest = Math.max(1, Math.round(this.#gap * NEAREST_GAPS));
    const quoteInDollars = instrument.quote === 'BTC' ? 97_234 : 1;
    this.#lotsMedian = (NOTIONAL_MEDIAN / (instrument.price * quoteInDollars)) * 10 ** this.amountDecimals;
    this.#refill(Math.round(ticks));
    this.book.clearChanges();
  }

  get stepTrades() {
    return this.trades.from(this.stepFirstTrade, TRADES_PER_STEP_MOST * LEVELS_PER_TRADE_MOST * 2);
  }

  /** A step in which nothing happens. */
  rest(): void {
    this.book.clearChanges();
    this.stepVersion = this.book.version;
    this.stepFirstTrade = this.trades.next;
  }

  /** Moves on by `spanUs`, ending at `nowUs` of the venue's clock, towards a fair price in units of the quote asset. */
  step(fair: number, nowUs: number, spanUs: number): void {
    this.rest();
    const { activity, tradesPerSecond } = this.instrument;
    const random = this.#random;
    const count = random.poisson((tradesPerSecond * spanUs) / 1e6, TRADES_PER_STEP_MOST);
    const active = random.chance(activity);
    if (!this.trading || (!active && count === 0)) return;
    const fairTicks = Math.max(4 * this.#gap * LEVELS_LOW + 1, Math.round(fair * 10 ** this.priceDecimals));
    const times = Array.from({ length: count }, () => nowUs - random.below(spanUs)).sort((a, b) => a - b);
    this.#clearWrongSide(this.book.asks, (price) => price < fairTicks + this.#nearest);
    this.#clearWrongSide(this.book.bids, (price) => price > fairTicks - this.#nearest);
    this.#mendTop(fairTicks);
    for (const timeUs of times) {
      this.#trade(random.chance(0.5), this.#someLots(), timeUs);
      this.#mendTop(fairTicks);
    }
    for (let change = 1 + random.below(4); change > 0; change--) this.#order(fairTicks);
    this.#refill(fairTicks);
  }

  #someLots(): number {
    return Math.max(1, Math.round(this.#lotsMedian * Math.exp(1.3 * this.#random.normal())));
  }

  /** A market order: eats the best levels, one reported trade a level. */
  #trade(buys: boolean, lots: number, timeUs: number): void {
    const side = buys ? this.book.asks : this.book.bids;
    let left = lots;
    for (let level = 0; level < LEVELS_PER_TRADE_MOST && left > 0 && side.depth > LEVELS_LOW / 2; level++) {
      const price = side.prices[0]!;
      const filled = Math.min(left, side.lots[0]!);
      side.set(price, side.lots[0]! - filled);
      left -= filled;
      const fills = this.#aggregates ? Math.min(filled, 1 + this.#random.below(4)) : 1;
      this.trades.push(price, filled, timeUs, buys, fills);
    }
  }

  /** Orders that the fair price has run over, or came too close to, are cancelled. */
  #clearWrongSide(side: BookSide, isWrong: (price: number) => boolean): void {
    while (side.depth > 0 && isWrong(side.prices[0]!)) side.set(side.prices[0]!, 0);
  }

  /** A limit order, a change of one or a cancellation, mostly near the top. */
  #order(fairTicks: number): void {
    const random = this.#random;
    const asks = random.chance(0.5);
    const side = asks ? this.book.asks : this.book.bids;
    const at = Math.floor(side.depth * random.unit() ** 3);
    const price = side.prices[at];
    if (price === undefined) return;
    const what = random.unit();
    if (what < 0.5) side.set(price, this.#someLots());
    else if (what < 0.7) side.set(price, 0);
    else {
      const offset = random.below(this.#gap * 2 + 1) - this.#gap;
      const placed = asks
        ? Math.max(fairTicks + this.#nearest, price + offset)
        : Math.min(fairTicks - this.#nearest, price - offset);
      side.set(placed, this.#someLots());
    }
  }

  /** Keeps the best prices close to the fair price, and the number of levels a side and their reach within bounds. */
  #refill(fairTicks: number): void {
    this.#mendTop(fairTicks);
    const reach = 2 * this.#gap * LEVELS_LOW;
    for (const [side, away] of this.#sides()) {
      while (side.depth > LEVELS_HIGH || (side.prices.at(-1)! - fairTicks) * away > 2 * reach) {
        side.set(side.prices.at(-1)!, 0);
      }
      while (side.depth < LEVELS_LOW) {
        side.set(fairTicks + away * (this.#nearest + this.#random.below(reach)), this.#someLots());
      }
    }
  }

  /** New orders take the place of those that were eaten or cancelled at the top, and fill the holes behind it. */
  #mendTop(fairTicks: number): void {
    const wide = 3 * this.#gap;
    for (const [side, away] of this.#sides()) {
      const best = side.prices[0];
      if (best === undefined || Math.abs(best - fairTicks) > 2 * this.#gap) {
        side.set(fairTicks + away * (this.#nearest + this.#random.below(this.#gap)), this.#someLots());
      }
      for (let at = 0; at < DENSE_LEVELS && at + 1 < side.depth; at++) {
        const price = side.prices[at]!;
        if (Math.abs(side.prices[at + 1]! - price) <= wide) continue;
        side.set(price + away * (1 + this.#random.below(2 * this.#gap)), this.#someLots());
      }
    }
  }

  #sides(): readonly (readonly [BookSide, 1 | -1])[] {
    return [
      [this.book.bids, -1],
      [this.book.asks, 1],
    ];
  }
}
