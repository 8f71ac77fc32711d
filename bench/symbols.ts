// What a symbol costs: the time from publishing one venue's book until its summary is there, with 1 to 1,000 symbols on
// four venues, and the shared memory that each takes. The wake-up's reference is the same with one symbol.
import { cpus } from 'node:os';
import { BookWriter, createBooks, SummaryReader } from '../src/actors/merger/book-memory.ts';
import type { MergerArgs } from '../src/actors/merger/duty.ts';
import type { BookShare } from '../src/protocols/book-share.ts';
import { MERGER_TURN } from '../src/protocols/merge-layout.ts';
import { pinnedActor } from '../src/supervision/remote/pinned-actor.ts';
import { ActorSystem } from '../src/supervision/system.ts';
import type { IdleSpec } from '../src/supervision/threads/idle-strategy.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';
import { someBook } from './books.merge-time.ts';
import { type Bench, quantile } from './harness.ts';

const VENUES = ['a', 'b', 'c', 'd'];
const DEPTH = 10;
const COUNTS = [1, 10, 100, 1000];
const WAKES = 3_000;
const PATIENCE_NS = 1e9;
/** The writers' number among those that merge; the merger's is another. */
const HELPER = MERGER_TURN + 1;

export const bench: Bench = {
  summary: 'wake-up latency and memory a symbol, with 1 to 1,000 symbols on four venues',
  async run(options) {
    const first: Record<string, number> = {};
    for (const count of COUNTS) {
      for (const idle of [{ kind: 'spin' }, { kind: 'park', parkMs: 100 }] as const) {
        const times = await wakeUps(count, idle);
        for (const [name, share] of [
          ['p50', 0.5],
          ['p99', 0.99],
        ] as const) {
          const value = quantile(times, share);
          const key = `${idle.kind}_${name}`;
          first[key] ??= value;
          const beside = count === 1 ? undefined : { value: first[key], name: 'one symbol' };
          options.report(`wake_up_${key}_${count}_symbols`, value, 'us', beside);
        }
      }
      const { byteLength } = createBooks(planOf(count), { buffer: new SharedArrayBuffer(256), at: 0 }, true).memory
        .buffer;
      options.report(`memory_per_symbol_${count}_symbols`, byteLength / count, 'bytes');
    }
  },
};

function planOf(count: number) {
  return { venues: VENUES, symbols: Array.from({ length: count }, (_, at) => `S${at}-USD`), depth: DEPTH };
}

/** Microseconds from publishing a book of some symbol until its summary is there, again and again. */
async function wakeUps(count: number, idle: IdleSpec): Promise<number[]> {
  let books: BookShare | undefined;
  const spec = pinnedActor({
    id: 'merger',
    module: new URL('../src/actors/merger/duty.js', import.meta.url),
    exportName: 'makeMerger',
    prepare: () => {
      const args: MergerArgs = { books: books! };
      return { args };
    },
    idle,
    cpu: cpus().length - 1,
    onWarning: () => {},
  });
  books = createBooks(
    planOf(count),
    { buffer: spec.thread.memory.buffer, at: spec.thread.doorbellAt },
    idle.kind === 'spin',
  );
  const system = new ActorSystem({ children: [spec], strategy: 'one_for_one' });
  await system.start();
  try {
    return measure(books, count);
  } finally {
    await system.stop();
  }
}

function measure(books: BookShare, count: number): number[] {
  const reader = new SummaryReader(books);
  const writers = VENUES.map((venue, index) => ({
    writer: new BookWriter(books, venue, HELPER),
    book: someBook(DEPTH, index),
  }));
  const times: number[] = [];
  let seen = -1;
  const see = (symbol: number) => {
    seen = symbol;
  };
  for (let wake = 0; wake < WAKES; wake++) {
    const { writer, book } = writers[wake % writers.length]!;
    const symbol = (wake * 7919) % count;
    seen = -1;
    const startNs = nowNs();
    writer.publish(symbol, book, startNs / 1e6 + 3_600_000);
    writer.finish();
    while (seen !== symbol && nowNs() - startNs < PATIENCE_NS) reader.drain(see);
    times.push((nowNs() - startNs) / 1000);
    // A merger that sleeps is given the time to fall asleep.
    while (nowNs() - startNs < 50_000);
  }
  return times.slice(WAKES / 10);
}
