// The whole program in one object: a checked configuration, the actor system that runs it, and the way down. The command
// line, the tests and the benchmarks all start it here.
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import { NO_TREE } from '../protocols/topology.ts';
import type { ServerAvailability } from '../servers/index.ts';
import { GracefulShutdown, type ShutdownReport } from '../supervision/shutdown.ts';
import { ActorSystem } from '../supervision/system.ts';
import { type ApplyOutcome, TopologyApplier } from '../supervision/topology/apply.ts';
import { compileTopology, treeOf } from '../supervision/topology/compile.ts';
import type { Configuration } from '../supervision/topology/load.ts';
import { Board } from './board.ts';
import { BooksPlane } from './books-plane.ts';
import { type Factories, TreeHost } from './tree-host.ts';

export interface ProgramOptions {
  readonly configuration: Configuration;
  readonly endpoints: (venue: string) => { readonly wsUrl: string; readonly restUrl: string };
  readonly postgres: ServerAvailability | undefined;
  readonly redis: ServerAvailability | undefined;
  readonly onWarning: (warning: string) => void;
}

const NODES_DEADLINE_MS = 60_000;

export class Program {
  readonly system: ActorSystem;
  readonly exchanges = new Board<ExchangeStatus>('exchange-board');
  readonly books: BooksPlane;
  readonly shutdown: GracefulShutdown;
  readonly #applier: TopologyApplier;
  readonly #factories: Factories;
  #configuration: Configuration;
  #isReady = false;

  constructor(options: ProgramOptions) {
    this.#configuration = options.configuration;
    this.system = new ActorSystem({ children: [this.exchanges.spec], strategy: 'one_for_one' });
    this.books = new BooksPlane({
      statuses: this.exchanges,
      endpoints: options.endpoints,
      shapeOf: (symbol) => this.#shapeOf(symbol),
      tradeEdges: () => [],
      beside: () => [],
      onSummary: () => {},
      onWarning: options.onWarning,
    });
    this.#factories = { ...this.books.factories } as Factories;
    const host = new TreeHost(this.system, this.#factories, options.onWarning);
    this.#applier = new TopologyApplier(
      host,
      { nowMs: () => performance.now(), sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => {}) },
      NO_TREE,
    );
    this.shutdown = new GracefulShutdown(this.system.runtime.clock);
    this.shutdown.add({
      name: 'ready off',
      deadlineMs: 1000,
      run: async () => {
        this.#isReady = false;
      },
    });
    this.shutdown.add({
      name: 'stop the tree',
      deadlineMs: options.configuration.kernel.shutdown.deadline,
      run: () => this.system.stop(),
    });
  }

  get isReady(): boolean {
    return this.#isReady;
  }

  /** Brings the configured tree up. What did not come up is in the outcome. */
  async start(): Promise<ApplyOutcome> {
    await this.system.start();
    const outcome = await this.apply(this.#configuration, 0);
    this.#isReady = outcome.kind === 'applied';
    return outcome;
  }

  /** Takes the running tree to another configuration, or back. */
  async apply(configuration: Configuration, stableForMs: number): Promise<ApplyOutcome> {
    const tree = compileTopology(configuration);
    const served = tree.nodes.filter(
      (node) => ['system', 'supervisor'].includes(node.kind) || node.kind in this.#factories,
    );
    const outcome = await this.#applier.apply(treeOf(served), {
      deadlineMs: NODES_DEADLINE_MS,
      stableForMs,
    });
    if (outcome.kind === 'applied') this.#configuration = configuration;
    return outcome;
  }

  stop(): Promise<ShutdownReport> {
    return this.shutdown.run();
  }

  #shapeOf(symbol: string) {
    const instrument = this.#configuration.topology.instruments[symbol];
    return {
      name: symbol,
      priceDecimals: instrument?.priceScale ?? 8,
      amountDecimals: instrument?.amountScale ?? 8,
    };
  }
}
