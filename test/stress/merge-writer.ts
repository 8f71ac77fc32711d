// One venue's thread in merge.test.ts: publishes books in bursts, sees that they are merged, and now and then takes one out.
import { parentPort, workerData } from 'node:worker_threads';
import { BookWriter } from '../../src/actors/merger/book-memory.ts';
import { writeBook } from '../../src/kernels/oracle/merge-oracle.ts';
import { bookBytes } from '../../src/protocols/book-layout.ts';
import { nowNs } from '../../src/supervision/threads/thread-clock.ts';
import { bookOf, turnOf, type WriterArgs } from './merge-books.ts';
import { Random } from './random.ts';

const HOUR_MS = 3_600_000;

const { books, venue, seed, stop, generations, times } = workerData as WriterArgs;
const { venues, symbols, depth } = books.plan;
const writer = new BookWriter(books, venues[venue]!, turnOf(venue));
const record = new Uint8Array(bookBytes(depth));
const view = new DataView(record.buffer);
const random = new Random(seed + venue);
const untilMs = nowNs() / 1e6 + HOUR_MS;

let isLast = false;
let generation: number;
while (!isLast) {
  // An earlier life of the thread may have published some books of the last generation.
  generation = Atomics.add(generations, venue, 1) + 1;
  // The last books stay, so that the end can be told.
  isLast = Atomics.load(stop, 0) !== 0;
  for (let symbol = 0; symbol < symbols.length; symbol++) {
    writeBook(view, 0, depth, bookOf(seed, venue, symbol, generation, depth), BigInt(generation));
    for (let time = 0; time < times; time++) {
      writer.publish(symbol, record, untilMs);
      writer.finish();
    }
    if (!isLast && random.next(100) === 0) writer.leaveOut(symbol);
  }
  // Few cores have to do for all threads.
  if (random.next(8) === 0) Atomics.wait(stop, 0, 0, 1);
}
parentPort!.postMessage(generation!);
