import { isMainThread } from 'node:worker_threads';
import { type BookShare, scaleOf } from '../../protocols/book-share.ts';
import type { ExchangeCommand, ExchangeStatus, TradeEdge, TradeRoute } from '../../protocols/exchange.ts';
import type { Ref } from '../../protocols/ref.ts';
import type { ExchangeSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { BOOK_BUCKETS } from '../../supervision/telemetry/buckets.ts';
import type { FigurePlace } from '../../supervision/telemetry/layout.ts';
import { openHistogram } from '../../supervision/telemetry/telemetry.ts';
import { hurry } from '../../supervision/threads/pin.ts';
import { venueNamed } from '../../venues/index.ts';
import { BookWriter } from '../merger/book-memory.ts';
import { Exchange } from './exchange.ts';
import { Rehearsal } from './rehearsal.ts';
import { TradeWriter } from './trade-writer.ts';
import { wantedStreams } from './wanted-streams.ts';

/** What travels to the thread of an exchange. */
export interface ExchangeArgs {
  readonly settings: ExchangeSettings;
  readonly wsUrl: string;
  readonly restUrl: string;
  /** Null while no books are merged. */
  readonly books: BookShare | null;
  /** The number of this connection's thread among those that merge books. */
  readonly turn: number;
  /** One a partition worker; none where bars are not made. */
  readonly tradeEdges: readonly TradeEdge[];
  /** Where the time of decoding is recorded. */
  readonly decodeTimes: FigurePlace;
  /** Where trades go from the first one on; what comes later by command holds as well. */
  readonly tradeRoutes: readonly TradeRoute[];
  readonly statusTo: Ref<ExchangeStatus>;
}

interface State {
  readonly exchange: Exchange;
  readonly trades: TradeWriter;
  readonly ticks: number;
}

const TICK_MS = 100;
/** A status goes out with every fifth tick, twice a second, and when a feed takes another state. */
const TICKS_PER_STATUS = 5;

export function exchange(args: ExchangeArgs): Behaviour<ExchangeCommand, State> {
  const venue = venueNamed(args.settings.venue);
  const decodeTimes = openHistogram(args.decodeTimes, BOOK_BUCKETS);
  // What was changed while it ran holds for the next life too.
  let { settings, books, tradeRoutes: routes } = args;
  let rehearsal: Rehearsal | undefined;
  const edges = new Map(args.tradeEdges.map((edge) => [edge.worker, edge]));

  const open = (path: string, trades: TradeWriter): Exchange => {
    const isMerged = books?.plan.venues.includes(settings.venue) ?? false;
    const bookIndex = (instrument: string, scale: number) => {
      const index = isMerged ? books!.plan.symbols.indexOf(instrument) : -1;
      return index < 0 || scaleOf(books!.plan, index) !== scale ? undefined : index;
    };
    const writer = books !== null && isMerged ? new BookWriter(books, settings.venue, args.turn) : undefined;
    const { wsUrl, restUrl } = args;
    if (writer !== undefined && rehearsal === undefined) {
      const streams = wantedStreams(venue, settings, (instrument, scale) =>
        bookIndex(instrument, scale) === undefined ? undefined : 0,
      );
      rehearsal = new Rehearsal({ venue, streams, frameBytes: settings.maxFrameBytes, depth: writer.depth });
    }
    return new Exchange({
      path,
      venue,
      settings,
      wsUrl,
      restUrl,
      books: writer,
      bookIndex,
      trades,
      decodeTimes,
      rehearsal,
      random: Math.random,
    });
  };

  return {
    init(context) {
      if (!isMainThread) hurry();
      const trades = new TradeWriter([...edges.values()]);
      trades.route(routes);
      context.timers.every('tick', TICK_MS, { kind: 'tick' });
      return { exchange: open(context.path, trades), trades, ticks: 0 };
    },

    receive(state, message, context) {
      switch (message.kind) {
        case 'tick':
          if (state.exchange.tick() || state.ticks % TICKS_PER_STATUS === 0)
            args.statusTo.tell(state.exchange.status());
          return { ...state, ticks: state.ticks + 1 };
        case 'reconfigure':
          settings = message.settings;
          state.exchange.reconfigure(settings);
          return state;
        case 'attach-books':
          books = message.books;
          state.exchange.close();
          return { ...state, exchange: open(context.path, state.trades) };
        case 'rotate':
          state.exchange.rotate(message.reason);
          return state;
        case 'resubscribe':
          state.exchange.resubscribe(message.symbol);
          return state;
        case 'route-trades':
          for (const edge of message.edges) edges.set(edge.worker, edge);
          state.trades.attach(message.edges);
          routes = message.routes;
          state.trades.route(routes);
          message.replyTo?.tell('routed');
          return state;
      }
    },

    end(state) {
      state.exchange.close();
    },

    summary: (state) => state.exchange.status(),
  };
}
