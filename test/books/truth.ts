import { updateId } from '../../src/venues/binance/text.ts';
import type { BookSide } from '../../src/venues/simulation/book.ts';
import { trimUnits } from '../../src/venues/simulation/decimal.ts';
import type { Listing } from '../../src/venues/simulation/listing.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';
import type { ClientLevel, ClientSummary } from './harness.ts';

type Level = readonly [price: string, amount: string];
interface TrueBook {
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

/** How a venue numbers its books, and which of the summary's numbers that is. */
const NUMBERS: Readonly<
  Record<string, { of: (listing: Listing, nowUs: number) => number; field: 'sequence' | 'time' }>
> = {
  binance: { of: (listing) => updateId(listing.book.version), field: 'sequence' },
  bitstamp: { of: (_listing, nowUs) => nowUs, field: 'sequence' },
  kraken: { of: (_listing, nowUs) => nowUs, field: 'time' },
  coinbase: { of: (_listing, nowUs) => nowUs, field: 'time' },
};

const DEPTH = 10;
const BOOKS_KEPT = 20_000;
const COMPLAINTS_KEPT = 20;

export interface Instrument {
  readonly name: string;
  /** Venue -> symbol there. */
  readonly symbols: Readonly<Record<string, string>>;
}

/**
 * Moves the market step by step and remembers every book that each venue has had, so that every published summary can be
 * held against them: each venue's levels must be exactly one book of that venue, and never an older one than before.
 */
export class TrueMarket {
  readonly #simulator: Simulator;
  readonly #instruments: Instrument[];
  readonly #books = new Map<string, TrueBook>();
  readonly #latest = new Map<string, number>();
  readonly #falls = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  readonly complaints: string[] = [];
  checked = 0;

  constructor(simulator: Simulator, instruments: readonly Instrument[]) {
    this.#simulator = simulator;
    this.#instruments = [...instruments];
    this.remember();
  }

  /** An instrument that the venues have begun to list. */
  follow(instrument: Instrument): void {
    this.#instruments.push(instrument);
    this.remember();
  }

  run(everyMs: number): void {
    this.#timer ??= setInterval(() => this.step(), everyMs);
  }

  pause(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  step(): void {
    this.#simulator.advance(1);
    this.remember();
  }

  remember(): void {
    for (const { name, symbols } of this.#instruments) {
      for (const [venue, symbol] of Object.entries(symbols)) {
        const listing = this.#simulator.truth.listing(venue, symbol);
        const number = NUMBERS[venue]!.of(listing, this.#simulator.truth.nowMs(venue) * 1000);
        this.#books.set(`${name} ${venue} ${number}`, bookOf(listing));
        if (this.#books.size > BOOKS_KEPT) this.#books.delete(this.#books.keys().next().value!);
      }
    }
  }

  /** A venue counts anew from here on: the numbers of each of its books fall once. */
  renumbered(venue: string): void {
    for (const { name } of this.#instruments) this.#falls.add(`${name} ${venue}`);
  }

  check(summary: ClientSummary): void {
    this.checked++;
    const books = summary.venues.flatMap((venue, order) => {
      if (!venue.live) return [];
      const number = Number(NUMBERS[venue.name]!.field === 'sequence' ? venue.sequence : venue.venue_unix_us);
      const key = `${summary.symbol} ${venue.name}`;
      const book = this.#books.get(`${key} ${number}`);
      if (book === undefined) this.#complain(summary, `${venue.name} never had a book ${number}`);
      const hasFallen = number < (this.#latest.get(key) ?? 0);
      if (hasFallen && !this.#falls.delete(key)) this.#complain(summary, `${venue.name} went back to ${number}`);
      this.#latest.set(key, number);
      return book === undefined ? [] : [{ name: venue.name, order, book }];
    });
    for (const side of ['bids', 'asks'] as const) {
      const sign = side === 'bids' ? -1 : 1;
      const expected = books
        .flatMap(({ name, order, book }) => book[side].map(([price, amount]) => ({ name, order, price, amount })))
        .sort(
          (a, b) =>
            (Number(a.price) - Number(b.price)) * sign || Number(b.amount) - Number(a.amount) || a.order - b.order,
        )
        .slice(0, DEPTH)
        .map(({ name, price, amount }) => `${name} ${amount} @ ${price}`);
      const published = summary[side].map(textOf);
      if (published.join() !== expected.join()) {
        this.#complain(summary, `${side} are ${published.join(', ')} and should be ${expected.join(', ')}`);
      }
    }
  }

  #complain(summary: ClientSummary, what: string): void {
    if (this.complaints.length < COMPLAINTS_KEPT) {
      this.complaints.push(`summary ${summary.sequence} of ${summary.symbol}: ${what}`);
    }
  }
}

function textOf({ exchange, amount_exact, price_exact }: ClientLevel): string {
  return `${exchange} ${amount_exact} @ ${price_exact}`;
}

function bookOf(listing: Listing): TrueBook {
  const side = ({ prices, lots }: BookSide) =>
    prices
      .slice(0, DEPTH)
      .map(
        (price, at): Level => [trimUnits(price, listing.priceDecimals), trimUnits(lots[at]!, listing.amountDecimals)],
      );
  return { bids: side(listing.book.bids), asks: side(listing.book.asks) };
}
