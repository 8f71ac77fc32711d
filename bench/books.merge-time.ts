import { BookWriter, bookLayout, createBooks, SummaryReader } from '../src/actors/merger/book-memory.ts';
import { MergeKernel } from '../src/kernels/merge.ts';
import { writeBook } from '../src/kernels/oracle/merge-oracle.ts';
import { bookBytes } from '../src/protocols/book-layout.ts';
import type { BookPlan } from '../src/protocols/book-share.ts';
import { MERGER_TURN } from '../src/protocols/merge-layout.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';
import { nanosecondsPer } from './harness.ts';

/** A book of a venue that overlaps with those of the others, as an exchange thread would write it. */
export function someBook(depth: number, venue: number): Uint8Array {
  const record = new Uint8Array(bookBytes(depth));
  const side = (first: number, step: number) =>
    Array.from({ length: depth }, (_, level): [bigint, bigint] => [
      BigInt((first + step * level) * 1e8 + venue * 1e6),
      BigInt(1e8 + level),
    ]);
  const book = { bids: side(100_000, -1), asks: side(100_002, 1) };
  writeBook(new DataView(record.buffer), 0, depth, book, BigInt(Math.round(nowNs())));
  return record;
}

/** Time of one merge with its publication in the output slot, on this machine, now. */
export function nanosecondsPerMerge(venues: number, depth: number): number {
  const names = Array.from({ length: venues }, (_, venue) => `venue${venue}`);
  const plan: BookPlan = { venues: names, symbols: ['A-B'], depth };
  const books = createBooks(plan, { buffer: new SharedArrayBuffer(256), at: 0 }, true);
  const kernel = new MergeKernel(books.memory, bookLayout(plan), nowNs);
  const reader = new SummaryReader(books);
  const writers = names.map((name, venue) => ({
    writer: new BookWriter(books, name, MERGER_TURN),
    book: someBook(depth, venue),
  }));
  const untilMs = nowNs() / 1e6 + 3_600_000;
  const publish = (count: number): number => {
    for (let at = 0; at < count; at++) {
      const { writer, book } = writers[at % venues]!;
      writer.publish(0, book, untilMs);
    }
    return count;
  };
  const publishAndMerge = (count: number): number => {
    let merged = 0;
    for (let at = 0; at < count; at++) {
      const { writer, book } = writers[at % venues]!;
      writer.publish(0, book, untilMs);
      merged += kernel.sweep();
    }
    reader.drain(() => {});
    return merged;
  };
  return Math.max(0, nanosecondsPer(20_000, publishAndMerge) - nanosecondsPer(20_000, publish));
}
