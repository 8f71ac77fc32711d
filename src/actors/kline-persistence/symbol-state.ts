import type { Bar } from '../../protocols/kline.ts';
import { isInterval, QUALITIES, tailOf } from '../../protocols/kline.ts';
import type { NamedBar } from './rows.ts';
import type { Progress, Recovered } from './store.ts';

/** Bars of one symbol, and where the symbol stood when they were read: a restart can go on from it. */
export interface SymbolState extends Progress {
  readonly bars: readonly Bar[];
}

const BIG_FIELDS = [
  ...(['openUs', 'closeUs', 'open', 'high', 'low', 'close', 'firstId', 'lastId', 'trades', 'volume'] as const),
  ...(['quoteVolume', 'takerVolume', 'takerQuoteVolume', 'nextSequence'] as const),
];

/** A record in the spill holds at most a megabyte; a bar takes less than 600 bytes of it. */
export const BARS_PER_RECORD = 1_000;

export function encodeState(state: SymbolState): Buffer {
  return Buffer.from(JSON.stringify(state, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value)));
}

/** Undefined where the bytes are no state of ours. */
export function decodeState(bytes: Buffer): SymbolState | undefined {
  try {
    const { venue, symbol, nextSequence, lastUs, sinceUs, bars } = JSON.parse(bytes.toString('utf8')) as Record<
      'venue' | 'symbol' | 'nextSequence' | 'lastUs' | 'sinceUs',
      string
    > & { readonly bars: readonly Record<keyof Bar, string>[] };
    const progress = { nextSequence: BigInt(nextSequence), lastUs: BigInt(lastUs), sinceUs: BigInt(sinceUs) };
    return { venue: String(venue), symbol: String(symbol), ...progress, bars: bars.map(decodeBar) };
  } catch {
    return undefined;
  }
}

function decodeBar(raw: Record<keyof Bar, unknown>): Bar {
  const numbers = Object.fromEntries(BIG_FIELDS.map((field) => [field, BigInt(String(raw[field]))])) as Record<
    (typeof BIG_FIELDS)[number],
    bigint
  >;
  const interval = String(raw.interval);
  const quality = QUALITIES.find((name) => name === raw.quality);
  if (!isInterval(interval) || quality === undefined) throw new TypeError(`${interval} ${raw.quality}`);
  return { symbol: 0, interval, quality, closed: raw.closed === true, revision: Number(raw.revision), ...numbers };
}

export function recoveredFrom(state: SymbolState): Recovered {
  return { ...state, bars: tailOf(state.bars) };
}

export function namedBars(states: readonly SymbolState[]): NamedBar[] {
  return states.flatMap(({ venue, symbol, bars }) => bars.map((bar) => ({ venue, symbol, bar })));
}

/** Where each symbol stands after the last of its states. */
export function progressOf(states: readonly SymbolState[]): Progress[] {
  const last = new Map<string, Progress>();
  for (const { venue, symbol, nextSequence, lastUs, sinceUs } of states) {
    last.set(`${venue} ${symbol}`, { venue, symbol, nextSequence, lastUs, sinceUs });
  }
  return [...last.values()];
}

const SYMBOLS_MAX = 20_000;

/** The newest bars of each symbol as they were gathered last: together with its sequence, what a restart goes on from. */
export class SymbolStates {
  readonly #newest = new Map<string, NamedBar[]>();
  readonly #sinceUs: (venue: string, symbol: string) => bigint;

  constructor(sinceUs: (venue: string, symbol: string) => bigint) {
    this.#sinceUs = sinceUs;
  }

  /** Takes a batch and gives it back by symbol, each with where it stands. */
  take(batch: readonly NamedBar[]): SymbolState[] {
    const bySymbol = new Map<string, NamedBar[]>();
    for (const named of batch) {
      const key = `${named.venue} ${named.symbol}`;
      const group = bySymbol.get(key);
      if (group === undefined) bySymbol.set(key, [named]);
      else group.push(named);
    }
    return [...bySymbol].map(([key, bars]) => {
      const { venue, symbol } = bars[0]!;
      const known = this.#newest.get(key) ?? [];
      const newest = tailOf([...known, ...bars].map(({ bar }) => bar));
      this.#newest.delete(key);
      this.#newest.set(
        key,
        newest.map((bar) => ({ venue, symbol, bar })),
      );
      if (this.#newest.size > SYMBOLS_MAX) this.#newest.delete(this.#newest.keys().next().value!);
      return this.#stateOf(
        venue,
        symbol,
        bars.map(({ bar }) => bar),
        newest,
      );
    });
  }

  /** The state of a symbol with all that a restart needs. */
  whole(state: SymbolState): SymbolState {
    const newest = (this.#newest.get(`${state.venue} ${state.symbol}`) ?? []).map(({ bar }) => bar);
    const closed = state.bars.filter((bar) => bar.closed && !newest.includes(bar));
    return { ...state, bars: [...closed, ...newest] };
  }

  all(): SymbolState[] {
    return [...this.#newest.values()].map((named) => {
      const { venue, symbol } = named[0]!;
      const bars = named.map(({ bar }) => bar);
      return this.#stateOf(venue, symbol, bars, bars);
    });
  }

  #stateOf(venue: string, symbol: string, bars: readonly Bar[], newest: readonly Bar[]): SymbolState {
    let nextSequence = 0n;
    let lastUs = 0n;
    for (const bar of newest) {
      if (bar.nextSequence > nextSequence) nextSequence = bar.nextSequence;
      if (bar.openUs > lastUs) lastUs = bar.openUs;
    }
    return { venue, symbol, nextSequence, lastUs, sinceUs: this.#sinceUs(venue, symbol), bars };
  }
}
