import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import type { ExchangeStatus, TradeRoute } from '../protocols/exchange.ts';
import type { Bar } from '../protocols/kline.ts';
import type { PartitionWorkerSettings } from '../protocols/topology.ts';
import { venueNamed } from '../venues/index.ts';

type StaticSymbol = PartitionWorkerSettings['symbols'][number];

/** A symbol whose trades make bars, and the worker that makes them. */
export interface KlineSymbol extends StaticSymbol {
  /** The worker that its trades go to. */
  worker: number;
  /** The worker that should have it; where that is another one, it is moved. */
  home: number;
  /** While it moves, its trades go there as well. */
  arrivesAt: number | undefined;
  /** True where the venue's trade ids leave no number out. */
  readonly dense: boolean;
  /** Since when it is watched, in venue time; undefined until its worker has it. */
  sinceUs: bigint | undefined;
  /** Its worker has it in its present life. */
  isPlaced: boolean;
  /** Found at run time, not named in the configuration. Such a symbol is shown once its worker has it. */
  isDiscovered: boolean;
  isShown: boolean;
}

/** The symbols of all workers. A venue's number among them is its place in `venues`. */
export class KlineSymbols {
  readonly #byIndex = new Map<number, KlineSymbol>();
  readonly #byName = new Map<string, KlineSymbol>();
  readonly venues: string[] = [];

  /**
   * Of the configuration's symbols these, and no others, are to be this worker's. A symbol that another worker has keeps
   * its index, and stays there until it is moved. Returns those that nobody wants any more; they are forgotten here.
   */
  assign(worker: number, symbols: readonly StaticSymbol[]): readonly KlineSymbol[] {
    const wanted = new Set(symbols.map(({ venue, symbol }) => nameOf(venue, symbol)));
    const unwanted = this.all().filter(
      (one) => one.home === worker && !one.isDiscovered && !wanted.has(nameOf(one.venue, one.symbol)),
    );
    for (const { index } of unwanted) this.remove(index);
    for (const symbol of symbols) {
      const known = this.byName(symbol.venue, symbol.symbol);
      if (known === undefined) this.#put(worker, { ...symbol, index: this.#freeIndex(symbol.index) }, false);
      else Object.assign(known, { home: worker, isDiscovered: false, isShown: true });
    }
    return unwanted;
  }

  discover(worker: number, symbol: StaticSymbol): void {
    this.#put(worker, symbol, true);
  }

  remove(index: number): void {
    const symbol = this.#byIndex.get(index);
    if (symbol === undefined) return;
    this.#byIndex.delete(index);
    this.#byName.delete(nameOf(symbol.venue, symbol.symbol));
  }

  show(index: number, isShown: boolean): void {
    const symbol = this.#byIndex.get(index);
    if (symbol !== undefined) symbol.isShown = isShown;
  }

  /** A file that was changed in its middle gives numbers that others still have. */
  #freeIndex(index: number): number {
    let free = index;
    while (this.#byIndex.has(free)) free++;
    return free;
  }

  #put(worker: number, symbol: StaticSymbol, isDiscovered: boolean): void {
    if (!this.venues.includes(symbol.venue)) this.venues.push(symbol.venue);
    const dense = venueNamed(symbol.venue).facts.streams.trades?.gapProof === 'dense-trade-id';
    const state = { sinceUs: undefined, isPlaced: false, isDiscovered, isShown: !isDiscovered };
    const put = { ...symbol, worker, home: worker, arrivesAt: undefined, dense, ...state };
    this.remove(symbol.index);
    this.#byIndex.set(symbol.index, put);
    this.#byName.set(nameOf(symbol.venue, symbol.symbol), put);
  }

  /** The worker begins a new life, or ends for good, and has none of its symbols. */
  unplace(worker: number): void {
    for (const symbol of this.ofWorker(worker)) symbol.isPlaced = false;
  }

  all(): readonly KlineSymbol[] {
    return [...this.#byIndex.values()];
  }

  ofWorker(worker: number): readonly KlineSymbol[] {
    return this.all().filter((symbol) => symbol.worker === worker);
  }

  /** Those of a venue that its connections do not have from their settings. */
  discovered(venue: string): readonly KlineSymbol[] {
    return this.all().filter((symbol) => symbol.isDiscovered && symbol.venue === venue);
  }

  routes(venue: string): TradeRoute[] {
    return this.all()
      .filter((symbol) => symbol.venue === venue)
      .map(({ symbol, worker, index, arrivesAt }) => ({
        ...{ symbol, to: { worker, index } },
        ...(arrivesAt !== undefined && { also: { worker: arrivesAt, index } }),
      }));
  }

  /** Bars under the names of their symbols; those of a symbol that has left are dropped. */
  named(bars: readonly Bar[]): NamedBar[] {
    return bars.flatMap((bar) => {
      const known = this.#byIndex.get(bar.symbol);
      return known === undefined ? [] : [{ venue: known.venue, symbol: known.symbol, bar }];
    });
  }

  at(index: number): KlineSymbol | undefined {
    return this.#byIndex.get(index);
  }

  byName(venue: string, symbol: string): KlineSymbol | undefined {
    return this.#byName.get(nameOf(venue, symbol));
  }
}

function nameOf(venue: string, symbol: string): string {
  return `${venue} ${symbol}`;
}

/** Whether trades of a symbol come: its stream is acknowledged, on whichever connection. */
export function fedBy(statuses: readonly ExchangeStatus[]): (symbol: KlineSymbol) => boolean {
  const fed = new Set(
    statuses.flatMap(({ venue, streams }) =>
      streams.flatMap(({ kind, instrument, phase }) =>
        kind === 'trades' && (phase === 'acked' || phase === 'live' || phase === 'quiet')
          ? [nameOf(venue, instrument)]
          : [],
      ),
    ),
  );
  return ({ venue, instrument }) => fed.has(nameOf(venue, instrument));
}
