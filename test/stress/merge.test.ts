// Venues' threads write books while the merger merges: every summary is the merge of books that were there, whole.
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createBooks, endTurn, SummaryReader } from '../../src/actors/merger/book-memory.ts';
import type { MergerArgs } from '../../src/actors/merger/duty.ts';
import { mergeOracle, readSummary } from '../../src/kernels/oracle/merge-oracle.ts';
import { testSeed } from '../../src/kernels/oracle/random.ts';
import { SUMMARY, SUMMARY_VENUE, SUMMARY_VENUE_BYTES, SUMMARY_VENUE_IN } from '../../src/protocols/book-layout.ts';
import type { BookShare } from '../../src/protocols/book-share.ts';
import { pinnedActor } from '../../src/supervision/remote/pinned-actor.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import { bookOf, turnOf, type WriterArgs } from './merge-books.ts';
import { Random } from './random.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const SUMMARIES = LONG ? 1_000_000 : 3_000;
/** Threads that are killed while they merge, and how many are killed at most for that. */
const DEATHS = LONG ? 100 : 3;
const KILLS_MAX = 100 * DEATHS;
const PLAN = { venues: ['a', 'b', 'c'], symbols: ['A-X', 'B-X', 'C-X'], depth: 10 };
const PATIENCE_MS = LONG ? 1_200_000 : 60_000;
const seed = testSeed();

/** Holds each summary against the books that it says it is made of. */
class Judge {
  readonly complaints: string[] = [];
  readonly latest = PLAN.symbols.map(() => PLAN.venues.map(() => 0));
  readonly isWhole = PLAN.symbols.map(() => false);
  judged = 0;
  readonly #view: DataView;

  constructor(memory: SharedArrayBuffer) {
    this.#view = new DataView(memory);
  }

  readonly judge = (symbol: number, record: number): void => {
    this.judged++;
    const { venues, depth } = PLAN;
    const generations = venues.map((_, venue) => {
      const row = record + SUMMARY.venues + venue * SUMMARY_VENUE_BYTES;
      const isIn = (this.#view.getUint32(row + SUMMARY_VENUE.flags, true) & SUMMARY_VENUE_IN) !== 0;
      return isIn ? Number(this.#view.getBigUint64(row + SUMMARY_VENUE.sequence, true)) : undefined;
    });
    const books = generations.map((generation, venue) =>
      generation === undefined ? undefined : bookOf(seed, venue, symbol, generation, depth),
    );
    const published = readSummary(this.#view, record, venues.length, depth);
    const expected = mergeOracle(books, depth);
    const texts = [published, expected].map(({ spread, bids, asks }) => [spread, ...bids, ...asks].join(' '));
    if (texts[0] !== texts[1]) this.#complain(`symbol ${symbol} of ${generations}: ${texts[0]} is not ${texts[1]}`);
    for (const [venue, generation] of generations.entries()) {
      if (generation === undefined) continue;
      const before = this.latest[symbol]![venue]!;
      if (generation < before) this.#complain(`symbol ${symbol}: venue ${venue} went from ${before} to ${generation}`);
      this.latest[symbol]![venue] = generation;
    }
    this.isWhole[symbol] = !generations.includes(undefined);
  };

  #complain(what: string): void {
    if (this.complaints.length < 5) this.complaints.push(what);
  }
}

/** A merger, venues that write beside it, and a judge of what comes out. */
class Stage {
  readonly failures: Error[] = [];
  isOver = false;
  diedInTurn = 0;
  readonly reader: SummaryReader;
  readonly judge: Judge;
  readonly stop = new Int32Array(new SharedArrayBuffer(4));
  readonly #generations = new Int32Array(new SharedArrayBuffer(4 * PLAN.venues.length));
  readonly #times: number;
  readonly #books: BookShare;
  readonly #system: ActorSystem;
  readonly #writers: Worker[] = [];
  readonly #last: number[] = [];

  constructor(kind: 'spin' | 'park', times: number) {
    this.#times = times;
    const isSpinning = kind === 'spin';
    const spec = pinnedActor({
      id: 'merger',
      module: new URL('../../src/actors/merger/duty.js', import.meta.url),
      exportName: 'makeMerger',
      prepare: () => ({ args: { books: this.#books } satisfies MergerArgs }),
      idle: kind === 'spin' ? { kind } : { kind, parkMs: 20 },
      onWarning: () => {},
    });
    this.#books = createBooks(PLAN, { buffer: spec.thread.memory.buffer, at: spec.thread.doorbellAt }, isSpinning);
    this.#system = new ActorSystem({ children: [spec], strategy: 'one_for_one' });
    this.reader = new SummaryReader(this.#books);
    this.judge = new Judge(this.reader.memory.buffer);
  }

  async start(): Promise<void> {
    await this.#system.start();
    for (let venue = 0; venue < PLAN.venues.length; venue++) this.#write(venue);
  }

  #write(venue: number): void {
    const shared = { books: this.#books, stop: this.stop, generations: this.#generations };
    const workerData: WriterArgs = { ...shared, venue, seed, times: this.#times };
    const writer = new Worker(new URL('./merge-writer.js', import.meta.url), { workerData });
    writer.on('error', (error: Error) => this.failures.push(error));
    writer.on('message', (generation: number) => {
      this.#last[venue] = generation;
    });
    this.#writers[venue] = writer;
  }

  /** Kills a venue's thread wherever it is, and begins another life of it. */
  async kill(venue: number): Promise<void> {
    await this.#writers[venue]!.terminate();
    if (endTurn(this.#books, turnOf(venue))) this.diedInTurn++;
    if (this.#last[venue] === undefined) this.#write(venue);
  }

  /** Everything that the venues published last has come out. */
  get isDone(): boolean {
    const { latest, isWhole } = this.judge;
    return latest.every((venues) => venues.every((at, venue) => at === this.#last[venue])) && isWhole.every(Boolean);
  }

  /** Judges what comes until all is out that was to come, or something is wrong. */
  async watch(isEnough: () => boolean): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.isDone && this.failures.length + this.judge.complaints.length === 0 && performance.now() < deadline) {
      this.reader.drain(this.judge.judge);
      if (isEnough()) Atomics.store(this.stop, 0, 1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.isOver = true;
  }

  async end(): Promise<void> {
    await Promise.all(this.#writers.map((writer) => writer.terminate()));
    await this.#system.stop();
  }
}

describe(`a merger beside venues that write all the time (TAPEWORKS_SEED=${seed})`, () => {
  it.each(['spin', 'park'] as const)(
    'that is idle by "%s" merges only whole books, none older than before, and so do those that help it',
    { timeout: 2 * PATIENCE_MS },
    async (kind) => {
      const stage = new Stage(kind, 1);
      const { judge, reader } = stage;
      try {
        await stage.start();
        await stage.watch(() => judge.judged >= SUMMARIES);
      } finally {
        await stage.end();
      }
      expect(stage.failures).toEqual([]);
      expect(judge.complaints).toEqual([]);
      expect(stage.isDone).toBe(true);
      expect(reader.helped).toBeGreaterThan(0);
      expect(reader.helped).toBeLessThan(reader.merges);
    },
  );

  it('goes on with everything that a thread had in hand that died in its turn', {
    timeout: 2 * PATIENCE_MS,
  }, async () => {
    const stage = new Stage('park', 500);
    const random = new Random(seed);
    let kills = 0;
    const isEnough = () => stage.diedInTurn >= DEATHS || kills >= KILLS_MAX;
    const killing = async () => {
      while (!isEnough() && !stage.isOver) {
        // Each life gets to do something.
        const enough = stage.judge.judged + 20;
        while (stage.judge.judged < enough && !stage.isOver) await new Promise((resolve) => setImmediate(resolve));
        await stage.kill(random.next(PLAN.venues.length));
        kills++;
      }
    };
    try {
      await stage.start();
      await Promise.all([stage.watch(isEnough), killing()]);
    } finally {
      await stage.end();
    }
    expect(stage.failures).toEqual([]);
    expect(stage.judge.complaints).toEqual([]);
    expect({ diedInTurn: stage.diedInTurn, isDone: stage.isDone }).toEqual({ diedInTurn: DEATHS, isDone: true });
  });
});
