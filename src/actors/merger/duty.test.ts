import { describe, expect, it } from 'vitest';
import { writeBook } from '../../kernels/oracle/merge-oracle.ts';
import { bookBytes } from '../../protocols/book-layout.ts';
import { Doorbell } from '../../supervision/threads/doorbell.ts';
import type { DutyContext } from '../../supervision/threads/duty-cycle.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { BookWriter, createBooks, SummaryReader } from './book-memory.ts';
import { makeMerger } from './duty.ts';

const DEPTH = 2;
const HELPER = 2;

function recordOf(): Uint8Array {
  const record = new Uint8Array(bookBytes(DEPTH));
  const book = { bids: [[1n, 1n] as const], asks: [[2n, 1n] as const] };
  writeBook(new DataView(record.buffer), 0, DEPTH, book, BigInt(Math.round(nowNs())));
  return record;
}

describe('what the merger has done', () => {
  it('is also what others merged for it while it slept', async () => {
    const plan = { venues: ['a'], symbols: ['A-B'], depth: DEPTH };
    const books = createBooks(plan, { buffer: new SharedArrayBuffer(256), at: 0 }, false);
    const merger = await makeMerger({ args: { books } } as DutyContext);
    const writer = new BookWriter(books, 'a', HELPER);
    const record = recordOf();
    for (let frame = 0; frame < 3; frame++) {
      writer.publish(0, record, nowNs() / 1e6 + 1e6);
      writer.finish();
    }
    expect([merger.doWork(), merger.doWork()]).toEqual([3, 0]);
  });
});

describe('a book that is left out', () => {
  it('leaves the summary at once: the merger is called, however lately it looked for books whose time is over', async () => {
    const plan = { venues: ['a'], symbols: ['A-B', 'C-D'], depth: DEPTH };
    const words = new SharedMemory(new SharedArrayBuffer(256));
    const books = createBooks(plan, { buffer: words.buffer, at: 0 }, false);
    const merger = await makeMerger({ args: { books } } as DutyContext);
    const writer = new BookWriter(books, 'a', HELPER);
    const reader = new SummaryReader(books);
    const doorbell = new Doorbell(words, 0);
    for (const symbol of [0, 1]) {
      writer.publish(symbol, recordOf(), nowNs() / 1e6 + 1e6);
      writer.finish();
    }
    expect(merger.doWork()).toBe(2);
    for (const symbol of [0, 1]) {
      doorbell.arm();
      writer.leaveOut(symbol);
      expect(doorbell.wait(0)).toBe('not-equal');
      expect(merger.doWork()).toBe(1);
      const seen: number[] = [];
      reader.drain((one) => seen.push(one));
      expect(seen).toContain(symbol);
      // Out already: nobody is called for it.
      doorbell.arm();
      writer.leaveOut(symbol);
      expect(doorbell.wait(0)).toBe('timed-out');
    }
  });
});
