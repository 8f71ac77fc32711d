// The K-line plane: partition workers on their threads, the desk that serves them on the main thread, persistence, and the
// memory that joins them. Exchanges reach each worker by a ring of their own.
import type { GapHealer } from '../actors/kline-backfill/gap-healer.ts';
import { type BarsStanding, klinePersistence } from '../actors/kline-persistence/actor.ts';
import { BarSpill } from '../actors/kline-persistence/bar-spill.ts';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import type { HistoryQuery } from '../actors/kline-persistence/store.ts';
import { READER } from '../kernels/bars.ts';
import type { HealthPart } from '../protocols/console-api.ts';
import type { ExchangeStatus, TradeEdge, TradeRoute } from '../protocols/exchange.ts';
import type { PartitionCommand, PartitionReply } from '../protocols/partition.ts';
import type {
  PartitionWorkerSettings,
  SpillSettings,
  SymbolManagerSettings,
  TopologyNode,
} from '../protocols/topology.ts';
import type { ServerAvailability } from '../servers/index.ts';
import { pinnedActor } from '../supervision/remote/pinned-actor.ts';
import { actor } from '../supervision/spec.ts';
import type { PinnedThread } from '../supervision/threads/pinned-thread.ts';
import { KNOWN_VENUES, VENUES } from '../venues/index.ts';
import type { Venue } from '../venues/venue.ts';
import { type BarLinks, linksTo } from './bar-links.ts';
import { BarsView } from './bars-source.ts';
import type { Board } from './board.ts';
import { idleOf } from './books-plane.ts';
import { FeedShares } from './feed-shares.ts';
import { gapHealers, healingOf } from './gap-healing.ts';
import { clocksOf, klineDesk, type StaffedLine } from './kline-desk.ts';
import { klineMetrics, planeReasons, standingNews } from './kline-metrics.ts';
import { type KlineRecovery, recoveries } from './kline-recovery.ts';
import { KlineSymbols } from './kline-symbols.ts';
import { KlineWatch } from './kline-watch.ts';
import { LiveBars } from './live-bars.ts';
import { OrphanedBars } from './orphaned-bars.ts';
import { PartitionLine } from './partition-line.ts';
import { startRepairers } from './repairers.ts';
import { SymbolDiscovery } from './symbol-discovery.ts';
import { SymbolMoves } from './symbol-moves.ts';
import { TickerWatch } from './ticker-watch.ts';
import type { RepairerOptions, TradeRepairer } from './trade-fetch.ts';
import { cpuOf, type Factories, type Place } from './tree-host.ts';
import { VenueTimes } from './venue-times.ts';
import { WorkerMetrics } from './worker-metrics.ts';

export interface KlinesPlaneOptions {
  readonly statuses: Board<ExchangeStatus>;
  readonly endpoints: (venue: string) => { readonly wsUrl: string; readonly restUrl: string };
  readonly postgres: ServerAvailability;
  readonly spill: () => SpillSettings;
  /** Exchanges are to take the symbols and routes of the moment. */
  readonly refreshExchanges: () => void;
  /** The exchange that has the symbol, in the venue's spelling, is to leave its stream of trades and join it again. */
  readonly resubscribe: (venue: string, symbol: string) => void;
  /** Resolves when the venue's trades go where the routes of this moment say. */
  readonly routeTrades: (venue: string) => Promise<void>;
  /** Venue connections of the configuration that is being run. */
  readonly connections: () => number;
  readonly onWarning: (warning: string) => void;
}

type KlineFactories = Pick<Factories, 'partition-worker' | 'symbol-manager' | 'watchdog'> &
  Partial<Pick<Factories, 'kline-persistence'>>;

/** Should the watchdog itself be out, a worker that stands still for this long is ended all the same. */
const HANG_MS = 60_000;
/** Connections that may be added while the workers run. */
const SPARE_PORTS = 4;
/** More windows than close between two writes to the database, or while one of them is tried again for a while. */
const ORPHANS_PER_SERIES = 64;
/** How long a change of the topology waits for symbols to move. */
const MOVE_WITHIN_MS = 20_000;

export class KlinesPlane {
  readonly factories: KlineFactories;
  readonly bars: BarsView;
  readonly live: LiveBars;
  readonly symbols = new KlineSymbols();
  readonly watch: KlineWatch;
  readonly #options: KlinesPlaneOptions;
  readonly #times: VenueTimes;
  /** By worker. A line stays when its worker is stopped: exchanges may still hold its rings. */
  readonly #lines = new Map<number, PartitionLine>();
  readonly #links: BarLinks | undefined;
  readonly shares = new FeedShares(this.symbols);
  readonly #moves: SymbolMoves;
  #discovery: SymbolDiscovery | undefined;
  #manager: SymbolManagerSettings | undefined;
  readonly #orphans = new OrphanedBars((worker) => this.#lastShown(worker));
  readonly #recoveries: ReadonlyMap<string, KlineRecovery>;
  readonly #healers: readonly GapHealer[];
  readonly #spill: BarSpill;
  #standing: BarsStanding | undefined;
  readonly #staffed = new Map<number, StaffedLine>();
  readonly #threads = new Map<number, PinnedThread>();
  readonly #workerMetrics: WorkerMetrics;
  #repairers: ReadonlyMap<string, TradeRepairer> = new Map();

  constructor(options: KlinesPlaneOptions) {
    this.#options = options;
    this.live = new LiveBars(options.postgres.state === 'up');
    this.#times = new VenueTimes({ endpoints: options.endpoints });
    this.bars = new BarsView({
      live: this.live,
      catalogue: () => ({
        symbols: this.symbols
          .all()
          .filter(({ isShown }) => isShown)
          .map(({ venue, symbol }) => `${venue}:${symbol}`)
          .sort(),
        intervals: [...this.#staffed.values()][0]?.intervals ?? [],
        feeds: Object.fromEntries(this.watch.verdicts),
      }),
      stored: (query) => this.#stored(query),
    });
    const onRevised = (bars: readonly NamedBar[]) => this.live.takeHealed(bars);
    this.#links = linksTo(options.postgres, onRevised);
    this.#spill = new BarSpill({ settings: options.spill });
    this.#recoveries = recoveries(VENUES, {
      link: this.#links?.writer,
      spill: this.#spill,
      restUrl: (venue) => options.endpoints(venue).restUrl,
      nowMs: () => performance.now(),
      onLeft: (...stop) => {
        for (const healer of this.#healers) healer.noteStop(...stop);
      },
    });
    this.#healers = gapHealers(VENUES, {
      settings: () => this.#manager!.heal,
      link: this.#links?.healer,
      repair: (venue) => this.#repairOf(venue),
      ...{ symbols: this.symbols, onRevised },
      intervals: () => [...this.#staffed.values()][0]?.intervals,
    });
    this.watch = new KlineWatch({
      symbols: this.symbols,
      statuses: () => options.statuses.all(),
      threads: () => this.#threads,
      resubscribe: options.resubscribe,
      doubt: ({ index, worker }, fromUs) => this.#ask(worker, { kind: 'doubt', symbol: index, fromUs }),
      nowUs: (venue) => this.#times.nowUs(venue),
      onWarning: options.onWarning,
    });
    this.#workerMetrics = new WorkerMetrics({
      workers: () => this.#workers(),
      statuses: () => options.statuses.all(),
      verdicts: () => this.watch.verdicts,
      watchdog: () => this.watch.count,
      repairs: () => new Map([...this.#repairers].map(([venue, { stats }]) => [venue, stats])),
      clocks: () => new Map(this.symbols.venues.map((venue) => [venue, this.#times.clock(venue)])),
    });
    this.live.listen((bars) => this.#workerMetrics.onBars(bars));
    this.#moves = new SymbolMoves({
      symbols: this.symbols,
      ask: (worker, command) => this.#ask(worker, command),
      prepare: async (worker) => {
        const { graceMs = 0 } = this.#staffed.get(worker) ?? {};
        const clocks = clocksOf(this.symbols.venues, this.#times, graceMs);
        await Promise.all(clocks.map((command) => this.#ask(worker, command)));
      },
      isRunning: (worker) => this.#staffed.has(worker),
      routeTrades: options.routeTrades,
      onMoved: (symbol, to, hasMoved) => this.#discovery?.moved(symbol, to, hasMoved),
    });
    this.factories = {
      watchdog: (node, place) => this.watch.place(node, place),
      'partition-worker': (node, place) => this.#worker(node, place),
      'symbol-manager': (node, place) => this.#desk(node, place),
      ...(this.#links !== undefined && {
        'kline-persistence': (node: TopologyNode<'kline-persistence'>, place: Place) => this.#persistence(node, place),
      }),
    };
  }

  /** The rings that a connection's trades go to: none where no bars are made of them. */
  tradeEdges(path: string, venue: string): TradeEdge[] {
    if (!this.symbols.venues.includes(venue)) return [];
    return [...this.#lines.values()].flatMap((line) => {
      const edge = line.edge(path);
      if (edge === undefined) this.#options.onWarning(`worker ${line.worker} has no ring left for trades of ${path}`);
      return edge ?? [];
    });
  }

  tradeRoutes(venue: string): readonly TradeRoute[] {
    return this.symbols.routes(venue);
  }

  health(): HealthPart[] {
    if (this.#staffed.size === 0) return [];
    // A symbol that is being discovered is not missed yet.
    const all = this.symbols.all().filter(({ isShown }) => isShown);
    const waiting = all.filter(({ isPlaced }) => !isPlaced).length;
    const { postgres } = this.#options;
    const reasons = [
      ...(waiting > 0 ? [`${waiting} of ${all.length} symbols wait for trades or for their worker`] : []),
      ...(postgres.state === 'down' ? [`bars are served and not stored: ${postgres.code}`] : []),
      ...this.watch.reasons(),
      ...planeReasons(this.#standing, healingOf(this.#healers), this.shares.unserved()),
    ];
    return [{ name: 'klines', status: reasons.length === 0 ? 'OK' : 'DEGRADED', reason: reasons.join('; ') }];
  }

  async metrics(): Promise<string> {
    const plane = klineMetrics({
      ...{ standing: this.#standing, symbols: this.symbols.all(), unserved: this.shares.unserved() },
      healing: healingOf(this.#healers),
    });
    return (await Promise.all([plane, this.#workerMetrics.text()])).join('\n');
  }

  #workers() {
    return new Map(
      [...this.#staffed].flatMap(([worker, { line }]) => {
        const thread = this.#threads.get(worker);
        return thread === undefined ? [] : [[worker, { line, thread }] as const];
      }),
    );
  }

  async #stored(query: HistoryQuery): Promise<readonly NamedBar[]> {
    return (await this.#links?.readers.use((store) => store.history(query))) ?? [];
  }

  #worker(node: TopologyNode<'partition-worker'>, { id, backoff }: Place) {
    const { placement, settings } = node;
    const { worker, intervals, graceMs, ringCapacity } = settings;
    const ports = this.#options.connections() + SPARE_PORTS;
    const line = this.#lines.get(worker) ?? new PartitionLine({ worker, ringCapacity, ports });
    this.#lines.set(worker, line);
    this.#assign(settings);
    this.#staffed.set(worker, { line, intervals, graceMs });
    const isStored = this.#options.postgres.state === 'up';
    const cpu = cpuOf(placement);
    const spec = pinnedActor({
      id,
      backoff,
      module: new URL('../actors/partition-worker/duty.js', import.meta.url),
      exportName: 'makePartitionWorker',
      block: line.block,
      prepare: () => {
        this.#orphans.begin(worker);
        this.symbols.unplace(worker);
        return { args: line.begin(intervals, isStored ? [READER.persistence, READER.live] : [READER.live]) };
      },
      idle: idleOf(placement),
      shutdownMs: node.supervision.shutdownMs,
      hangMs: HANG_MS,
      ...(cpu !== undefined && { cpu }),
      onWarning: this.#options.onWarning,
    });
    this.#threads.set(worker, spec.thread);
    return {
      spec,
      reconfigure: async (next: PartitionWorkerSettings) => {
        this.#staffed.set(worker, { line, intervals, graceMs: next.graceMs });
        this.#assign(next);
        this.#discovery?.retire([...this.#staffed.keys()].filter((one) => one >= next.workers));
        await this.#moves.settle(MOVE_WITHIN_MS);
      },
      onStopped: () => {
        this.#threads.delete(worker);
        this.#staffed.delete(worker);
        this.symbols.unplace(worker);
      },
    };
  }

  /** Symbols that another worker has stay there until they are moved; those that nobody wants any more are let go. */
  #assign({ worker, symbols }: PartitionWorkerSettings): void {
    for (const left of this.symbols.assign(worker, symbols)) void this.#remove(left.worker, left.index);
    this.#options.refreshExchanges();
  }

  async #remove(worker: number, index: number): Promise<void> {
    await this.#ask(worker, { kind: 'remove-symbol', symbol: index }).catch(() => undefined);
  }

  #ask(worker: number, command: PartitionCommand): Promise<PartitionReply> {
    const line = this.#staffed.get(worker)?.line;
    return line === undefined ? Promise.reject(new Error(`worker ${worker} does not run`)) : line.ask(command);
  }

  #persistence(node: TopologyNode<'kline-persistence'>, { id, backoff }: Place) {
    const { writer, readers } = this.#links!;
    const workers = () =>
      [...this.#staffed.values()].map(({ line }) => ({
        worker: line.worker,
        snapshot: async () => {
          const { snapshot, bars } = await line.snapshot('persistence');
          return { snapshot, bars: [...this.#orphans.offer(line.worker, snapshot), ...this.symbols.named(bars)] };
        },
        tell: (command: PartitionCommand) => {
          if (command.kind === 'commit') this.#orphans.stored(line.worker, command.snapshot);
          line.ask(command).catch(() => undefined);
        },
      }));
    const behaviour = klinePersistence({
      ...{ settings: node.settings, workers, link: writer, readers, spill: this.#spill },
      sinceUs: (venue, symbol) => this.symbols.byName(venue, symbol)?.sinceUs ?? this.#times.nowUs(venue),
      onStanding: (standing) => {
        for (const news of standingNews(this.#standing, standing)) this.#options.onWarning(news);
        this.#standing = standing;
      },
      onDurable: (bars) => this.live.takeStored(bars),
    });
    return { spec: actor({ id, backoff, shutdown: node.supervision.shutdownMs, behaviour }) };
  }

  /** Bars that the worker's life before may have taken with it before they were stored. Storing one twice changes nothing. */
  #lastShown(worker: number): readonly NamedBar[] {
    const { intervals = [] } = this.#staffed.get(worker) ?? {};
    if (this.#links === undefined) return [];
    return this.symbols
      .ofWorker(worker)
      .flatMap(({ venue, symbol }) =>
        intervals.flatMap((interval) => this.live.series(venue, symbol, interval).slice(0, ORPHANS_PER_SERIES)),
      );
  }

  #desk(node: TopologyNode<'symbol-manager'>, { id, backoff }: Place) {
    this.#manager = node.settings;
    const settings = () => this.#manager!;
    const { repair, clockSyncMs } = node.settings;
    this.#discovery ??= new SymbolDiscovery({
      settings: node.settings,
      symbols: this.symbols,
      workers: () => [...this.#staffed.keys()],
      nowMs: () => performance.now(),
      onChanged: () => this.#options.refreshExchanges(),
      remove: (worker, index) => this.#remove(worker, index),
    });
    const discovery = this.#discovery;
    discovery.reconfigure(node.settings);
    const withTickers = () =>
      KNOWN_VENUES.filter(({ id, tellsSymbols }) => {
        return tellsSymbols && (this.symbols.venues.includes(id) || settings().discovery.includes(id));
      });
    const behaviour = klineDesk({
      lines: () => [...this.#staffed.values()],
      symbols: this.symbols,
      live: this.live,
      times: this.#times,
      statuses: () => this.#options.statuses.all(),
      clockSyncMs,
      recoveries: this.#recoveries,
      repairers: repair ? () => this.#startRepairers() : undefined,
      healers: this.#healers,
      discovery,
      moves: this.#moves,
      ackTimeoutMs: () => settings().ackTimeoutMs,
      tickers: () => withTickers().map(({ id }) => this.#tickers(id, discovery)),
    });
    return {
      spec: actor({ id, backoff, shutdown: node.supervision.shutdownMs, behaviour }),
      reconfigure: (next: SymbolManagerSettings) => {
        this.#manager = next;
        discovery.reconfigure(next);
      },
    };
  }

  /** A venue's tickers serve discovery, where it is wanted, and tell the watchdog what trades. */
  #tickers(venue: string, discovery: SymbolDiscovery): TickerWatch {
    const { wsUrl } = this.#options.endpoints(venue);
    return new TickerWatch({
      venue,
      wsUrl,
      onTickers: (tickers) => {
        discovery.seen(venue, [...tickers.keys()]);
        this.watch.tickers(venue, tickers);
      },
    });
  }

  #startRepairers(): ReadonlyMap<string, TradeRepairer> {
    this.#repairers = startRepairers(VENUES, (venue) => this.#repairOf(venue));
    return this.#repairers;
  }

  #repairOf({ facts: { id: venue, rest } }: Venue): RepairerOptions {
    return {
      restUrl: this.#options.endpoints(venue).restUrl,
      weightPerMinute: rest.weightPerMinute,
      nameOf: (symbol) => this.symbols.at(symbol)?.symbol,
      nowUs: () => this.#times.nowUs(venue),
      tell: async (symbol, command) => {
        const worker = this.symbols.at(symbol)?.worker;
        const line = worker === undefined ? undefined : this.#staffed.get(worker)?.line;
        const reply = await line?.ask(command).catch(() => undefined);
        return reply !== undefined && reply.kind !== 'refused';
      },
    };
  }
}
