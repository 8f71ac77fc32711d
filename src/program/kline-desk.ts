// The main thread's work for the partition workers: gives them their symbols once trades of these come, tells them the
// venues' time, and collects the bars that changed. What the worker of a new life has lost, it gets again from here.
import type { GapHealer } from '../actors/kline-backfill/gap-healer.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import type { Bar } from '../protocols/kline.ts';
import type { PartitionCommand, SymbolStart, Trouble } from '../protocols/partition.ts';
import type { ActorContext, Behaviour } from '../supervision/actor.ts';
import { healingOf } from './gap-healing.ts';
import type { KlineRecovery } from './kline-recovery.ts';
import { fedBy, type KlineSymbol, type KlineSymbols } from './kline-symbols.ts';
import type { LiveBars } from './live-bars.ts';
import type { PartitionLine } from './partition-line.ts';
import type { SymbolDiscovery } from './symbol-discovery.ts';
import type { SymbolMoves } from './symbol-moves.ts';
import type { TickerWatch } from './ticker-watch.ts';
import type { TradeRepairer } from './trade-fetch.ts';
import type { VenueTimes } from './venue-times.ts';

/** A worker that runs: the line to it, and what its settings say. */
export interface StaffedLine {
  readonly line: PartitionLine;
  readonly intervals: readonly string[];
  readonly graceMs: number;
}

export interface KlineDeskOptions {
  readonly lines: () => readonly StaffedLine[];
  readonly symbols: KlineSymbols;
  readonly live: LiveBars;
  readonly times: VenueTimes;
  readonly statuses: () => readonly ExchangeStatus[];
  readonly clockSyncMs: number;
  /** By venue; none of one whose symbols begin anew. */
  readonly recoveries: ReadonlyMap<string, KlineRecovery>;
  /** Undefined where holes are left as they are. */
  readonly repairers: (() => ReadonlyMap<string, TradeRepairer>) | undefined;
  readonly healers: readonly GapHealer[];
  readonly discovery: SymbolDiscovery;
  readonly moves: SymbolMoves;
  /** A worker that has not taken a new symbol by then is passed over. */
  readonly ackTimeoutMs: () => number;
  readonly tickers: () => readonly TickerWatch[];
}

type DeskMessage = { readonly kind: 'tick' } | { readonly kind: 'sync-clocks' };

type Stored = NonNullable<SymbolStart['stored']>;

const TICK_MS = 200;
/** A version that no worker has told. */
const NEVER = (1n << 64n) - 1n;
/**
 * Trades that reach the worker before the symbol does are not counted, so the symbol counts as watched from this much
 * later on; a worker that takes longer counts from when it had the symbol.
 */
const ARRIVAL_US = 2_000_000n;

export function klineDesk(options: KlineDeskOptions): Behaviour<DeskMessage, undefined> {
  return new KlineDesk(options);
}

class KlineDesk implements Behaviour<DeskMessage, undefined> {
  readonly #options: KlineDeskOptions;
  readonly #busy = new Set<PartitionLine>();
  readonly #count = { silent: 0, refused: 0 };
  #repairers: ReadonlyMap<string, TradeRepairer> = new Map();
  #tickers: readonly TickerWatch[] = [];

  constructor(options: KlineDeskOptions) {
    this.#options = options;
  }

  init(context: ActorContext<DeskMessage>): undefined {
    const { repairers, tickers, healers, clockSyncMs } = this.#options;
    this.#repairers = repairers?.() ?? new Map();
    this.#tickers = tickers();
    for (const healer of healers) healer.begin();
    context.timers.every('tick', TICK_MS, { kind: 'tick' });
    context.timers.every('sync-clocks', clockSyncMs, { kind: 'sync-clocks' });
    context.self.tell({ kind: 'sync-clocks' });
  }

  receive(_state: undefined, message: DeskMessage, context: ActorContext<DeskMessage>): undefined {
    const { discovery, moves, healers, lines } = this.#options;
    const fail = (error: Error) => context.fail(error);
    if (message.kind === 'sync-clocks') {
      this.#syncClocks().catch(fail);
      return;
    }
    discovery.look();
    moves.look();
    for (const healer of healers) healer.look();
    for (const staffed of lines()) {
      staffed.line.noteDepth();
      this.#serve(staffed).catch(fail);
    }
  }

  end(): void {
    for (const healer of this.#options.healers) void healer.end();
    for (const repairer of this.#repairers.values()) repairer.close();
    for (const watch of this.#tickers) watch.close();
  }

  summary() {
    const { symbols, healers, discovery, moves } = this.#options;
    const all = symbols.all();
    return {
      symbols: all.length,
      placed: all.filter(({ isPlaced }) => isPlaced).length,
      ...this.#count,
      repairs: Object.fromEntries([...this.#repairers].map(([venue, { stats }]) => [venue, stats])),
      healing: healingOf(healers),
      ...discovery.stats,
      ...moves.stats,
    };
  }

  async #syncClocks(): Promise<void> {
    const { symbols, times, lines } = this.#options;
    await Promise.all(symbols.venues.map((venue) => times.measure(venue)));
    await Promise.all(lines().flatMap((staffed) => this.#tellClocks(staffed)));
  }

  /** A worker that is slow delays nobody else. */
  async #serve(staffed: StaffedLine): Promise<void> {
    if (this.#busy.has(staffed.line)) return;
    this.#busy.add(staffed.line);
    try {
      await this.#placeWaiting(staffed);
      await this.#mend(staffed);
      await this.#collect(staffed);
    } finally {
      this.#busy.delete(staffed.line);
    }
  }

  /** A worker that does not answer is the watchdog's and the supervisor's business: here it is counted, and asked again. */
  async #ask({ line }: StaffedLine, command: PartitionCommand, withinMs?: number): Promise<boolean> {
    try {
      const reply = await line.ask(command, withinMs);
      if (reply.kind === 'refused') this.#count.refused++;
      return reply.kind !== 'refused';
    } catch {
      this.#count.silent++;
      return false;
    }
  }

  #tellClocks(staffed: StaffedLine): Promise<boolean>[] {
    const { symbols, times } = this.#options;
    return clocksOf(symbols.venues, times, staffed.graceMs).map((command) => this.#ask(staffed, command));
  }

  async #placeWaiting(staffed: StaffedLine): Promise<void> {
    const { symbols, moves, statuses } = this.#options;
    const unplaced = symbols.ofWorker(staffed.line.worker).filter((one) => !one.isPlaced && !moves.isMoving(one.index));
    if (unplaced.length === 0) return;
    const waiting = unplaced.filter(fedBy(statuses()));
    if (waiting.length === 0) return;
    await Promise.all([...this.#tellClocks(staffed), ...waiting.map((symbol) => this.#place(staffed, symbol))]);
  }

  async #place(staffed: StaffedLine, symbol: KlineSymbol): Promise<void> {
    const { symbols, live, times, recoveries, discovery, ackTimeoutMs } = this.#options;
    const { index, venue, dense } = symbol;
    const alive = live.tail(venue, symbol.symbol, staffed.intervals);
    const recovery = alive.length > 0 ? undefined : recoveries.get(venue);
    const recovered = recovery === undefined ? null : await recovery.of(symbol.symbol, index);
    if (recovered === undefined) return;
    const sinceUs = symbol.sinceUs ?? recovered?.sinceUs ?? times.nowUs(venue) + ARRIVAL_US;
    const stored = recovered ?? (alive.length === 0 ? undefined : progressOf(alive));
    symbol.sinceUs = sinceUs;
    const { worker } = staffed.line;
    const start: PartitionCommand = {
      ...{ kind: 'add-symbol', symbol: index, venue: symbols.venues.indexOf(venue), dense, sinceUs },
      ...(stored !== undefined && { stored: storedOf(stored) }),
    };
    const isTaken = await this.#ask(staffed, start, symbol.isDiscovered ? ackTimeoutMs() : undefined);
    // A worker that was slow to take it watches it from later on than was told, and never later than this.
    const arrivedUs = times.nowUs(venue) + ARRIVAL_US;
    if (stored === undefined && arrivedUs > sinceUs) symbol.sinceUs = arrivedUs;
    // Meanwhile it may have been given to another worker, or have left.
    if (symbol.worker === worker && symbols.at(index) === symbol) symbol.isPlaced = isTaken;
    discovery.answered(symbol, worker, isTaken);
  }

  async #collect({ line }: StaffedLine): Promise<void> {
    const { live, symbols } = this.#options;
    try {
      const { snapshot, bars } = await line.snapshot('live');
      live.take(symbols.named(bars));
      await line.ask({ kind: 'commit', reader: 'live', snapshot });
    } catch {
      this.#count.silent++;
    }
  }

  /** Troubles are asked for whole: what a repair could not do is wanted again. */
  async #mend({ line }: StaffedLine): Promise<void> {
    try {
      const reply = await line.ask({ kind: 'troubles', since: NEVER });
      if (reply.kind !== 'troubles') return;
      line.noteTroubles(reply.troubles);
      for (const healer of this.#options.healers) healer.note(reply.troubles);
      for (const [venue, repairer] of this.#repairers) repairer.want(this.#troublesOf(venue, reply.troubles));
    } catch {
      this.#count.silent++;
    }
  }

  /** While a stream is down its doubts go on: to look for trades then would only have to be done again. */
  #troublesOf(venue: string, troubles: readonly Trouble[]): Trouble[] {
    const { symbols, statuses } = this.#options;
    const isFed = fedBy(statuses());
    return troubles.flatMap((trouble) => {
      const symbol = symbols.at(trouble.symbol);
      if (symbol?.venue !== venue) return [];
      const isOpen = trouble.suspectFromUs !== undefined && !isFed(symbol);
      return [isOpen ? { ...trouble, suspectFromUs: undefined } : trouble];
    });
  }
}

/** What a worker must know of the venues' clocks before it can close a bar. */
export function clocksOf(venues: readonly string[], times: VenueTimes, graceMs: number): PartitionCommand[] {
  return venues.map((venue, index) => ({
    ...{ kind: 'set-clock', venue: index, offsetUs: times.offsetUs(venue), graceUs: times.graceUs(venue, graceMs) },
  }));
}

/** Where a symbol goes on: what is below the next sequence is in these bars, what may be missing is later than the newest. */
function progressOf(bars: readonly Bar[]): Stored {
  const newest = bars.reduce((a, b) => (b.nextSequence > a.nextSequence ? b : a));
  const latest = bars.reduce((a, b) => (b.openUs > a.openUs ? b : a));
  return { bars, nextSequence: newest.nextSequence, lastUs: latest.openUs };
}

function storedOf({ bars, nextSequence, lastUs }: Stored): Stored {
  return { bars, nextSequence, lastUs };
}
