// What the order-book plane counts, for Prometheus and for the dashboard. Durations are recorded by the threads where they
// arise, in shared memory; everything else is read from the exchanges' own statuses when somebody asks.
import { Gauge, Registry } from 'prom-client';
import type { SummaryReader } from '../actors/merger/book-memory.ts';
import type { BookServiceStats } from '../actors/publisher/book-service.ts';
import { SUMMARY } from '../protocols/book-layout.ts';
import type * as api from '../protocols/console-api.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import type { FeedPhase } from '../protocols/venue.ts';
import { BOOK_BUCKETS, FINE_BUCKETS } from '../supervision/telemetry/buckets.ts';
import { CountsWindow, WINDOW_MS } from '../supervision/telemetry/counts-window.ts';
import { HistogramReader, percentileNs, SharedHistogram } from '../supervision/telemetry/histogram.ts';
import { type FigurePlace, histogramBytes } from '../supervision/telemetry/layout.ts';
import { type Sample, ScrapedMetric } from '../supervision/telemetry/scraped-metric.ts';
import { type Metric, openHistogram, Telemetry } from '../supervision/telemetry/telemetry.ts';
import { SharedMemory } from '../supervision/threads/memory.ts';
import { nowNs } from '../supervision/threads/thread-clock.ts';
import { isUp } from './health.ts';

const PHASES: readonly FeedPhase[] = ['subscribing', 'acked', 'live', 'quiet', 'stale', 'down'];

export class BookMetrics {
  readonly #registry = new Registry();
  readonly #statuses: () => readonly ExchangeStatus[];
  readonly #decode: Metric;
  readonly #e2e: SharedHistogram;
  readonly #e2eReader: HistogramReader;
  /** The same in finer buckets, for percentiles. */
  readonly #fine: SharedHistogram;
  readonly #fineReader: HistogramReader;
  readonly #e2eWindow = new CountsWindow();
  readonly #fineWindow = new CountsWindow();
  readonly #newestNs = new Map<number, number>();
  #words: Uint32Array = new Uint32Array(0);
  #reader: SummaryReader | undefined;

  constructor(statuses: () => readonly ExchangeStatus[], publisher: () => Promise<BookServiceStats | undefined>) {
    this.#statuses = statuses;
    const telemetry = new Telemetry(this.#registry);
    const help =
      'Time from the arrival of a frame until it is decoded, and a whole book is in its slot, of one frame in sixteen.';
    this.#decode = telemetry.histogram('orderbook_decode_duration_seconds', help, BOOK_BUCKETS, ['exchange']);
    const e2e = telemetry.histogram(
      'orderbook_e2e_duration_seconds',
      "From a frame's arrival until its summary is handed to the subscribers.",
      BOOK_BUCKETS,
    );
    this.#e2e = openHistogram(e2e.place(), BOOK_BUCKETS);
    this.#e2eReader = new HistogramReader(new SharedMemory(e2e.place().buffer), e2e.place().at, BOOK_BUCKETS);
    const memory = new SharedMemory(new SharedArrayBuffer(histogramBytes(FINE_BUCKETS.boundsNs.length)));
    this.#fine = new SharedHistogram(memory, 0, FINE_BUCKETS);
    this.#fineReader = new HistogramReader(memory, 0, FINE_BUCKETS);
    this.#addCounters();
    this.#addGauges(publisher);
  }

  /** Where the exchange of a venue records how long it decodes. */
  decodePlace(venue: string): FigurePlace {
    return this.#decode.place({ exchange: venue });
  }

  /** A summary was handed to the subscribers. One that no new frame caused, such as an eviction, has no latency. */
  onSummary(symbol: number, record: number, reader: SummaryReader): void {
    if (reader !== this.#reader) {
      this.#reader = reader;
      this.#words = new Uint32Array(reader.memory.buffer);
      this.#newestNs.clear();
    }
    const at = (record + SUMMARY.received_ns) >>> 2;
    const receivedNs = this.#words[at + 1]! * 0x1_0000_0000 + this.#words[at]!;
    if (receivedNs <= (this.#newestNs.get(symbol) ?? 0)) return;
    this.#newestNs.set(symbol, receivedNs);
    const durationNs = nowNs() - receivedNs;
    this.#e2e.record(durationNs);
    this.#fine.record(durationNs);
  }

  /** The Prometheus text of the plane. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Of the last minute; undefined when nothing was handed over in it. */
  latency(): api.HistogramView | undefined {
    const nowMs = performance.now();
    const total = (counts: readonly number[]) => counts.reduce((sum, each) => sum + each, 0);
    const [everFine, ever] = [this.#fineReader.read(), this.#e2eReader.read()];
    const fineCounts = this.#fineWindow.of(everFine.counts, nowMs);
    const counts = this.#e2eWindow.of(ever.counts, nowMs);
    const fine = { ...everFine, counts: fineCounts, count: total(fineCounts) };
    if (fine.count === 0) return undefined;
    return {
      windowMs: WINDOW_MS,
      boundsUs: ever.boundsNs.filter(Number.isFinite).map((ns) => ns / 1000),
      counts,
      count: fine.count,
      p50Us: (percentileNs(fine, 0.5) ?? 0) / 1000,
      p99Us: (percentileNs(fine, 0.99) ?? 0) / 1000,
      maxUs: (percentileNs(fine, 1) ?? 0) / 1000,
    };
  }

  #addCounters(): void {
    const byVenue = (name: string, help: string, readingOf: (status: ExchangeStatus) => number) =>
      this.#counter(name, help, () => this.#sumByVenue(readingOf));
    byVenue('orderbook_messages_total', 'Frames received.', ({ counters }) => counters.messages);
    byVenue('orderbook_errors_total', 'Frames and answers that were refused.', ({ counters }) => counters.errors);
    byVenue('orderbook_reconnections_total', 'Connections lost.', ({ counters }) => counters.reconnections);
    byVenue('orderbook_rotations_total', 'Connections replaced.', ({ counters }) => counters.rotations);
    byVenue('orderbook_rotations_failed_total', 'Successors given up.', ({ counters }) => counters.rotationsFailed);
    const ofStreams = (status: ExchangeStatus, field: 'lost' | 'gaps' | 'duplicates') =>
      status.streams.reduce((total, stream) => total + stream[field], 0);
    const lost = 'Updates that no connection delivered while one was replaced.';
    byVenue('orderbook_rotation_lost_updates_total', lost, (status) => ofStreams(status, 'lost'));
    byVenue('orderbook_gaps_total', 'Holes seen in what a venue numbers.', (status) => ofStreams(status, 'gaps'));
    byVenue('orderbook_duplicates_total', 'Frames that said nothing new.', (status) => ofStreams(status, 'duplicates'));
    this.#counter('orderbook_merges_total', 'Summaries merged.', () => [
      { labels: {}, value: this.#reader?.merges ?? 0 },
    ]);
    const helped = "Summaries merged on a feed's thread, because the merger slept or did not get its core.";
    this.#counter('orderbook_merges_helped_total', helped, () => [{ labels: {}, value: this.#reader?.helped ?? 0 }]);
  }

  #counter(name: string, help: string, samples: () => Sample[]): void {
    const metric = new ScrapedMetric('counter', name, help);
    metric.add(samples);
    this.#registry.registerMetric(metric);
  }

  /** Connections of one venue are counted together. */
  #sumByVenue(readingOf: (status: ExchangeStatus) => number): Sample[] {
    const sums = new Map<string, number>();
    for (const status of this.#statuses()) {
      sums.set(status.venue, (sums.get(status.venue) ?? 0) + readingOf(status));
    }
    return [...sums].map(([exchange, value]) => ({ labels: { exchange }, value }));
  }

  #addGauges(publisher: () => Promise<BookServiceStats | undefined>): void {
    const statuses = this.#statuses;
    const registers = [this.#registry];
    new Gauge({
      name: 'orderbook_exchange_up',
      help: '1 while the venue sends a book that can be merged.',
      labelNames: ['exchange'],
      registers,
      collect() {
        this.reset();
        for (const status of statuses()) {
          this.inc({ exchange: status.venue }, 0);
          if (isUp(status)) this.set({ exchange: status.venue }, 1);
        }
      },
    });
    new Gauge({
      name: 'orderbook_feeds',
      help: 'Feeds by the state that they are in.',
      labelNames: ['exchange', 'state'],
      registers,
      collect() {
        this.reset();
        for (const { venue, streams } of statuses()) {
          for (const state of PHASES) {
            this.inc({ exchange: venue, state }, streams.filter(({ phase }) => phase === state).length);
          }
        }
      },
    });
    new Gauge({
      name: 'orderbook_uptime_seconds',
      help: 'How long the process has run.',
      registers,
      collect() {
        this.set(process.uptime());
      },
    });
    new Gauge({
      name: 'orderbook_subscribers',
      help: 'Open gRPC subscriptions.',
      registers,
      async collect() {
        this.set((await publisher())?.subscribers ?? 0);
      },
    });
    new Gauge({
      name: 'orderbook_subscriber_held_bytes',
      help: 'Bytes held for gRPC subscribers that have not taken them yet.',
      registers,
      async collect() {
        this.set((await publisher())?.heldBytes ?? 0);
      },
    });
  }
}
