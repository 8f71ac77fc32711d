// Brings symbols that a venue is found to trade to the workers: the symbol manager decides, here is what it asks for done.
import { type ManagerEffect, type ManagerState, receive, startManager } from '../actors/symbol-manager/behaviour.ts';
import { BARS_DEFAULTS } from '../kernels/bars.ts';
import { DECIMALS_DEFAULT } from '../protocols/book-layout.ts';
import { isWanted } from '../protocols/symbols.ts';
import type { SymbolManagerSettings } from '../protocols/topology.ts';
import type { KlineSymbol, KlineSymbols } from './kline-symbols.ts';

export interface SymbolDiscoveryOptions {
  readonly settings: SymbolManagerSettings;
  readonly symbols: KlineSymbols;
  readonly workers: () => readonly number[];
  /** Exchanges of the venue are to subscribe to its symbols and to send them where they belong. */
  readonly onChanged: (venue: string) => void;
  readonly remove: (worker: number, index: number) => void;
}

/** Indices below are for the symbols of the configuration, which may become more. */
const FIRST_INDEX = BARS_DEFAULTS.globalsMax / 2;

export class SymbolDiscovery {
  readonly #options: SymbolDiscoveryOptions;
  #state: ManagerState;

  constructor(options: SymbolDiscoveryOptions) {
    this.#options = options;
    const { ackTimeoutMs, maxSymbols } = options.settings;
    const settings = {
      ackWithinMs: ackTimeoutMs,
      perWorkerMax: BARS_DEFAULTS.symbolsMax,
      indexMax: Math.min(FIRST_INDEX + maxSymbols, BARS_DEFAULTS.globalsMax),
    };
    this.#state = { ...startManager(settings, options.workers()), nextIndex: FIRST_INDEX };
  }

  get stats() {
    return { discovered: this.#state.entries.size, refusedForRoom: this.#state.refused };
  }

  seen(venue: string, names: readonly string[]): void {
    const { symbols, settings } = this.#options;
    const known = new Set(symbols.all().flatMap((one) => (one.venue === venue ? [one.symbol] : [])));
    const fresh = names.filter((name) => !known.has(name) && isWanted(settings, name));
    if (fresh.length > 0) this.#step(receive(this.#state, { kind: 'seen', venue, symbols: fresh }));
  }

  /** The symbols of a worker that is gone go to the others. */
  lookAtWorkers(): void {
    const live = this.#options.workers();
    const isSame = live.length === this.#state.live.length && live.every((worker) => this.#state.live.includes(worker));
    if (!isSame) this.#step(receive(this.#state, { kind: 'workers', live }));
  }

  /** The symbol's worker has it, or will not have it. */
  answered({ venue, symbol, worker, isDiscovered }: KlineSymbol, isPlaced: boolean): void {
    if (!isDiscovered) return;
    const key = `${venue} ${symbol}`;
    this.#step(receive(this.#state, { kind: isPlaced ? 'acked' : 'failed', key, worker }));
  }

  #step([state, effects]: readonly [ManagerState, readonly ManagerEffect[]]): void {
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    for (const venue of new Set(effects.map((effect) => effect.venue))) this.#options.onChanged(venue);
  }

  #run(effect: ManagerEffect): void {
    const { symbols, remove } = this.#options;
    const { venue, symbol, index, worker } = effect;
    switch (effect.kind) {
      case 'add-symbol':
        symbols.discover(worker, { venue, symbol, index, instrument: `${venue}:${symbol}`, scale: DECIMALS_DEFAULT });
        break;
      case 'remove-symbol':
        remove(worker, index);
        break;
      case 'withdraw':
        symbols.show(index, false);
        break;
      case 'publish':
        symbols.show(index, true);
        break;
      case 'move-symbol':
        break;
    }
  }
}
