// The main thread's work for the partition workers: gives them their symbols once trades of these come, tells them the
// venues' time, and collects the bars that changed. What the worker of a new life has lost, it gets again from here.
import type { GapHealer } from '../actors/kline-backfill/gap-healer.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import type { Bar } from '../protocols/kline.ts';
import type { PartitionCommand, SymbolStart, Trouble } from '../protocols/partition.ts';
import type { Behaviour } from '../supervision/actor.ts';
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

interface State {
  readonly silent: number;
  readonly refused: number;
}

const TICK_MS = 200;
/** A version that no worker has told. */
const NEVER = (1n << 64n) - 1n;
/**
 * Trades that reach the worker before the symbol does are not counted, so the symbol counts as watched from this much
 * later on; a worker that takes longer counts from when it had the symbol.
 */
const ARRIVAL_US = 2_000_000n;

export function klineDesk(options: KlineDeskOptions): Behaviour<DeskMessage, State> {
  const { lines, symbols, live, times, recoveries, healers, discovery, moves } = options;
  let repairers: ReadonlyMap<string, TradeRepairer> = new Map();
  let tickers: readonly TickerWatch[] = [];
  const busy = new Set<PartitionLine>();
  const count = { silent: 0, refused: 0 };

  /** A worker that does not answer is the watchdog's and the supervisor's business: here it is counted, and asked again. */
  const ask = async ({ line }: StaffedLine, command: PartitionCommand, withinMs?: number): Promise<boolean> => {
    try {
      const reply = await line.ask(command, withinMs);
      if (reply.kind === 'refused') count.refused++;
      return reply.kind !== 'refused';
    } catch {
      count.silent++;
      return false;
    }
  };

  const tellClocks = (staffed: StaffedLine) =>
    clocksOf(symbols.venues, times, staffed.graceMs).map((command) => ask(staffed, command));

  const place = async (staffed: StaffedLine, symbol: KlineSymbol): Promise<void> => {
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
    const isTaken = await ask(staffed, start, symbol.isDiscovered ? options.ackTimeoutMs() : undefined);
    // A worker that was slow to take it watches it from later on than was told, and never later than this.
    const arrivedUs = times.nowUs(venue) + ARRIVAL_US;
    if (stored === undefined && arrivedUs > sinceUs) symbol.sinceUs = arrivedUs;
    // Meanwhile it may have been given to another worker, or have left.
    if (symbol.worker === worker && symbols.at(index) === symbol) symbol.isPlaced = isTaken;
    discovery.answered(symbol, worker, isTaken);
  };

  const placeWaiting = async (staffed: StaffedLine): Promise<void> => {
    const unplaced = symbols.ofWorker(staffed.line.worker).filter((one) => !one.isPlaced && !moves.isMoving(one.index));
    if (unplaced.length === 0) return;
    const waiting = unplaced.filter(fedBy(options.statuses()));
    if (waiting.length === 0) return;
    await Promise.all([...tellClocks(staffed), ...waiting.map((symbol) => place(staffed, symbol))]);
  };

  const collect = async ({ line }: StaffedLine): Promise<void> => {
    try {
      const { snapshot, bars } = await line.snapshot('live');
      live.take(symbols.named(bars));
      await line.ask({ kind: 'commit', reader: 'live', snapshot });
    } catch {
      count.silent++;
    }
  };

  /** Troubles are asked for whole: what a repair could not do is wanted again. */
  const mend = async ({ line }: StaffedLine): Promise<void> => {
    try {
      const reply = await line.ask({ kind: 'troubles', since: NEVER });
      if (reply.kind !== 'troubles') return;
      line.noteTroubles(reply.troubles);
      for (const healer of healers) healer.note(reply.troubles);
      for (const [venue, repairer] of repairers) repairer.want(troublesOf(venue, reply.troubles));
    } catch {
      count.silent++;
    }
  };

  /** While a stream is down its doubts go on: to look for trades then would only have to be done again. */
  const troublesOf = (venue: string, troubles: readonly Trouble[]): Trouble[] => {
    const isFed = fedBy(options.statuses());
    return troubles.flatMap((trouble) => {
      const symbol = symbols.at(trouble.symbol);
      if (symbol?.venue !== venue) return [];
      const isOpen = trouble.suspectFromUs !== undefined && !isFed(symbol);
      return [isOpen ? { ...trouble, suspectFromUs: undefined } : trouble];
    });
  };

  const syncClocks = async (): Promise<void> => {
    await Promise.all(symbols.venues.map((venue) => times.measure(venue)));
    await Promise.all(lines().flatMap(tellClocks));
  };

  /** A worker that is slow delays nobody else. */
  const serve = async (staffed: StaffedLine): Promise<void> => {
    if (busy.has(staffed.line)) return;
    busy.add(staffed.line);
    try {
      await placeWaiting(staffed);
      await mend(staffed);
      await collect(staffed);
    } finally {
      busy.delete(staffed.line);
    }
  };

  return {
    init(context) {
      repairers = options.repairers?.() ?? new Map();
      tickers = options.tickers();
      for (const healer of healers) healer.begin();
      context.timers.every('tick', TICK_MS, { kind: 'tick' });
      context.timers.every('sync-clocks', options.clockSyncMs, { kind: 'sync-clocks' });
      context.self.tell({ kind: 'sync-clocks' });
      return { ...count };
    },
    receive(_state, message, context) {
      if (message.kind === 'sync-clocks') syncClocks().catch((error: Error) => context.fail(error));
      else {
        discovery.look();
        moves.look();
        for (const healer of healers) healer.look();
        for (const staffed of lines()) {
          staffed.line.noteDepth();
          serve(staffed).catch((error: Error) => context.fail(error));
        }
      }
      return { ...count };
    },
    end() {
      for (const healer of healers) void healer.end();
      for (const repairer of repairers.values()) repairer.close();
      for (const watch of tickers) watch.close();
    },
    summary: (state) => {
      const all = symbols.all();
      return {
        symbols: all.length,
        placed: all.filter(({ isPlaced }) => isPlaced).length,
        ...state,
        repairs: Object.fromEntries([...repairers].map(([venue, { stats }]) => [venue, stats])),
        healing: healingOf(healers),
        ...discovery.stats,
        ...moves.stats,
      };
    },
  };
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
