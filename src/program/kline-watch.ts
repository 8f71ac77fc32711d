// What the watchdog sees of the K-line plane and does to it: which workers should run, which feeds bring trades, and what
// it has found out about each symbol.
import { type WatchdogCommand, watchdog } from '../actors/watchdog/actor.ts';
import type { WatchdogEffect } from '../actors/watchdog/behaviour.ts';
import type { FeedVerdict } from '../protocols/console-api.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import type { TopologyNode, WatchdogSettings } from '../protocols/topology.ts';
import type { Ticker } from '../protocols/venue.ts';
import { type ActorSpec, actor } from '../supervision/spec.ts';
import type { PinnedThread } from '../supervision/threads/pinned-thread.ts';
import { someOf } from './health.ts';
import type { KlineSymbol, KlineSymbols } from './kline-symbols.ts';
import type { Place, Placed } from './tree-host.ts';

export interface KlineWatchOptions {
  readonly symbols: KlineSymbols;
  readonly statuses: () => readonly ExchangeStatus[];
  readonly threads: () => ReadonlyMap<number, PinnedThread>;
  readonly resubscribe: (venue: string, symbol: string) => void;
  /** Trades of the symbol may be missing from this time on, or since the last one. */
  readonly doubt: (symbol: KlineSymbol, fromUs: bigint) => Promise<unknown>;
  /** The venue's time. */
  readonly nowUs: (venue: string) => bigint;
  readonly onWarning: (warning: string) => void;
}

export class KlineWatch {
  readonly #options: KlineWatchOptions;
  #verdicts: ReadonlyMap<string, FeedVerdict> = new Map();
  #watchdog: ActorSpec<WatchdogCommand> | undefined;
  /** Over all lives of the watchdog. */
  readonly count = { restarts: 0, resubscriptions: 0 };

  constructor(options: KlineWatchOptions) {
    this.#options = options;
  }

  /** By symbol, as `venue:SYMBOL`; empty while nobody watches. */
  get verdicts(): ReadonlyMap<string, FeedVerdict> {
    return this.#verdicts;
  }

  /** What health has to say of the feeds, in words. */
  reasons(): string[] {
    const dead = [...this.#verdicts].flatMap(([symbol, verdict]) => (verdict === 'dead' ? [symbol] : []));
    if (dead.length === 0) return [];
    return [`trades of ${someOf(dead)} do not come although the venue's ticker shows some`];
  }

  /** Stops the feeds. What closes between that and the last flush may lack trades, and must not call itself whole. */
  async endIntake(stop: () => Promise<void>): Promise<void> {
    const { symbols, doubt, nowUs } = this.#options;
    const fromUs = new Map(symbols.venues.map((venue) => [venue, nowUs(venue)]));
    await stop();
    await Promise.allSettled(symbols.all().map((symbol) => doubt(symbol, fromUs.get(symbol.venue)!)));
  }

  tickers(venue: string, tickers: ReadonlyMap<string, Ticker>): void {
    const named = new Map([...tickers].map(([symbol, ticker]) => [nameOf({ venue, symbol }), ticker]));
    this.#watchdog?.ref.tell({ kind: 'tickers', tickers: named });
  }

  place(node: TopologyNode<'watchdog'>, { id, backoff }: Place): Placed<'watchdog'> {
    const behaviour = watchdog({
      settings: node.settings,
      workers: this.#options.threads,
      frames: () => this.#frames(),
      perform: (effect) => this.#perform(effect),
      onVerdicts: (verdicts) => {
        this.#verdicts = verdicts;
      },
    });
    // Tickers that wait are old ones: the newest say the same and more.
    const mailbox = { capacity: 64, policy: 'drop-oldest' } as const;
    const spec = actor({ id, backoff, shutdown: node.supervision.shutdownMs, mailbox, behaviour });
    this.#watchdog = spec;
    return {
      spec,
      reconfigure: (settings: WatchdogSettings) => void spec.ref.tell({ kind: 'reconfigure', settings }),
      onStopped: () => {
        this.#watchdog = undefined;
      },
    };
  }

  /** Symbols that their workers have, each with the frames of its stream; a stream that is nowhere has brought none. */
  #frames(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { venue, streams } of this.#options.statuses()) {
      for (const { kind, instrument, frames } of streams) {
        if (kind === 'trades') counts.set(`${venue} ${instrument}`, frames);
      }
    }
    const served = this.#options.symbols.all().filter(({ isPlaced }) => isPlaced);
    return new Map(served.map((one) => [nameOf(one), counts.get(`${one.venue} ${one.instrument}`) ?? 0]));
  }

  #perform(effect: WatchdogEffect): void {
    const { symbols, threads, resubscribe, doubt, onWarning } = this.#options;
    if (effect.kind === 'restart-worker') {
      this.count.restarts++;
      onWarning(`worker ${effect.worker} stands still and is started anew`);
      void threads().get(effect.worker)?.kill('hung');
      return;
    }
    const symbol = symbols.all().find((one) => nameOf(one) === effect.symbol);
    if (symbol === undefined) return;
    if (effect.kind === 'doubt') void doubt(symbol, 0n).catch(() => undefined);
    else {
      this.count.resubscriptions++;
      onWarning(`${effect.symbol}: the venue's ticker shows trades that do not come; its stream is subscribed anew`);
      resubscribe(symbol.venue, symbol.symbol);
    }
  }
}

function nameOf({ venue, symbol }: { readonly venue: string; readonly symbol: string }): string {
  return `${venue}:${symbol}`;
}
