import { Random } from './random.ts';

/** Something that trades, under the same name on all venues; each venue spells it its own way. */
export interface Instrument {
  readonly base: string;
  readonly quote: string;
  /** Where the price starts and to which it is drawn back. */
  readonly price: number;
  /** Share of steps in which its books change: 1 always, 0.02 a quiet book that is silent for many seconds. */
  readonly activity: number;
  readonly tradesPerSecond: number;
}

const WELL_KNOWN: readonly Instrument[] = [
  { base: 'BTC', quote: 'USD', price: 97_234, activity: 1, tradesPerSecond: 6 },
  { base: 'ETH', quote: 'USD', price: 3_412, activity: 1, tradesPerSecond: 4 },
  { base: 'ETH', quote: 'BTC', price: 0.0351, activity: 0.8, tradesPerSecond: 1 },
  { base: 'SOL', quote: 'USD', price: 187.4, activity: 0.9, tradesPerSecond: 2 },
  { base: 'XRP', quote: 'USD', price: 2.31, activity: 0.7, tradesPerSecond: 1.5 },
  { base: 'LTC', quote: 'BTC', price: 0.00104, activity: 0.01, tradesPerSecond: 0.02 },
];

export const DEFAULT_SYMBOLS: readonly string[] = WELL_KNOWN.map(nameOf);

export function nameOf(instrument: Instrument): string {
  return `${instrument.base}-${instrument.quote}`;
}

/** An instrument by its name, BASE-QUOTE. Names that are not well known get a price and a liveliness by the seed. */
export function instrumentNamed(name: string, seed: number): Instrument {
  const known = WELL_KNOWN.find((instrument) => nameOf(instrument) === name);
  if (known !== undefined) return known;
  const random = new Random(seed, `instrument/${name}`);
  const [base = name, quote = 'USD'] = name.split('-');
  return {
    base,
    quote,
    price: Math.round(10 ** (random.unit() * 4) * 100) / 100 + 0.5,
    activity: 1,
    tradesPerSecond: 0.5 + random.unit() * 2,
  };
}

/** The name of the n-th instrument that the simulator lists by itself: NEWAA-USD, NEWAB-USD, ... */
export function newListingName(count: number): string {
  const letter = (value: number) => String.fromCharCode(65 + (value % 26));
  return `NEW${letter(Math.floor(count / 26))}${letter(count)}-USD`;
}
