// The reference module: reads the venues' feeds and appends normalized events to Redis streams. A process of its own,
// so that it can fail, be replaced or run elsewhere without the kernel.
//
//   exchange --trades, books--> recorder --events--> outbox --batches--> Redis
//   exchange ...                recorder ...           ^
//                                        heartbeats, status
import { EventProducer, streamFor } from '../../protocols/event-producer.ts';
import type { ExchangeSettings } from '../../protocols/topology.ts';
import { wallClockNs } from '../../protocols/wall-clock.ts';
import type { Venue } from '../../venues/venue.ts';
import { Exchange } from '../exchange/exchange.ts';
import { FeedRecorder } from './feed-recorder.ts';
import { Outbox, type OutboxLimits } from './outbox.ts';
import { StreamWriter, type WriterState } from './stream-writer.ts';

export interface CollectorConnection {
  readonly venue: Venue;
  readonly settings: ExchangeSettings;
  readonly wsUrl: string;
  readonly restUrl: string;
}

export interface CollectorOptions {
  /** The module's name: the source of its heartbeats and its status. */
  readonly name: string;
  readonly version: string;
  readonly connections: readonly CollectorConnection[];
  readonly redisUrl: string;
  /** A connection's events all go to one of these. */
  readonly streams: readonly string[];
  /** Quotes a second of one symbol on one venue, at most 10. */
  readonly quotesPerSecond: number;
  readonly outbox: OutboxLimits;
  readonly backlogMax: number;
  /** Called with the status when something in it that matters has changed. */
  onChange(status: CollectorStatus): void;
}

export interface CollectorStatus {
  readonly redis: WriterState;
  readonly waiting: number;
  readonly appended: number;
  readonly accepted: Readonly<Record<string, number>>;
  readonly dropped: Readonly<Record<string, number>>;
  readonly connections: readonly ConnectionSummary[];
}

interface ConnectionSummary {
  readonly connection_id: string;
  readonly state: string;
  readonly reason: string;
  /** Streams by phase: { live: 7, quiet: 1 }. */
  readonly phases: Readonly<Record<string, number>>;
  readonly reconnections: number;
  readonly frames_refused: number;
  readonly gaps: number;
  readonly conflated: number;
}

interface Feed {
  readonly id: string;
  readonly exchange: Exchange;
  readonly recorder: FeedRecorder;
}

const TICK_MS = 100;
const BOOK_EVERY_MS = 1_000;
const HEARTBEAT_EVERY_MS = 5_000;
const STATUS_EVERY_MS = 60_000;
/** A status that changes all the time is not told more often than this. */
const STATUS_APART_MS = 1_000;

export class Collector {
  readonly #options: CollectorOptions;
  readonly #outbox: Outbox;
  readonly #writer: StreamWriter;
  readonly #feeds: readonly Feed[];
  readonly #about: EventProducer;
  readonly #timer: NodeJS.Timeout;
  #heartbeatAtMs = 0;
  #told = { atMs: performance.now(), key: '' };

  constructor(options: CollectorOptions) {
    this.#options = options;
    this.#outbox = new Outbox(options.outbox);
    this.#writer = new StreamWriter({
      url: options.redisUrl,
      outbox: this.#outbox,
      backlogMax: options.backlogMax,
    });
    this.#about = this.#producer(options.name, options.name);
    this.#feeds = options.connections.map((connection) => this.#open(connection));
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
  }

  status(): CollectorStatus {
    return {
      redis: this.#writer.state,
      waiting: this.#outbox.length,
      appended: this.#writer.appended,
      accepted: this.#outbox.accepted,
      dropped: this.#outbox.dropped,
      connections: this.#feeds.map(summaryOf),
    };
  }

  /** Leaves the venues, appends what is left for at most so long, and answers how many events did not get through. */
  stop(deadlineMs: number): Promise<number> {
    clearInterval(this.#timer);
    for (const { exchange } of this.#feeds) exchange.close();
    this.#tellStatus('stopping');
    return this.#writer.stop(deadlineMs);
  }

  #open({ venue, settings, wsUrl, restUrl }: CollectorConnection): Feed {
    const id = `${settings.venue}-${settings.connection}`;
    const stream = streamFor(this.#options.streams, id);
    const producer = this.#producer(settings.venue, id);
    const recorder = new FeedRecorder({
      symbols: settings.symbols,
      depth: settings.depth,
      quoteEveryMs: 1000 / this.#options.quotesPerSecond,
      bookEveryMs: BOOK_EVERY_MS,
      nowMs: () => performance.now(),
      nowNs: wallClockNs,
      record: (event) => this.#outbox.offer({ stream, type: event.eventType, bytes: producer.event(event).bytes }),
    });
    const indexes = new Map(settings.symbols.map(({ instrument }, index) => [instrument, index]));
    const exchange = new Exchange({
      path: id,
      venue,
      settings: { ...settings, trades: true },
      wsUrl,
      restUrl,
      books: recorder,
      bookIndex: (instrument) => indexes.get(instrument),
      trades: recorder,
      random: Math.random,
    });
    return { id, exchange, recorder };
  }

  #producer(source: string, connectionId: string): EventProducer {
    return new EventProducer({ source, connectionId, moduleVersion: this.#options.version, now: wallClockNs });
  }

  #tick(): void {
    for (const { exchange, recorder } of this.#feeds) {
      exchange.tick();
      recorder.tick();
    }
    const now = performance.now();
    if (now >= this.#heartbeatAtMs) this.#beat(now);
    const key = keyOf(this.status());
    const hasChanged = key !== this.#told.key && now - this.#told.atMs >= STATUS_APART_MS;
    if (!hasChanged && now - this.#told.atMs < STATUS_EVERY_MS) return;
    this.#told = { atMs: now, key };
    this.#tellStatus('running');
    if (hasChanged) this.#options.onChange(this.status());
  }

  /** A sign of life that would have to wait is none, so nothing is said while Redis is away. */
  #beat(now: number): void {
    this.#heartbeatAtMs = now + HEARTBEAT_EVERY_MS;
    if (this.#writer.state.kind === 'away' && this.#outbox.length > 0) return;
    const { bytes } = this.#about.heartbeat({ waiting: this.#outbox.length, dropped: this.#outbox.droppedTotal });
    this.#outbox.offer({ stream: this.#options.streams[0]!, type: 'heartbeat', bytes });
  }

  #tellStatus(state: 'running' | 'stopping'): void {
    const { bytes } = this.#about.status({ state, ...this.status() });
    this.#outbox.offer({ stream: this.#options.streams[0]!, type: 'status', bytes });
  }
}

function summaryOf({ id, exchange, recorder }: Feed): ConnectionSummary {
  const { connection, streams, counters } = exchange.status();
  const phases: Record<string, number> = {};
  for (const { phase } of streams) phases[phase] = (phases[phase] ?? 0) + 1;
  return {
    connection_id: id,
    state: connection.state,
    reason: connection.reason,
    phases,
    reconnections: counters.reconnections,
    frames_refused: counters.errors,
    gaps: streams.reduce((sum, stream) => sum + stream.gaps, 0),
    conflated: recorder.conflated,
  };
}

/** What of a status is worth telling at once: Redis and the connections coming and going, drops beginning and ending. */
function keyOf({ redis, dropped, connections }: CollectorStatus): string {
  const lines = connections.map(({ state, reason, reconnections }) => `${state} ${reason} ${reconnections}`);
  return [redis.kind, JSON.stringify(dropped), ...lines].join('|');
}
