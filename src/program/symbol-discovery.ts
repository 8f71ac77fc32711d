// Brings symbols that a venue is found to trade to the workers, and takes away those that it trades no more: the symbol
// manager decides, here is what it asks for done.
import {
  keyOf,
  type ManagerEffect,
  type ManagerMessage,
  type ManagerState,
  receive,
  startManager,
} from '../actors/symbol-manager/behaviour.ts';
import { BARS_DEFAULTS } from '../kernels/bars.ts';
import { DECIMALS_DEFAULT } from '../protocols/book-layout.ts';
import { isWanted } from '../protocols/symbols.ts';
import type { SymbolManagerSettings } from '../protocols/topology.ts';
import type { KlineSymbol, KlineSymbols } from './kline-symbols.ts';

type DiscoverySettings = Omit<SymbolManagerSettings, 'repair' | 'heal' | 'clockSyncMs'>;

export interface SymbolDiscoveryOptions {
  readonly settings: DiscoverySettings;
  readonly symbols: KlineSymbols;
  readonly workers: () => readonly number[];
  readonly nowMs: () => number;
  /** Exchanges are to subscribe to the symbols of the moment and to send them where they belong. */
  readonly onChanged: () => void;
  /** Resolves when the worker has let the symbol go, or is known not to have it. */
  readonly remove: (worker: number, index: number) => Promise<void>;
}

/** Indices below are for the symbols of the configuration, which may become more. */
const FIRST_INDEX = BARS_DEFAULTS.globalsMax / 2;
/** Between two tickers of a venue that is well there is less than this; a longer pause is no evidence against a symbol. */
const TICKER_PAUSE_MS = 15_000;
/** A symbol that no worker took is offered again after this. */
const OFFER_AGAIN_MS = 5_000;

export class SymbolDiscovery {
  readonly #options: SymbolDiscoveryOptions;
  #settings: DiscoverySettings;
  #state: ManagerState;
  /** When each discovered symbol was last on its venue's ticker, and when the venue's ticker last came. */
  readonly #seenMs = new Map<string, number>();
  readonly #tickerMs = new Map<string, number>();
  #offeredMs = 0;
  #delisted = 0;

  constructor(options: SymbolDiscoveryOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#state = { ...startManager(limitsOf(options.settings), options.workers()), nextIndex: FIRST_INDEX };
  }

  get stats() {
    const { entries, refused } = this.#state;
    return { discovered: entries.size, refusedForRoom: refused, delisted: this.#delisted };
  }

  /** Other patterns or limits: what they do not let in any more is removed. */
  reconfigure(settings: DiscoverySettings): void {
    this.#settings = settings;
    this.#state = { ...this.#state, settings: limitsOf(settings) };
    this.#removeGone();
  }

  seen(venue: string, names: readonly string[]): void {
    if (!this.#settings.discovery.includes(venue)) return;
    const nowMs = this.#options.nowMs();
    const pauseMs = nowMs - (this.#tickerMs.get(venue) ?? nowMs);
    this.#tickerMs.set(venue, nowMs);
    if (pauseMs > TICKER_PAUSE_MS) this.#forgive(venue, pauseMs);
    const { symbols } = this.#options;
    const fresh: string[] = [];
    for (const name of names) {
      const known = symbols.byName(venue, name);
      if (known === undefined && isWanted(this.#settings, name)) fresh.push(name);
      if (known?.isDiscovered === true || known === undefined) this.#seenMs.set(keyOf(venue, name), nowMs);
    }
    if (fresh.length > 0) this.#step({ kind: 'seen', venue, symbols: fresh });
  }

  /** Looks at the workers and at what the tickers do not name any more. Called a few times a second. */
  look(): void {
    const live = this.#options.workers();
    const isSame = live.length === this.#state.live.length && live.every((worker) => this.#state.live.includes(worker));
    const nowMs = this.#options.nowMs();
    const isDue = nowMs - this.#offeredMs > OFFER_AGAIN_MS;
    if (isDue) this.#offeredMs = nowMs;
    const hasHomeless = isDue && [...this.#state.entries.values()].some(({ phase }) => phase === 'homeless');
    if (!isSame || hasHomeless) this.#step({ kind: 'workers', live });
    if (isDue) this.#removeGone();
    this.#step({ kind: 'rebalance' });
  }

  /** These workers will end: their symbols move to the others while they still run. */
  retire(workers: readonly number[]): void {
    this.#step({ kind: 'retire', workers });
  }

  /** The symbol's worker has it, or will not have it. A worker that did not answer may still take it: it is told not to. */
  answered({ venue, symbol, index, isDiscovered }: KlineSymbol, worker: number, isPlaced: boolean): void {
    if (!isDiscovered) return;
    if (!isPlaced) void this.#options.remove(worker, index);
    this.#step({ kind: isPlaced ? 'acked' : 'failed', key: keyOf(venue, symbol), worker });
  }

  /** A move of the symbol is over. */
  moved(symbol: KlineSymbol, to: number, hasMoved: boolean): void {
    if (!symbol.isDiscovered) return;
    symbol.home = symbol.worker;
    this.#step({ kind: hasMoved ? 'acked' : 'failed', key: keyOf(symbol.venue, symbol.symbol), worker: to });
  }

  #forgive(venue: string, pauseMs: number): void {
    for (const [key, seenMs] of this.#seenMs) {
      if (key.startsWith(`${venue} `)) this.#seenMs.set(key, seenMs + pauseMs);
    }
  }

  /** One that moves is looked at again when it has arrived. */
  #removeGone(): void {
    for (const { venue, symbol, phase } of this.#state.entries.values()) {
      if (phase === 'moving' || phase === 'removing') continue;
      const isLet = this.#settings.discovery.includes(venue) && isWanted(this.#settings, symbol);
      if (isLet && !this.#isDelisted(venue, symbol)) continue;
      if (isLet) this.#delisted++;
      this.#seenMs.delete(keyOf(venue, symbol));
      this.#step({ kind: 'gone', venue, symbol });
    }
  }

  #isDelisted(venue: string, symbol: string): boolean {
    const tickerMs = this.#tickerMs.get(venue);
    const seenMs = this.#seenMs.get(keyOf(venue, symbol));
    return tickerMs !== undefined && seenMs !== undefined && tickerMs - seenMs >= this.#settings.goneAfterMs;
  }

  #step(message: ManagerMessage): void {
    const [state, effects] = receive(this.#state, message);
    this.#state = state;
    for (const effect of effects) this.#run(effect);
    if (effects.some(({ kind }) => kind === 'add-symbol' || kind === 'remove-symbol')) this.#options.onChanged();
  }

  #run(effect: ManagerEffect): void {
    const { symbols, remove } = this.#options;
    const { venue, symbol, index, worker } = effect;
    switch (effect.kind) {
      case 'add-symbol':
        symbols.discover(worker, { venue, symbol, index, instrument: `${venue}:${symbol}`, scale: DECIMALS_DEFAULT });
        break;
      case 'remove-symbol': {
        const { key } = effect;
        // Without a key it is only to be taken from a worker that was passed over.
        if (key !== '') symbols.remove(index);
        void remove(worker, index).then(() => this.#step({ kind: 'acked', key, worker }));
        break;
      }
      case 'withdraw':
        symbols.show(index, false);
        break;
      case 'publish':
        symbols.show(index, true);
        break;
      case 'move-symbol': {
        const moved = symbols.at(index);
        if (moved !== undefined) moved.home = effect.to;
        break;
      }
    }
  }
}

function limitsOf({ ackTimeoutMs, maxSymbols }: DiscoverySettings) {
  return {
    ackWithinMs: ackTimeoutMs,
    perWorkerMax: BARS_DEFAULTS.symbolsMax,
    indexMax: Math.min(FIRST_INDEX + maxSymbols, BARS_DEFAULTS.globalsMax),
  };
}
