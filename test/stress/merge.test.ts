// Venues' threads write books while the merger merges: every summary is the merge of books that were there, whole.
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { createBooks, SummaryReader } from '../../src/actors/merger/book-memory.ts';
import type { MergerArgs } from '../../src/actors/merger/duty.ts';
import { mergeOracle, readSummary } from '../../src/kernels/oracle/merge-oracle.ts';
import { testSeed } from '../../src/kernels/oracle/random.ts';
import { SUMMARY, SUMMARY_VENUE, SUMMARY_VENUE_BYTES, SUMMARY_VENUE_IN } from '../../src/protocols/book-layout.ts';
import type { BookShare } from '../../src/protocols/book-share.ts';
import { pinnedActor } from '../../src/supervision/remote/pinned-actor.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import { bookOf, type WriterArgs } from './merge-books.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const SUMMARIES = LONG ? 1_000_000 : 3_000;
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

describe(`a merger beside venues that write all the time (TAPEWORKS_SEED=${seed})`, () => {
  it.each(['spin', 'park'] as const)(
    'that is idle by "%s" merges only whole books, none older than before',
    {
      timeout: 2 * PATIENCE_MS,
    },
    async (kind) => {
      let books: BookShare | undefined;
      const spec = pinnedActor({
        id: 'merger',
        module: new URL('../../src/actors/merger/duty.js', import.meta.url),
        exportName: 'makeMerger',
        prepare: () => ({ args: { books: books!, isSpinning: kind === 'spin' } satisfies MergerArgs }),
        idle: kind === 'spin' ? { kind } : { kind, parkMs: 20 },
        onWarning: () => {},
      });
      books = createBooks(PLAN, { buffer: spec.thread.memory.buffer, at: spec.thread.doorbellAt });
      const system = new ActorSystem({ children: [spec], strategy: 'one_for_one' });
      await system.start();
      const reader = new SummaryReader(books);
      const judge = new Judge(reader.memory.buffer);
      const stop = new Int32Array(new SharedArrayBuffer(4));
      const failures: Error[] = [];
      const last: number[] = [];
      const writers = PLAN.venues.map((_, venue) => {
        const workerData: WriterArgs = { books: books!, venue, seed, stop };
        const writer = new Worker(new URL('./merge-writer.js', import.meta.url), { workerData });
        writer.on('error', (error: Error) => failures.push(error));
        writer.on('message', (generation: number) => {
          last[venue] = generation;
        });
        return writer;
      });
      const isDone = () =>
        judge.latest.every((venues) => venues.every((generation, venue) => generation === last[venue])) &&
        judge.isWhole.every(Boolean);
      const deadline = performance.now() + PATIENCE_MS;
      try {
        while (!isDone() && failures.length + judge.complaints.length === 0 && performance.now() < deadline) {
          reader.drain(judge.judge);
          if (judge.judged >= SUMMARIES) Atomics.store(stop, 0, 1);
          await new Promise((resolve) => setImmediate(resolve));
        }
      } finally {
        await Promise.all(writers.map((writer) => writer.terminate()));
        await system.stop();
      }
      expect(failures).toEqual([]);
      expect(judge.complaints).toEqual([]);
      expect(isDone()).toBe(true);
    },
  );
});
