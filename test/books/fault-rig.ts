// What tests of faults need: a market that moves, the program against it, a subscriber, and a judge who holds every
// summary against what the venues really had.
import type { RunnerTask } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { ExchangeStatus, StreamStatus } from '../../src/protocols/exchange.ts';
import type { FaultRequest } from '../../src/venues/simulation/faults.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, type ClientSummary, startBooks, until } from './harness.ts';
import { type Instrument, TrueMarket } from './truth.ts';

export const STEP_MS = 10;
const START_MS = 1_770_000_000_000;
/** Summaries that are still looked at when all seems right, so that what came in late is seen too. */
const SUMMARIES_AFTER = 20;

export interface FaultRigOptions extends SimulatorOptions {
  readonly instruments: readonly Instrument[];
  readonly topology: string;
}

/** The instrument under the name that each venue has for it. */
export const BTC: Instrument = {
  name: 'BTC-USD',
  symbols: { binance: 'BTCUSDT', bitstamp: 'btcusd', kraken: 'BTC/USD', coinbase: 'BTC-USD' },
};

export function onVenues(instrument: Instrument, venues: readonly string[]): Instrument {
  const symbols = Object.entries(instrument.symbols).filter(([venue]) => venues.includes(venue));
  return { name: instrument.name, symbols: Object.fromEntries(symbols) };
}

/** The first instrument is the one that is asked about where none is named. */
export class FaultRig {
  readonly simulator: Simulator;
  readonly market: TrueMarket;
  readonly program: Program;
  readonly watch: BookWatch;
  readonly venues: readonly string[];
  readonly #symbol: string;
  /** The greatest age of a book, in milliseconds, at which its levels were still in a summary; since `forget`. */
  readonly #ages = new Map<string, number>();
  /** Venues whose levels were not in some summary; since `forgetAges`. */
  readonly missed = new Set<string>();
  #struckMs: number | undefined;
  #outMs: number | undefined;
  readonly #times: string[] = [];

  static async start({ instruments, topology, ...options }: FaultRigOptions): Promise<FaultRig> {
    const simulator = await startSimulator({ manual: true, rate: 1000 / STEP_MS, startMs: START_MS, ...options });
    const market = new TrueMarket(simulator, instruments);
    market.run(STEP_MS);
    const { program, port } = await startBooks(simulator, topology);
    return new FaultRig(simulator, market, program, port, instruments);
  }

  private constructor(
    simulator: Simulator,
    market: TrueMarket,
    program: Program,
    port: number,
    instruments: readonly Instrument[],
  ) {
    this.simulator = simulator;
    this.market = market;
    this.program = program;
    this.#symbol = instruments[0]!.name;
    this.venues = Object.keys(instruments[0]!.symbols);
    const symbols = instruments.map(({ name }) => name);
    this.watch = new BookWatch(port, symbols, (summary) => this.#see(summary));
  }

  #see(summary: ClientSummary): void {
    this.market.check(summary);
    if (summary.symbol !== this.#symbol) return;
    const present = summary.venues.filter(({ live }) => live);
    for (const { name, live } of summary.venues) if (!live) this.missed.add(name);
    for (const { name, age_us } of present) {
      this.#ages.set(name, Math.max(this.#ages.get(name) ?? 0, Number(age_us) / 1000));
    }
    if (present.length < this.venues.length && this.#struckMs !== undefined) this.#outMs ??= performance.now();
  }

  /** Faults are over: waits until all is right, and holds everything that was published against the truth. */
  async settle({ name, suite }: Readonly<RunnerTask>): Promise<readonly string[]> {
    this.simulator.clearFaults();
    this.market.run(STEP_MS);
    await this.untilRight();
    if (this.#struckMs !== undefined) {
      const since = (ms: number) => `${Math.round(ms - this.#struckMs!)} ms`;
      const out = this.#outMs === undefined ? 'never out' : `out after ${since(this.#outMs)}`;
      this.#times.push(`${suite?.name ?? ''} ${name}: ${out}, right again after ${since(performance.now())}`);
    }
    this.#struckMs = undefined;
    this.#outMs = undefined;
    return this.market.complaints;
  }

  async stop(): Promise<void> {
    if (this.#times.length > 0) process.stdout.write(`${this.#times.join('\n')}\n`);
    this.watch.close();
    this.market.pause();
    await this.program.stop();
    await this.simulator.stop();
  }

  // --- what the program says ---

  statusOf(venue: string): ExchangeStatus | undefined {
    return this.program.exchanges.all().find((status) => status.venue === venue);
  }

  /** The venue's book stream of the first instrument, or of another. */
  feedOf(venue: string, instrument = this.#symbol): StreamStatus | undefined {
    return this.statusOf(venue)?.streams.find((one) => one.kind !== 'trades' && one.instrument === instrument);
  }

  tradesOf(venue: string): StreamStatus | undefined {
    return this.statusOf(venue)?.streams.find((one) => one.kind === 'trades' && one.instrument === this.#symbol);
  }

  countersOf(venue: string): ExchangeStatus['counters'] {
    return this.statusOf(venue)!.counters;
  }

  /** True while the venue's levels are in the latest summary. */
  isIn(venue: string): boolean {
    return this.watch.venues(this.#symbol).includes(venue);
  }

  report(): string {
    const exchanges = this.program.exchanges
      .all()
      .map(({ venue, connection, streams, counters, refused }) => ({ venue, connection, streams, counters, refused }));
    return JSON.stringify({ complaints: this.market.complaints, exchanges });
  }

  forgetAges(): void {
    this.#ages.clear();
    this.missed.clear();
  }

  oldestMs(venue: string): number {
    return this.#ages.get(venue) ?? 0;
  }

  // --- waiting ---

  async untilRight(): Promise<void> {
    await until(
      () => this.venues.every((venue) => this.isIn(venue) && this.feedOf(venue)?.phase === 'live'),
      () => `all venues to be right: ${this.report()}`,
    );
    const enough = this.watch.received + SUMMARIES_AFTER;
    await until(() => this.watch.received >= enough, 'summaries to go on');
  }

  async untilFeed(venue: string, isWanted: (feed: StreamStatus) => boolean, what: string): Promise<void> {
    await until(
      () => {
        const feed = this.feedOf(venue);
        return feed !== undefined && isWanted(feed);
      },
      () => `${venue} to be ${what}: ${this.report()}`,
    );
  }

  async untilOut(venue: string): Promise<void> {
    await until(
      () => !this.isIn(venue),
      () => `the levels of ${venue} to go: ${this.report()}`,
    );
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    await until(condition, () => `${what}: ${this.report()}`);
  }

  // --- faults ---

  fault(request: FaultRequest): void {
    this.#struckMs ??= performance.now();
    this.simulator.fault(request);
  }

  /** Starts a fault that is used up frame by frame, and waits until it is. */
  async strike(request: FaultRequest & { venue: string }): Promise<void> {
    const strikes = this.#struck(request.venue, request.kind) + (request.count ?? 1);
    this.fault(request);
    await this.until(() => this.#struck(request.venue, request.kind) >= strikes, `${request.kind} to strike`);
  }

  #struck(venue: string, kind: string): number {
    const { venues } = this.simulator.status() as { venues: Record<string, { struck: Record<string, number> }> };
    return venues[venue]?.struck[kind] ?? 0;
  }

  rotate(venue: string): void {
    const [, exchange] = [...this.program.books.exchanges].find(([path]) => path.includes(venue))!;
    exchange.ref.tell({ kind: 'rotate', reason: 'the test wants it' });
  }
}
