import type { MappedSymbol } from '../protocols/topology.ts';
import type { KlineSymbols } from './kline-symbols.ts';

/** Which of a venue's connections takes which symbol that was found at run time. A venue allows so many streams on each. */
export class FeedShares {
  readonly #symbols: Pick<KlineSymbols, 'discovered' | 'venues'>;
  /** By venue, then by path: symbols that the connection can take. */
  readonly #rooms = new Map<string, Map<string, number>>();
  /** By venue, then by symbol: the path of its connection. */
  readonly #shares = new Map<string, Map<string, string>>();

  constructor(symbols: Pick<KlineSymbols, 'discovered' | 'venues'>) {
    this.#symbols = symbols;
  }

  /** What a connection is to take that has room for so many streams. What it has stays there while it fits. */
  of(path: string, venue: string, room: number): readonly MappedSymbol[] {
    const rooms = this.#rooms.get(venue) ?? new Map<string, number>();
    this.#rooms.set(venue, rooms.set(path, Math.max(0, room)));
    const found = this.#symbols.discovered(venue);
    const shares = this.#deal(
      venue,
      found.map(({ symbol }) => symbol),
    );
    return found
      .filter(({ symbol }) => shares.get(symbol) === path)
      .map(({ instrument, symbol, scale }) => ({ instrument, symbol, scale }));
  }

  /** The connection is gone; what it had goes to the others. */
  leave(path: string): void {
    for (const rooms of this.#rooms.values()) rooms.delete(path);
  }

  /** Symbols that were found, and for which no connection has a stream left, as `venue:SYMBOL`. */
  unserved(): string[] {
    return this.#symbols.venues.flatMap((venue) => {
      if (!this.#rooms.has(venue)) return [];
      const names = this.#symbols.discovered(venue).map(({ symbol }) => symbol);
      const shares = this.#deal(venue, names);
      return names.filter((symbol) => !shares.has(symbol)).map((symbol) => `${venue}:${symbol}`);
    });
  }

  /** The emptiest connection takes the next symbol. */
  #deal(venue: string, symbols: readonly string[]): ReadonlyMap<string, string> {
    const left = new Map(this.#rooms.get(venue));
    const before = this.#shares.get(venue);
    const shares = new Map<string, string>();
    const take = (symbol: string, path: string) => {
      shares.set(symbol, path);
      left.set(path, left.get(path)! - 1);
    };
    for (const symbol of symbols) {
      const path = before?.get(symbol);
      if (path !== undefined && (left.get(path) ?? 0) > 0) take(symbol, path);
    }
    for (const symbol of symbols) {
      if (shares.has(symbol)) continue;
      const [emptiest] = [...left].sort(([a, roomA], [b, roomB]) => roomB - roomA || (a < b ? -1 : 1));
      if (emptiest === undefined || emptiest[1] <= 0) break;
      take(symbol, emptiest[0]);
    }
    this.#shares.set(venue, shares);
    return shares;
  }
}
