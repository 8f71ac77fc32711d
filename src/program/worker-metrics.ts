// What the K-line plane counts, for Prometheus. The workers keep their own counters; they are asked for them when somebody
// scrapes, and one that does not answer in time shows what it last said. Labels are workers, venues and fixed words: never
// symbols, of which there may be thousands.
import { Gauge, Registry } from 'prom-client';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { uncertaintyUs, type VenueClock } from '../actors/partition-worker/venue-clock.ts';
import type { WorkerCounters } from '../actors/partition-worker/worker.ts';
import type { FeedVerdict } from '../protocols/console-api.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import { QUALITIES } from '../protocols/kline.ts';
import { type Sample, ScrapedMetric } from '../supervision/telemetry/scraped-metric.ts';
import type { PinnedThread } from '../supervision/threads/pinned-thread.ts';
import { namesOf } from './bars-source.ts';
import type { PartitionLine } from './partition-line.ts';
import type { RepairStats } from './trade-fetch.ts';

export interface WorkerMetricsOptions {
  readonly workers: () => ReadonlyMap<number, { readonly line: PartitionLine; readonly thread: PinnedThread }>;
  readonly statuses: () => readonly ExchangeStatus[];
  readonly verdicts: () => ReadonlyMap<string, FeedVerdict>;
  readonly watchdog: () => { readonly restarts: number; readonly resubscriptions: number };
  readonly repairs: () => ReadonlyMap<string, RepairStats>;
  readonly clocks: () => ReadonlyMap<string, VenueClock>;
}

const ANSWER_WITHIN_MS = 500;
const VERDICTS: readonly FeedVerdict[] = ['live', 'quiet', 'dead', 'unknown'];

/** What becomes of a trade, by the name of the kernel's counter. */
const OUTCOMES = {
  applied: 'applied',
  duplicates: 'duplicate',
  late: 'late',
  unknown_symbols: 'unknown_symbol',
  malformed: 'malformed',
  fills_refused: 'left_to_repair',
  stash_dropped: 'dropped_in_move',
} as const satisfies Partial<Record<keyof WorkerCounters, string>>;

interface Busy {
  readonly atMs: number;
  readonly handled: number;
  readonly ratio: number;
}

export class WorkerMetrics {
  readonly #registry = new Registry();
  readonly #options: WorkerMetricsOptions;
  readonly #counters = new Map<number, WorkerCounters>();
  readonly #busy = new Map<number, Busy>();
  readonly #issued = new Map<string, number>();

  constructor(options: WorkerMetricsOptions) {
    this.#options = options;
    this.#addWorkers();
    this.#addTrades();
    this.#addRepairs();
    this.#addFeeds();
  }

  /** Closed bars on their way to whoever listens. */
  onBars(bars: readonly NamedBar[]): void {
    for (const { bar } of bars) {
      if (bar.closed) this.#issued.set(bar.quality, (this.#issued.get(bar.quality) ?? 0) + 1);
    }
  }

  async text(): Promise<string> {
    const workers = this.#options.workers();
    for (const worker of [...this.#counters.keys()]) if (!workers.has(worker)) this.#counters.delete(worker);
    await Promise.all([...workers].map(([worker, { line }]) => this.#ask(worker, line)));
    return this.#registry.metrics();
  }

  async #ask(worker: number, line: PartitionLine): Promise<void> {
    const reply = await line.ask({ kind: 'counters' }, ANSWER_WITHIN_MS).catch(() => undefined);
    if (reply?.kind === 'counters') this.#counters.set(worker, reply.counters as WorkerCounters);
  }

  #counter(name: string, help: string, samples: () => Sample[]): void {
    const metric = new ScrapedMetric('counter', name, help);
    metric.add(samples);
    this.#registry.registerMetric(metric);
  }

  #gauge(name: string, help: string, labelNames: readonly string[], samples: () => Sample[]): void {
    new Gauge({
      name,
      help,
      labelNames,
      registers: [this.#registry],
      collect() {
        this.reset();
        for (const { labels, value } of samples()) this.set(labels, value);
      },
    });
  }

  #ofWorkers(read: (counters: WorkerCounters) => readonly Sample[]): Sample[] {
    return [...this.#counters].flatMap(([worker, counters]) =>
      read(counters).map(({ labels, value }) => ({ labels: { worker: String(worker), ...labels }, value })),
    );
  }

  #addTrades(): void {
    this.#counter('kline_trades_total', 'Trades that reached a worker, by what became of them.', () =>
      this.#ofWorkers((counters) =>
        Object.entries(OUTCOMES).map(([name, outcome]) => ({
          labels: { outcome },
          value: Number(counters[name as keyof typeof OUTCOMES]),
        })),
      ),
    );
    const one = (name: string, help: string, counter: keyof WorkerCounters) =>
      this.#counter(name, help, () =>
        this.#ofWorkers((counters) => [{ labels: {}, value: Number(counters[counter]) }]),
      );
    one('kline_holes_total', 'Holes seen in the trades of a symbol.', 'holes');
    one('kline_holes_merged_total', 'Holes joined for want of room: their bars need a rebuild.', 'holes_merged');
    one('kline_bars_beyond_memory_total', 'Trades that came too late to amend a bar in memory.', 'beyond_ring');
    one('kline_bars_unsaved_lost_total', 'Closed bars that left memory before they were stored.', 'lost_unsaved');
    one('kline_bars_unheard_lost_total', 'Closed bars that left memory before subscribers had them.', 'lost_unheard');
    this.#counter('kline_trades_dropped_total', "Trades refused by a worker's full ring, by venue.", () => {
      const dropped = new Map<string, number>();
      for (const { venue, counters } of this.#options.statuses()) {
        dropped.set(venue, (dropped.get(venue) ?? 0) + counters.tradesRefused);
      }
      return [...dropped].map(([venue, value]) => ({ labels: { venue }, value }));
    });
    this.#counter('kline_bars_closed_total', 'Closed bars issued by quality, each revision counted.', () =>
      QUALITIES.map((quality) => ({ labels: { quality }, value: this.#issued.get(quality) ?? 0 })),
    );
  }

  #addWorkers(): void {
    const each =
      (read: (worker: { line: PartitionLine; thread: PinnedThread }, number: number) => number) => (): Sample[] =>
        [...this.#options.workers()].map(([number, worker]) => ({
          labels: { worker: String(number) },
          value: read(worker, number),
        }));
    const labels = ['worker'];
    this.#gauge(
      'kline_worker_busy_ratio',
      'Share of the time since the last look in which a worker worked.',
      labels,
      each(({ thread }, worker) => this.#busyOf(worker, thread)),
    );
    this.#gauge(
      'kline_worker_ring_depth',
      'Trades that wait for a worker.',
      labels,
      each(({ line }) => line.ringDepth),
    );
    this.#gauge(
      'kline_worker_ring_high_water',
      'The most that were seen waiting.',
      labels,
      each(({ line }) => line.ringHighWater),
    );
    this.#gauge(
      'kline_worker_snapshot_age_seconds',
      'Since a worker last handed over its changed bars.',
      labels,
      each(({ line }) => line.snapshotAgeMs / 1000),
    );
    this.#gauge(
      'kline_holes_open',
      'Holes that are not filled yet.',
      labels,
      each(({ line }) => line.troubles.holes),
    );
    this.#gauge(
      'kline_symbols_in_doubt',
      'Symbols of which trades may be missing.',
      labels,
      each(({ line }) => line.troubles.doubts),
    );
  }

  /** From a sample of what one thing takes, and how many were handled. */
  #busyOf(worker: number, thread: PinnedThread): number {
    const { handled, processing } = thread.work();
    const atMs = performance.now();
    const before = this.#busy.get(worker);
    const meanMs = processing.count === 0 ? 0 : processing.sumNs / processing.count / 1e6;
    const passedMs = before === undefined ? 0 : atMs - before.atMs;
    const ratio = passedMs <= 0 ? 0 : Math.min(1, ((handled - before!.handled) * meanMs) / passedMs);
    this.#busy.set(worker, { atMs, handled, ratio });
    return ratio;
  }

  #addRepairs(): void {
    const byVenue = (read: (stats: RepairStats) => number) => (): Sample[] =>
      [...this.#options.repairs()].map(([venue, stats]) => ({ labels: { venue }, value: read(stats) }));
    const counter = (name: string, help: string, read: (stats: RepairStats) => number) =>
      this.#counter(name, help, byVenue(read));
    counter('kline_repairs_asked_total', 'Questions for missing trades.', ({ asked }) => asked);
    counter('kline_repairs_done_total', 'Holes and doubts that the answers ended.', ({ done }) => done);
    counter('kline_repairs_failed_total', 'Questions without a good answer.', ({ failed }) => failed);
    counter('kline_repairs_limited_total', 'Answers 429 and 418.', ({ limited }) => limited);
    counter('kline_repaired_trades_total', 'Trades fetched.', ({ fetched }) => fetched);
    this.#gauge(
      'kline_repairs_waiting',
      'Ranges asked for or waiting.',
      ['venue'],
      byVenue(({ waiting }) => waiting),
    );
    this.#gauge(
      'kline_repair_weight',
      "Weight used in this minute of the venue's budget.",
      ['venue'],
      byVenue(({ weight }) => weight),
    );
  }

  #addFeeds(): void {
    this.#gauge('kline_feeds', "Symbols by the watchdog's verdict.", ['venue', 'verdict'], () => {
      const counts = new Map<string, Map<FeedVerdict, number>>();
      for (const [symbol, verdict] of this.#options.verdicts()) {
        const [venue] = namesOf(symbol);
        const known = counts.get(venue) ?? new Map<FeedVerdict, number>();
        counts.set(venue, known.set(verdict, (known.get(verdict) ?? 0) + 1));
      }
      return [...counts].flatMap(([venue, known]) =>
        VERDICTS.map((verdict) => ({ labels: { venue, verdict }, value: known.get(verdict) ?? 0 })),
      );
    });
    const one = (name: string, help: string, read: () => number) =>
      this.#counter(name, help, () => [{ labels: {}, value: read() }]);
    one('kline_worker_restarts_total', 'Workers found standing still.', () => this.#options.watchdog().restarts);
    one('kline_resubscriptions_total', 'Dead streams joined anew.', () => this.#options.watchdog().resubscriptions);
    const clock = (name: string, help: string, read: (one: VenueClock) => number) =>
      this.#gauge(name, help, ['venue'], () =>
        [...this.#options.clocks()].map(([venue, known]) => ({ labels: { venue }, value: read(known) / 1e6 })),
      );
    clock('kline_venue_clock_offset_seconds', "The venue's time minus ours.", ({ offsetUs }) => offsetUs ?? 0);
    clock('kline_venue_clock_uncertainty_seconds', 'How far that may be off.', uncertaintyUs);
  }
}
