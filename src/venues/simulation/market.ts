import { type Instrument, instrumentNamed, nameOf } from './instruments.ts';
import { Listing, type MarketProfile } from './listing.ts';
import { Random } from './random.ts';

export interface MarketOptions {
  readonly seed: number;
  readonly startUs: number;
  /** Market time that passes in one step. */
  readonly stepUs: number;
  /** Trades that each symbol's history keeps. */
  readonly retain: number;
}

const PREMIUM_SPAN = 1e-5;
/** A lively price moves by about 2 % a day. */
const SHOCK_IN_A_SECOND = 6e-5;
/** Most steps bring little; one in ten brings a jump. Together they have a deviation of 1. */
const JUMP_CHANCE = 0.1;
const JUMP = 2.9;
const REST = 0.42;

/** One venue's share of the market. */
export class VenueMarket {
  readonly listings = new Map<string, Listing>();
  readonly #market: Market;
  readonly #venue: string;
  readonly #profile: MarketProfile;
  readonly #spell: (base: string, quote: string) => string;
  /** This venue quotes everything a little higher or lower than the others: less than their spreads, as arbitrage has it. */
  readonly #premium: number;
  /** How far this venue's clock is ahead of the market's. */
  clockOffsetUs = 0;
  /** True while nobody orders or trades here. */
  isStill: () => boolean = () => false;

  constructor(market: Market, venue: string, profile: MarketProfile, spell: (base: string, quote: string) => string) {
    this.#market = market;
    this.#venue = venue;
    this.#profile = profile;
    this.#spell = spell;
    this.#premium = 1 + (new Random(market.options.seed, `premium/${venue}`).unit() - 0.5) * PREMIUM_SPAN;
  }

  get nowUs(): number {
    return this.#market.nowUs + this.clockOffsetUs;
  }

  symbolFor(instrument: Instrument): string {
    return this.#spell(instrument.base, this.#profile.quoteAsset(instrument.quote));
  }

  list(instrument: Instrument): Listing {
    const symbol = this.symbolFor(instrument);
    const present = this.listings.get(symbol);
    if (present !== undefined) {
      present.trading = true;
      return present;
    }
    const { seed, retain } = this.#market.options;
    const listing = new Listing(instrument, symbol, this.#profile, {
      seed,
      venue: this.#venue,
      retain,
      nowUs: this.nowUs,
    });
    this.listings.set(symbol, listing);
    return listing;
  }

  step(stepUs: number): void {
    const isStill = this.isStill();
    for (const listing of this.listings.values()) {
      if (isStill) listing.rest();
      else listing.step(this.#market.fairPrice(listing.instrument) * this.#premium, this.nowUs, stepUs);
    }
  }
}

/**
 * The seeded market: one fair price an instrument, followed by the books of all venues. What happens in step n depends
 * on the seed, the options and the listings alone, never on clocks or clients.
 */
export class Market {
  readonly options: MarketOptions;
  readonly venues = new Map<string, VenueMarket>();
  readonly #fair = new Map<string, { price: number; readonly random: Random; readonly instrument: Instrument }>();
  steps = 0;

  constructor(options: MarketOptions) {
    this.options = options;
  }

  get nowUs(): number {
    return this.options.startUs + this.steps * this.options.stepUs;
  }

  addVenue(venue: string, profile: MarketProfile, spell: (base: string, quote: string) => string): VenueMarket {
    const added = new VenueMarket(this, venue, profile, spell);
    this.venues.set(venue, added);
    return added;
  }

  /** Lists an instrument, BASE-QUOTE, on the given venues. */
  list(name: string, venues: Iterable<VenueMarket> = this.venues.values()): void {
    const instrument = instrumentNamed(name, this.options.seed);
    for (const venue of venues) venue.list(instrument);
  }

  fairPrice(instrument: Instrument): number {
    return this.#followed(instrument).price;
  }

  step(): void {
    this.steps++;
    const spanSeconds = this.options.stepUs / 1e6;
    for (const fair of this.#fair.values()) {
      // A walk that is slowly drawn back, so that an accelerated month stays in sight of its start.
      const pull = Math.log(fair.instrument.price / fair.price) * Math.min(1, spanSeconds * 2e-5);
      const size = SHOCK_IN_A_SECOND * Math.sqrt(fair.instrument.activity * Math.min(spanSeconds, 60));
      const shock = size * (fair.random.chance(JUMP_CHANCE) ? JUMP : REST) * fair.random.normal();
      fair.price *= Math.exp(pull + shock);
    }
    for (const venue of this.venues.values()) venue.step(this.options.stepUs);
  }

  #followed(instrument: Instrument) {
    const name = nameOf(instrument);
    const present = this.#fair.get(name);
    if (present !== undefined) return present;
    const added = { price: instrument.price, random: new Random(this.options.seed, `fair/${name}`), instrument };
    this.#fair.set(name, added);
    return added;
  }
}
