// The whole program in one object: a checked configuration, the actor system that runs it, and the way down. The command
// line, the tests and the benchmarks all start it here.
import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LanePosting } from '../actors/kernel-ingest/actor.ts';
import type { BookServiceStats } from '../actors/publisher/book-service.ts';
import { consoleBehaviour } from '../console/actor.ts';
import type { ConsoleSources } from '../console/sources.ts';
import { DECIMALS_DEFAULT } from '../protocols/book-layout.ts';
import { scaleOf } from '../protocols/book-share.ts';
import type { HealthView } from '../protocols/console-api.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import { NO_TREE, type SpillSettings, type TopologyNode, type TopologyTree } from '../protocols/topology.ts';
import type { ServerAvailability } from '../servers/index.ts';
import { GracefulShutdown, type ShutdownReport } from '../supervision/shutdown.ts';
import { actor } from '../supervision/spec.ts';
import { ActorSystem } from '../supervision/system.ts';
import { type ApplyOutcome, TopologyApplier } from '../supervision/topology/apply.ts';
import { compileTopology, treeOf } from '../supervision/topology/compile.ts';
import { spill as spillSettings } from '../supervision/topology/compile-settings.ts';
import { TopologyControl } from '../supervision/topology/control.ts';
import type { ConfigFiles, Configuration } from '../supervision/topology/load.ts';
import { KNOWN_VENUES } from '../venues/index.ts';
import { Board } from './board.ts';
import { BookMetrics } from './book-metrics.ts';
import { BooksPlane } from './books-plane.ts';
import { BooksView } from './books-source.ts';
import { judgeHealth, unfedReason } from './health.ts';
import { IngestPlane } from './ingest-plane.ts';
import { klineService } from './kline-service.ts';
import { KlinesPlane } from './klines-plane.ts';
import { topologySource } from './topology-source.ts';
import { type Factories, TreeHost } from './tree-host.ts';

export interface ProgramOptions {
  readonly configuration: Configuration;
  /** The files that the configuration was read from. */
  readonly files: ConfigFiles;
  readonly endpoints: (venue: string) => { readonly wsUrl: string; readonly restUrl: string };
  /** The endpoints are those of simulated venues. */
  readonly isSimulated: boolean;
  readonly postgres: ServerAvailability;
  readonly redis: ServerAvailability;
  readonly onWarning: (warning: string) => void;
  /** Hears of each configuration that took while the program ran. */
  readonly onConfigured?: (configuration: Configuration) => void;
}

const START_DEADLINE_MS = 60_000;
const INTAKE_DEADLINE_MS = 5_000;
const EXCHANGE_ANSWER_MS = 2_000;

export class Program {
  readonly system: ActorSystem;
  readonly exchanges = new Board<ExchangeStatus>('exchange-board');
  readonly books: BooksPlane;
  readonly klines: KlinesPlane;
  readonly bookMetrics = new BookMetrics(
    () => this.exchanges.all(),
    () => this.#publisherStats(),
  );
  readonly booksView = new BooksView({
    plan: () => this.books.books?.plan,
    shapeOf: (symbol) => this.#shapeOf(symbol),
    statuses: () => this.exchanges.all(),
    metrics: this.bookMetrics,
  });
  readonly shutdown: GracefulShutdown;
  /** Plans and applies other configurations. */
  readonly control: TopologyControl;
  readonly #lanes = new Board<LanePosting>('lane-board');
  readonly #ingest: IngestPlane | undefined;
  readonly #options: ProgramOptions;
  readonly #applier: TopologyApplier;
  readonly #host: TreeHost;
  readonly #sources: ConsoleSources;
  #configuration: Configuration;
  #files: ConfigFiles;
  #wanted: { readonly configuration: Configuration; readonly nodes: readonly TopologyNode[] } | undefined;
  #isReady = false;
  #consoleUrl: string | undefined;

  constructor(options: ProgramOptions) {
    this.#options = options;
    this.#configuration = options.configuration;
    this.#files = options.files;
    this.system = new ActorSystem({ children: [this.exchanges.spec, this.#lanes.spec], strategy: 'one_for_one' });
    this.books = new BooksPlane({
      statuses: this.exchanges,
      endpoints: options.endpoints,
      shapeOf: (symbol) => this.#shapeOf(symbol),
      tradeEdges: (path, venue) => this.klines.tradeEdges(path, venue),
      tradeRoutes: (venue) => this.klines.tradeRoutes(venue),
      discovered: (path, venue, room) => this.klines.shares.of(path, venue, room),
      onLeft: (path) => this.klines.shares.leave(path),
      ask: (target, question) => this.system.ask(target, question, EXCHANGE_ANSWER_MS),
      beside: () => [klineService({ live: this.klines.live, bars: this.klines.bars })],
      decodeTimes: (venue) => this.bookMetrics.decodePlace(venue),
      onSummary: (symbol, record, reader) => {
        this.bookMetrics.onSummary(symbol, record, reader);
        this.booksView.onSummary(reader);
      },
      onWarning: options.onWarning,
    });
    this.#ingest = this.#ingestPlane();
    this.klines = new KlinesPlane({
      statuses: this.exchanges,
      endpoints: (venue) => {
        const found = options.endpoints(venue);
        const { wsUrl = found.wsUrl, restUrl = found.restUrl } = this.#configuration.topology.feeds[venue] ?? {};
        return { wsUrl, restUrl };
      },
      postgres: options.postgres,
      spill: () => this.#spillSettings(),
      refreshExchanges: () => this.books.refreshExchanges(),
      resubscribe: (venue, symbol) => this.books.resubscribe(venue, symbol),
      routeTrades: (venue) => this.books.routeTrades(venue),
      connections: () => compileTopology(this.#configuration).nodes.filter(({ kind }) => kind === 'exchange').length,
      onWarning: options.onWarning,
    });
    const factories: Partial<Factories> = {
      ...this.books.factories,
      ...this.klines.factories,
      ...this.#servingFactories(),
      ...this.#ingest?.factories,
    };
    const host = new TreeHost(this.system, factories, options.onWarning, ({ kind, path }) =>
      kind === 'exchange' ? unfedReason(this.exchanges.get(path)) : undefined,
    );
    this.#host = host;
    this.#applier = new TopologyApplier(
      host,
      { nowMs: () => performance.now(), sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}) },
      NO_TREE,
    );
    const control = new TopologyControl(
      this.#applier,
      { venues: KNOWN_VENUES },
      (configuration, files) => {
        this.#configuration = configuration;
        this.#files = files;
        options.onConfigured?.(configuration);
      },
      (configuration) => this.#treeOf(configuration),
    );
    this.control = control;
    this.#sources = {
      actors: this.system,
      health: () => this.health(),
      isReady: () => this.#isReady,
      isSimulated: options.isSimulated,
      metrics: async () =>
        (await Promise.all([this.bookMetrics.text(), this.klines.metrics(), this.#ingest?.metrics()])).join('\n'),
      books: this.booksView,
      bars: this.klines.bars,
      topology: topologySource(this.#applier, control, () => this.#files),
      ...(this.#ingest !== undefined && { ingest: this.#ingest.source() }),
    };
    this.shutdown = new GracefulShutdown(this.system.runtime.clock);
    this.#addShutdownPhases();
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Where the dashboard is, once it listens. */
  get consoleUrl(): string | undefined {
    return this.#consoleUrl;
  }

  /** Where gRPC is served, once it is. */
  get grpcAddress(): string | undefined {
    const { port } = this.books;
    return port === undefined ? undefined : `${this.#configuration.kernel.grpc.host}:${port}`;
  }

  get defaultSymbol(): string | undefined {
    return this.#configuration.topology.book.defaultSymbol ?? this.books.books?.plan.symbols[0];
  }

  /** Brings the configured tree up. What did not come up is in the outcome. */
  async start(): Promise<ApplyOutcome> {
    await this.system.start();
    const outcome = await this.#applier.apply(this.#treeOf(this.#configuration), {
      deadlineMs: START_DEADLINE_MS,
      stableForMs: 0,
    });
    this.#isReady = outcome.kind === 'applied';
    return outcome;
  }

  stop(): Promise<ShutdownReport> {
    return this.shutdown.run();
  }

  health(): HealthView {
    return judgeHealth({
      tree: this.system.tree(),
      exchanges: this.exchanges.all(),
      missing: this.#missing(),
      absent: this.#absentPlanes(),
      others: [...this.klines.health(), ...(this.#ingest?.health() ?? [])],
    });
  }

  /** The tree that can run here. Without a server that a plane stands on, the plane is left out and health says so. */
  #treeOf(configuration: Configuration): TopologyTree {
    return treeOf(compileTopology(configuration).nodes.filter(({ kind }) => this.#host.canRun(kind)));
  }

  /** What the configuration asks for and does not run, for whatever reason; while it is being applied, all of it. */
  #missing(): readonly string[] {
    if (this.#wanted?.configuration !== this.#configuration) {
      this.#wanted = { configuration: this.#configuration, nodes: compileTopology(this.#configuration).nodes };
    }
    return this.#host.missing(this.#wanted.nodes).map(({ path }) => path);
  }

  #absentPlanes(): { plane: string; reason: string }[] {
    const { postgres, redis } = this.#options;
    const absent = [];
    for (const [name, server] of Object.entries({ postgres, redis })) {
      if (server.state === 'down') absent.push({ plane: name, reason: `${server.code}: ${server.reason}` });
    }
    return absent;
  }

  #ingestPlane(): IngestPlane | undefined {
    const { redis, postgres } = this.#options;
    if (redis.state === 'down') return undefined;
    return new IngestPlane({
      redisUrl: redis.url,
      // Nobody listens on port 1: a reader without Postgres spills until there is one.
      postgresUrl: postgres.state === 'up' ? postgres.url : 'postgres://127.0.0.1:1/none',
      connectTimeoutMs: this.#configuration.kernel.servers.postgres.connectTimeout,
      drainMs: this.#configuration.kernel.shutdown.drain,
      board: this.#lanes,
      spill: () => this.#spillSettings(),
    });
  }

  /** The spill's folder is below the data folder unless it is absolute. */
  #spillSettings(): SpillSettings {
    const settings = spillSettings(this.#configuration);
    return { ...settings, folder: resolve(this.#configuration.kernel.data, settings.folder) };
  }

  #servingFactories(): Pick<Factories, 'console'> {
    return {
      console: (node, { id, backoff }) => ({
        spec: actor({
          id,
          backoff,
          shutdown: node.supervision.shutdownMs,
          behaviour: consoleBehaviour(node.settings, this.#sources, (url) => {
            this.#consoleUrl = url;
          }),
        }),
      }),
    };
  }

  #addShutdownPhases(): void {
    this.shutdown.add({
      name: 'ready off',
      deadlineMs: 1000,
      run: async () => {
        this.#isReady = false;
      },
    });
    // Feeds are what comes in by itself; readers of Redis settle what they have read while their part of the tree stops.
    this.shutdown.add({
      name: 'stop intake',
      deadlineMs: INTAKE_DEADLINE_MS,
      run: async () => {
        const { root } = this.system;
        if (root.child('feeds') !== undefined) await this.klines.watch.endIntake(() => root.stopChild('feeds'));
      },
    });
    this.shutdown.add({
      name: 'drain and stop the tree',
      deadlineMs: this.#configuration.kernel.shutdown.deadline,
      run: async () => {
        await this.system.stop();
        this.#ingest?.close();
      },
    });
  }

  async #publisherStats(): Promise<BookServiceStats | undefined> {
    if (this.books.port === undefined) return undefined;
    return (await this.system.summary('/serving/publisher')) as BookServiceStats;
  }

  #shapeOf(symbol: string) {
    // What is in the books counts, not what a changed configuration wants there.
    const plan = this.books.books?.plan;
    const scale = plan === undefined ? DECIMALS_DEFAULT : scaleOf(plan, plan.symbols.indexOf(symbol));
    return { name: symbol, priceDecimals: scale, amountDecimals: scale };
  }
}
