import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import type { ExchangeStatus, TradeRoute } from '../protocols/exchange.ts';
import type { Bar } from '../protocols/kline.ts';
import type { PartitionWorkerSettings } from '../protocols/topology.ts';
import { venueNamed } from '../venues/index.ts';

type StaticSymbol = PartitionWorkerSettings['symbols'][number];

/** A symbol whose trades make bars, and the worker that makes them. */
export interface KlineSymbol extends StaticSymbol {
  readonly worker: number;
  /** True where the venue's trade ids leave no number out. */
  readonly dense: boolean;
  /** Since when it is watched, in venue time; undefined until its worker has it. */
  sinceUs: bigint | undefined;
  /** Its worker has it in its present life. */
  isPlaced: boolean;
  /** Found at run time, not named in the configuration. Such a symbol is shown once its worker has it. */
  readonly isDiscovered: boolean;
  isShown: boolean;
}

/** The symbols of all workers. A venue's number among them is its place in `venues`. */
export class KlineSymbols {
  readonly #byIndex = new Map<number, KlineSymbol>();
  readonly venues: string[] = [];

  /** Of the configuration's symbols these, and no others, are this worker's. */
  assign(worker: number, symbols: readonly StaticSymbol[]): void {
    this.release(worker);
    for (const symbol of symbols) {
      const found = this.byName(symbol.venue, symbol.symbol);
      if (found !== undefined) this.#byIndex.delete(found.index);
      this.#put(worker, symbol, false);
    }
  }

  /** The worker has none of the configuration's symbols any more; where the others go, their manager decides. */
  release(worker: number): void {
    for (const one of this.ofWorker(worker)) {
      if (one.isDiscovered) one.isPlaced = false;
      else this.#byIndex.delete(one.index);
    }
  }

  discover(worker: number, symbol: StaticSymbol): void {
    this.#put(worker, symbol, true);
  }

  show(index: number, isShown: boolean): void {
    const symbol = this.#byIndex.get(index);
    if (symbol !== undefined) symbol.isShown = isShown;
  }

  #put(worker: number, symbol: StaticSymbol, isDiscovered: boolean): void {
    if (!this.venues.includes(symbol.venue)) this.venues.push(symbol.venue);
    const dense = venueNamed(symbol.venue).facts.streams.trades?.gapProof === 'dense-trade-id';
    const state = { sinceUs: undefined, isPlaced: false, isDiscovered, isShown: !isDiscovered };
    this.#byIndex.set(symbol.index, { ...symbol, worker, dense, ...state });
  }

  /** The worker begins a new life and has none of its symbols. */
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
      .map(({ symbol, worker, index }) => ({ symbol, to: { worker, index } }));
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
    return this.all().find((one) => one.venue === venue && one.symbol === symbol);
  }
}

/** Whether trades of the symbol come: its stream is acknowledged, on whichever connection. */
export function isFed(symbol: KlineSymbol, statuses: readonly ExchangeStatus[]): boolean {
  return statuses.some(
    ({ venue, streams }) =>
      venue === symbol.venue &&
      streams.some(
        ({ kind, instrument, phase }) =>
          kind === 'trades' &&
          instrument === symbol.instrument &&
          (phase === 'acked' || phase === 'live' || phase === 'quiet'),
      ),
  );
}
