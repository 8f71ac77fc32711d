import { describe, expect, it } from 'vitest';
import { writeBook } from '../../kernels/oracle/merge-oracle.ts';
import { bookBytes } from '../../protocols/book-layout.ts';
import type { DutyContext } from '../../supervision/threads/duty-cycle.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { BookWriter, createBooks } from './book-memory.ts';
import { makeMerger } from './duty.ts';

const DEPTH = 2;
const HELPER = 2;

describe('what the merger has done', () => {
  it('is also what others merged for it while it slept', async () => {
    const plan = { venues: ['a'], symbols: ['A-B'], depth: DEPTH };
    const books = createBooks(plan, { buffer: new SharedArrayBuffer(256), at: 0 }, false);
    const merger = await makeMerger({ args: { books } } as DutyContext);
    const writer = new BookWriter(books, 'a', HELPER);
    const record = new Uint8Array(bookBytes(DEPTH));
    const book = { bids: [[1n, 1n] as const], asks: [[2n, 1n] as const] };
    writeBook(new DataView(record.buffer), 0, DEPTH, book, BigInt(Math.round(nowNs())));
    for (let frame = 0; frame < 3; frame++) {
      writer.publish(0, record, nowNs() / 1e6 + 1e6);
      writer.finish();
    }
    expect([merger.doWork(), merger.doWork()]).toEqual([3, 0]);
  });
});
