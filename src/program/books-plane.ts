// The order-book plane: exchanges on their threads, the merger on its core, the publisher on the main thread, and the
// memory that joins them. The memory belongs to the merger: whoever attaches to it is told when there is another one.

import type { ExchangeArgs } from '../actors/exchange/actor.ts';
import { createBooks, endTurn, type SummaryReader } from '../actors/merger/book-memory.ts';
import type { MergerArgs } from '../actors/merger/duty.ts';
import { type PublisherCommand, publisher, type ServedBeside } from '../actors/publisher/actor.ts';
import type { SymbolShape } from '../actors/publisher/encode.ts';
import type { BookShare } from '../protocols/book-share.ts';
import type { ExchangeCommand, ExchangeStatus, TradeEdge, TradeRoute } from '../protocols/exchange.ts';
import { MERGER_TURN } from '../protocols/merge-layout.ts';
import type { Ref } from '../protocols/ref.ts';
import type { ExchangeSettings, MappedSymbol, Placement, TopologyNode } from '../protocols/topology.ts';
import { pinnedActor } from '../supervision/remote/pinned-actor.ts';
import { threadedActor } from '../supervision/remote/threaded-actor.ts';
import { type ActorSpec, actor } from '../supervision/spec.ts';
import type { FigurePlace } from '../supervision/telemetry/layout.ts';
import type { IdleSpec } from '../supervision/threads/idle-strategy.ts';
import { venueNamed } from '../venues/index.ts';
import type { Board } from './board.ts';
import { cpuOf, type Factories, type Place } from './tree-host.ts';

export interface BooksPlaneOptions {
  readonly statuses: Board<ExchangeStatus>;
  /** Where a venue is found when the topology names no address: the simulator's, or the real one. */
  readonly endpoints: (venue: string) => { readonly wsUrl: string; readonly restUrl: string };
  readonly shapeOf: (symbol: string) => SymbolShape;
  /** The rings that an exchange's trades go to, and which trades go where. */
  readonly tradeEdges: (path: string, venue: string) => readonly TradeEdge[];
  readonly tradeRoutes: (venue: string) => readonly TradeRoute[];
  /** Symbols beyond those of the settings, found at run time, of which this connection can take so many. */
  readonly discovered: (path: string, venue: string, room: number) => readonly MappedSymbol[];
  /** Puts a question to an actor; rejects when no answer comes in time. */
  readonly ask: <M, R>(target: Ref<M>, question: (replyTo: Ref<R>) => M) => Promise<R>;
  /** A connection is stopped for good. */
  readonly onLeft: (path: string) => void;
  readonly beside: () => readonly ServedBeside[];
  /** Where the exchange of a venue records how long it decodes. */
  readonly decodeTimes: (venue: string) => FigurePlace;
  readonly onSummary: (symbol: number, record: number, reader: SummaryReader) => void;
  readonly onWarning: (warning: string) => void;
}

const PARK_MS = 100;
const SPINS = 2_000;

export function idleOf(placement: Placement): IdleSpec {
  switch (placement.idle) {
    case 'spin':
      return { kind: 'spin' };
    case 'spin-then-park':
      return { kind: 'spin-then-park', spins: SPINS, parkMs: PARK_MS };
    case 'park':
      return { kind: 'park', parkMs: PARK_MS };
  }
}

export class BooksPlane {
  readonly factories: Pick<Factories, 'exchange' | 'merger' | 'publisher'>;
  readonly exchanges = new Map<string, ActorSpec<ExchangeCommand>>();
  readonly #options: BooksPlaneOptions;
  readonly #refresh = new Map<string, (kind: 'routes' | 'symbols') => Promise<unknown>>();
  readonly #venues = new Map<string, string>();
  #books: BookShare | undefined;
  #port: number | undefined;
  #turns = MERGER_TURN;
  #publisher: ActorSpec<PublisherCommand> | undefined;

  constructor(options: BooksPlaneOptions) {
    this.#options = options;
    this.factories = {
      exchange: (node, place) => this.#exchange(node, place),
      merger: (node, place) => this.#merger(node, place),
      publisher: (node, place) => this.#publish(node, place),
    };
  }

  /** The port of the gRPC server. */
  get port(): number | undefined {
    return this.#port;
  }

  get books(): BookShare | undefined {
    return this.#books;
  }

  /** Every exchange takes the symbols and routes of the moment; those whose symbols are the same notice nothing. */
  refreshExchanges(): void {
    for (const refresh of this.#refresh.values()) refresh('symbols').catch(() => undefined);
  }

  /** Resolves when trades of the venue go where the routes of this moment say; rejects when a connection does not answer. */
  async routeTrades(venue: string): Promise<void> {
    const paths = [...this.#refresh.keys()].filter((path) => this.#venues.get(path) === venue);
    await Promise.all(paths.map((path) => this.#refresh.get(path)!('routes')));
  }

  /** Exchanges that do not have the symbol notice nothing. */
  resubscribe(venue: string, symbol: string): void {
    for (const { ref } of this.#ofVenue(venue)) ref.tell({ kind: 'resubscribe', symbol });
  }

  #ofVenue(venue: string): ActorSpec<ExchangeCommand>[] {
    return [...this.exchanges].flatMap(([path, spec]) => (this.#venues.get(path) === venue ? [spec] : []));
  }

  #merger(node: TopologyNode<'merger'>, { id, backoff }: Place) {
    const { placement, settings } = node;
    const cpu = cpuOf(placement);
    const spec = pinnedActor({
      id,
      backoff,
      module: new URL('../actors/merger/duty.js', import.meta.url),
      exportName: 'makeMerger',
      prepare: () => {
        const args: MergerArgs = { books: this.#books! };
        return { args };
      },
      idle: idleOf(placement),
      shutdownMs: node.supervision.shutdownMs,
      ...(cpu !== undefined && { cpu }),
      onWarning: this.#options.onWarning,
    });
    const bell = { buffer: spec.thread.memory.buffer, at: spec.thread.doorbellAt };
    this.#replaceBooks(createBooks(settings, bell, placement.idle === 'spin'));
    spec.thread.onExit(() => this.#endTurn(MERGER_TURN));
    return { spec, onStopped: () => this.#replaceBooks(undefined) };
  }

  /** A thread has ended, perhaps while it merged. */
  #endTurn(holder: number): void {
    if (this.#books !== undefined) endTurn(this.#books, holder);
  }

  /** Other books, or none: the exchanges start anew with them, the publisher takes them as they are. */
  #replaceBooks(books: BookShare | undefined): void {
    this.#books = books;
    this.#publisher?.ref.tell({ kind: 'attach', books });
    for (const exchange of this.exchanges.values()) exchange.ref.tell({ kind: 'attach-books', books: books ?? null });
  }

  #publish(node: TopologyNode<'publisher'>, { id, backoff }: Place) {
    const { shapeOf, beside, onSummary } = this.#options;
    const spec = actor({
      id,
      backoff,
      shutdown: node.supervision.shutdownMs,
      behaviour: publisher({
        settings: node.settings,
        books: this.#books,
        shapeOf,
        beside: beside(),
        onSummary,
        onListening: (port) => {
          this.#port = port;
        },
      }),
    });
    this.#publisher = spec;
    return {
      spec,
      reconfigure: (settings: typeof node.settings) => void spec.ref.tell({ kind: 'reconfigure', settings }),
      onStopped: () => {
        this.#publisher = undefined;
      },
    };
  }

  #exchange(node: TopologyNode<'exchange'>, { id, backoff, thread }: Place) {
    const { supervision, path } = node;
    const found = this.#options.endpoints(node.settings.venue);
    let settings = node.settings;
    const turn = ++this.#turns;
    const forgetThread = thread!.child!.thread.onExit(() => this.#endTurn(turn));
    const wanted = (): ExchangeSettings => {
      const { streamsPerConnection } = venueNamed(settings.venue).facts.limits;
      // A configured symbol may have a book and trades; one stream stays free for a resubscription.
      const room = streamsPerConnection - 1 - 2 * settings.symbols.length;
      return {
        ...settings,
        symbols: [...settings.symbols, ...this.#options.discovered(path, settings.venue, room)],
      };
    };
    const args = (): ExchangeArgs => ({
      settings: wanted(),
      wsUrl: settings.wsUrl ?? found.wsUrl,
      restUrl: settings.restUrl ?? found.restUrl,
      books: this.#books ?? null,
      turn,
      tradeEdges: this.#options.tradeEdges(path, settings.venue),
      tradeRoutes: this.#options.tradeRoutes(settings.venue),
      decodeTimes: this.#options.decodeTimes(settings.venue),
      statusTo: this.#options.statuses.spec.ref,
    });
    // A venue that nobody knows is a mistake of the topology, not of the thread that would find out.
    venueNamed(node.settings.venue);
    const spec = threadedActor<ExchangeCommand>({
      id,
      backoff,
      thread: thread!,
      module: new URL('../actors/exchange/actor.js', import.meta.url),
      exportName: 'exchange',
      args,
      shutdown: supervision.shutdownMs,
      mailbox: supervision.mailbox,
    });
    this.exchanges.set(path, spec);
    this.#venues.set(path, settings.venue);
    this.#refresh.set(path, (kind) => {
      const routes = this.#options.tradeRoutes(settings.venue);
      const edges = this.#options.tradeEdges(path, settings.venue);
      const routed = this.#options.ask<ExchangeCommand, 'routed'>(spec.ref, (replyTo) => ({
        ...{ kind: 'route-trades', routes, edges, replyTo },
      }));
      if (kind === 'symbols') spec.ref.tell({ kind: 'reconfigure', settings: wanted() });
      return routed;
    });
    return {
      spec,
      reconfigure: (next: ExchangeSettings) => {
        settings = next;
        spec.ref.tell({ kind: 'reconfigure', settings: wanted() });
      },
      onStopped: () => {
        forgetThread();
        this.exchanges.delete(path);
        this.#refresh.delete(path);
        this.#venues.delete(path);
        this.#options.onLeft(path);
        this.#options.statuses.forget(path);
      },
    };
  }
}
