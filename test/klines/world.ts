import { setTimeout as sleep } from 'node:timers/promises';
import { type BarRow, barFromRow, SELECT_BAR } from '../../src/actors/kline-persistence/rows.ts';
import { INTERVALS, type Interval } from '../../src/protocols/kline.ts';
import type { Simulator, SimulatorOptions } from '../../src/venues/simulation/simulator.ts';
import { Journal } from './journal.ts';
import { KlinePlace } from './place.ts';
import { ProgramProcess } from './program-process.ts';
import { differences, type Figures, TruthSeries } from './truth.ts';

/** What is wrong with the bars: all empty when nothing is. */
export interface Verdict {
  /** Closed windows that are not in the table, and bars there that differ from the venue's own. */
  readonly missing: readonly string[];
  readonly wrong: readonly string[];
  /** Closed bars that are still gaps. */
  readonly gaps: readonly string[];
  /** Revisions that fell and bars that opened again, as heard over gRPC or read from the table. */
  readonly backwards: readonly string[];
  /** States that claimed to be whole, were not, and were heard later than is excused. */
  readonly unmarked: readonly string[];
}
export const FLAWLESS: Verdict = { missing: [], wrong: [], gaps: [], backwards: [], unmarked: [] };

interface Row extends Figures {
  readonly venue: string;
  readonly symbol: string;
  readonly interval: Interval;
  readonly openMs: number;
  readonly closeMs: number;
  readonly closed: boolean;
  readonly quality: string;
  readonly revision: number;
}

export interface WorldOptions {
  readonly topology: string;
  readonly simulator: SimulatorOptions;
}

const SETTLE_MS = 90_000;
const POLL_MS = 400;
const SAMPLE = 6;

/** A database, venues, a program to kill, and the one who has heard everything. */
export class KlineWorld {
  readonly program: ProgramProcess;
  readonly journal: Journal;
  readonly #place: KlinePlace;
  readonly #revisions = new Map<string, number>();
  readonly #fallen: string[] = [];
  #polling: Promise<void> | undefined;
  #isOver = false;

  readonly #venues: readonly string[];

  private constructor(place: KlinePlace, options: WorldOptions) {
    this.#place = place;
    this.journal = new Journal((venue) => place.simulator.truth.nowMs(venue));
    const { topology } = options;
    const speed = options.simulator.speed ?? 1;
    this.#venues = options.simulator.venues?.map(({ facts }) => facts.id) ?? ['binance', 'bitstamp'];
    this.program = new ProgramProcess({ topology, speed, ...place.ordersFor(this.#venues) });
  }

  static async open(options: WorldOptions): Promise<KlineWorld> {
    const world = new KlineWorld(await KlinePlace.open(options.simulator), options);
    await world.start();
    world.#polling = world.#pollTable();
    return world;
  }

  async start(): Promise<void> {
    this.journal.follow(await this.program.start());
  }

  async close(): Promise<void> {
    this.#isOver = true;
    await this.#polling;
    this.journal.end();
    await this.program.kill();
    await this.#place.close();
  }

  get simulator(): Simulator {
    return this.#place.simulator;
  }

  async killPostgres(): Promise<void> {
    const server = this.#place.postgres.process;
    server.signal('SIGQUIT');
    await server.whenEnded();
  }

  restartPostgres(): Promise<void> {
    return this.#place.restartPostgres();
  }

  async rows(): Promise<Row[]> {
    const found = await this.#place.query<BarRow>(`SELECT ${SELECT_BAR} FROM klines ORDER BY klines.open_time`);
    return found.map((row) => {
      const { venue, symbol, bar } = barFromRow(row);
      return { ...bar, venue, symbol, openMs: Number(bar.openUs / 1000n), closeMs: Number(bar.closeUs / 1000n) };
    });
  }

  /** The table seen by an onlooker: no revision in it may ever fall. */
  async #pollTable(): Promise<void> {
    while (!this.#isOver) {
      const rows = await this.#place
        .query<{ key: string; revision: number }>(
          `SELECT concat_ws(' ', venue, symbol, "interval", extract(epoch from open_time)) AS key, revision FROM klines`,
        )
        .catch(() => []);
      for (const { key, revision } of rows) {
        const before = this.#revisions.get(key) ?? 0;
        if (revision < before) this.#fallen.push(`table ${key}: ${before} -> ${revision}`);
        this.#revisions.set(key, Math.max(before, revision));
      }
      await sleep(POLL_MS);
    }
  }

  /**
   * Waits until every window that has ended by now is stored and as the venue has it, and none is a gap any more. A trade
   * that is later than the grace amends its bar, so a bar that has just closed may still grow.
   */
  async judge(symbols: readonly string[], intervals: readonly Interval[], excusedMs: number): Promise<Verdict> {
    const untilMs = new Map(this.#venues.map((venue) => [venue, this.simulator.truth.nowMs(venue)]));
    const deadline = performance.now() + SETTLE_MS;
    for (;;) {
      const rows = await this.rows().catch(() => []);
      const verdict = this.#verdictOf(rows, symbols, intervals, untilMs, excusedMs);
      const isSettled = verdict.missing.length + verdict.gaps.length + verdict.wrong.length === 0;
      if (isSettled || performance.now() > deadline) return shortened(verdict);
      await sleep(POLL_MS);
    }
  }

  #verdictOf(
    rows: readonly Row[],
    symbols: readonly string[],
    intervals: readonly Interval[],
    untilMs: ReadonlyMap<string, number>,
    excusedMs: number,
  ): Verdict {
    const missing: string[] = [];
    const wrong: string[] = [];
    const gaps: string[] = [];
    const unmarked: string[] = [];
    const closed = new Map<string, Row[]>();
    for (const row of rows) {
      const key = `${row.venue}:${row.symbol} ${row.interval}`;
      if (row.closed) closed.set(key, [...(closed.get(key) ?? []), row]);
    }
    for (const name of symbols) {
      const [venue, symbol] = name.split(':') as [string, string];
      // A venue that has just begun to trade has nothing that proves where its first windows begin.
      const watchedMs = closed.get(`${name} 1s`)?.find(({ trades }) => trades > 0n)?.openMs ?? 0;
      for (const interval of intervals) {
        const series = closed.get(`${name} ${interval}`) ?? [];
        // A window that opened before anyone watched may be a gap besides; no venue here has its beginning.
        const isWhole = ({ quality, openMs }: Row) =>
          quality !== 'partial-first' && (quality !== 'gap' || openMs >= watchedMs);
        const whole = series.filter(isWhole);
        const lengthMs = INTERVALS[interval].lengthUs / 1000;
        const firstMs = whole[0]?.openMs ?? (series.at(-1)?.openMs ?? Number.NEGATIVE_INFINITY) + lengthMs;
        const lastMs = untilMs.get(venue)!;
        if (series.length === 0 && lengthMs === 1000) missing.push(`${name} ${interval}: nothing stored`);
        const known = new Map(whole.map((row) => [row.openMs, row]));
        for (let openMs = firstMs; openMs + lengthMs <= lastMs && Number.isFinite(openMs); openMs += lengthMs) {
          if (!known.has(openMs)) missing.push(`${name} ${interval} ${openMs}`);
        }
        if (whole.length === 0) continue;
        const truth = new TruthSeries(this.simulator, venue, symbol, interval, firstMs);
        for (const row of whole.filter(({ closeMs }) => closeMs < lastMs)) {
          const what = `${name} ${interval} ${row.openMs} ${row.quality} ${row.revision}`;
          const theirs = truth.at(row.openMs);
          const differs = theirs === undefined ? ['no such bar'] : differences(row, theirs);
          if (row.quality === 'gap') gaps.push(what);
          else if (differs.length > 0) wrong.push(`${what}: ${differs.join(', ')}`);
        }
        for (const state of this.journal.statesOf(venue, symbol, interval)) {
          const ageMs = state.atMs - state.closeMs;
          if (state.quality === 'gap' || state.quality === 'partial-first' || ageMs <= excusedMs) continue;
          const theirs = truth.at(state.openMs);
          const differs = theirs === undefined ? [] : differences(state, theirs);
          if (differs.length > 0) unmarked.push(`${state.key} ${state.quality} ${state.revision} after ${ageMs} ms`);
        }
      }
    }
    return { missing, wrong, gaps, unmarked, backwards: [...this.journal.complaints, ...this.#fallen] };
  }
}

/** A failure shows some of each, and how many there are. */
function shortened(verdict: Verdict): Verdict {
  const some = (all: readonly string[]) =>
    all.length <= SAMPLE ? all : [...all.slice(0, SAMPLE), `and ${all.length - SAMPLE} more`];
  return {
    missing: some(verdict.missing),
    wrong: some(verdict.wrong),
    gaps: some(verdict.gaps),
    backwards: some(verdict.backwards),
    unmarked: some(verdict.unmarked),
  };
}
