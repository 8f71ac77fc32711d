import { type ServerWritableStream, status, type UntypedServiceImplementation } from '@grpc/grpc-js';
import type { BookShare } from '../../protocols/book-share.ts';
import type { PublisherSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { LoopConsumer } from '../../supervision/threads/loop-consumer.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { SummaryReader } from '../merger/book-memory.ts';
import { BookService, type BookServiceStats, NO_STATS, type SummaryRequest } from './book-service.ts';
import { SummaryEncoder, type SymbolShape } from './encode.ts';
import { loadProtos, type RunningGrpc, rawService, startGrpc } from './grpc-server.ts';

export type PublisherCommand =
  /** Summaries come from this memory from now on; undefined: there are none. */
  | { readonly kind: 'attach'; readonly books: BookShare | undefined }
  | { readonly kind: 'reconfigure'; readonly settings: PublisherSettings };

/** A gRPC service beside the order book's own. */
export interface ServedBeside {
  readonly proto: string;
  readonly service: string;
  readonly methods: UntypedServiceImplementation;
}

export interface PublisherOptions {
  readonly settings: PublisherSettings;
  readonly books: BookShare | undefined;
  readonly shapeOf: (symbol: string) => SymbolShape;
  readonly beside: readonly ServedBeside[];
  readonly onListening: (port: number) => void;
  /** Hears of every summary after it was handed to the subscribers. */
  readonly onSummary: (symbol: number, record: number, reader: SummaryReader) => void;
}

interface State {
  readonly grpc: RunningGrpc;
  readonly source: BookSource | undefined;
}

interface BookSource {
  readonly service: BookService;
  readonly consumer: LoopConsumer;
}

/**
 * How long the main thread looks for the next summary after one, before it sleeps. A look costs its core all that time,
 * and a wake-up from sleep 7 to 60 microseconds, the more the idler the machine.
 */
const POLL_MS = 0;
const PARK_MS = 1_000;
const STOP_MS = 2_000;
const PROTO = 'orderbook.proto';
const SERVICE = 'orderbook.OrderbookAggregator';

/** Serves gRPC on the main thread: summaries as the merger publishes them, and the services beside them. */
export function publisher(options: PublisherOptions): Behaviour<PublisherCommand, State> {
  // What was changed while it ran holds for the next life too.
  let { settings, books } = options;
  // Calls come at any time, also while the books are being replaced: they go to the service of the moment.
  let current: BookService | undefined;
  const subscribe = (call: ServerWritableStream<SummaryRequest, Buffer>) => {
    if (current !== undefined) current.subscribe(call);
    else call.emit('error', { code: status.UNAVAILABLE, details: 'no books are merged at present' });
  };

  const attach = (onError: (error: Error) => void): BookSource | undefined => {
    if (books === undefined) return undefined;
    const reader = new SummaryReader(books);
    const { venues, symbols, depth } = books.plan;
    const unixOffsetNs = Date.now() * 1e6 - nowNs();
    const service = new BookService({
      symbols: symbols.map(options.shapeOf),
      defaultSymbol: settings.defaultSymbol,
      depth,
      encoder: new SummaryEncoder(reader.memory.buffer, { venues, depth }, unixOffsetNs),
      latest: (symbol) => reader.latest(symbol),
      maxSubscribers: settings.maxSubscribers,
      maxSymbols: settings.maxSymbols,
      cutSlowAfterMs: settings.cutSlowAfterMs,
      now: () => performance.now(),
    });
    const visit = (symbol: number, record: number) => {
      service.publish(symbol, record);
      options.onSummary(symbol, record, reader);
    };
    const consumer = new LoopConsumer(reader.memory, reader.doorbellAt, () => reader.drain(visit), {
      pollMs: POLL_MS,
      parkMs: PARK_MS,
      onError: (error) => onError(error as Error),
    });
    current = service;
    return { service, consumer };
  };

  const detach = (source: BookSource | undefined) => {
    source?.consumer.close();
    source?.service.close();
    current = undefined;
  };

  return {
    async init(context) {
      const { beside } = options;
      const protos = loadProtos([PROTO, ...beside.map(({ proto }) => proto)]);
      const grpc = await startGrpc(settings, protos, [
        { name: SERVICE, definition: rawService(protos, SERVICE), implementation: { BookSummary: subscribe } },
        ...beside.map(({ service, methods }) => ({
          name: service,
          definition: rawService(protos, service),
          implementation: methods,
        })),
      ]);
      options.onListening(grpc.port);
      return { grpc, source: attach((error) => context.fail(error)) };
    },

    receive(state, message, context) {
      detach(state.source);
      if (message.kind === 'attach') books = message.books;
      else {
        settings = message.settings;
        state.grpc.useToken(settings.tokenFile);
      }
      return { ...state, source: attach((error) => context.fail(error)) };
    },

    async end(state) {
      detach(state.source);
      await state.grpc.stop(STOP_MS);
    },

    summary: (state): BookServiceStats & { port: number } => ({
      port: state.grpc.port,
      ...(state.source?.service.stats() ?? NO_STATS),
    }),
  };
}
