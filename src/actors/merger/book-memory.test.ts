import { describe, expect, it } from 'vitest';
import { MergeKernel } from '../../kernels/merge.ts';
import { writeBook } from '../../kernels/oracle/merge-oracle.ts';
import { bookBytes } from '../../protocols/book-layout.ts';
import { bookSlotOffset, MERGE_CONTROL, MERGER_TURN } from '../../protocols/merge-layout.ts';
import { DOORBELL_BYTES, Doorbell } from '../../supervision/threads/doorbell.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { admitToSlot, SlotReader } from '../../supervision/threads/slot.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { BookWriter, bookLayout, createBooks, endTurn, SummaryReader } from './book-memory.ts';

const PLAN = { venues: ['a', 'b'], symbols: ['A-X', 'B-X'], depth: 2 };
const HELPER = MERGER_TURN + 1;

/** A merger that runs when it is told to, venues that write, and whoever reads the summaries. */
function stage({ isSpinning }: { isSpinning: boolean }) {
  const bell = new SharedMemory(new SharedArrayBuffer(DOORBELL_BYTES));
  const books = createBooks(PLAN, { buffer: bell.buffer, at: 0 }, isSpinning);
  const layout = bookLayout(PLAN);
  const memory = new SharedMemory(books.memory.buffer);
  const reader = new SummaryReader(books);
  const doorbell = new Doorbell(bell, 0);
  return {
    books,
    layout,
    memory,
    reader,
    doorbell,
    writer: new BookWriter(books, 'a', HELPER),
    merger: new MergeKernel(books.memory, layout, nowNs),
    turn: (layout.control + MERGE_CONTROL.turn) / 4,
    /** The symbols that summaries have come of. */
    drain: () => {
      const symbols: number[] = [];
      reader.drain((symbol) => symbols.push(symbol));
      return symbols;
    },
  };
}

function publish(writer: BookWriter, symbol: number): void {
  const record = new Uint8Array(bookBytes(PLAN.depth));
  const book = { bids: [[100n, 5n] as const], asks: [[101n, 6n] as const] };
  writeBook(new DataView(record.buffer), 0, PLAN.depth, book, 7n);
  writer.publish(symbol, record, nowNs() / 1e6 + 60_000);
}

describe('a book', () => {
  it.each([true, false])('that no merger comes for is merged where it was published (spinning: %s)', (isSpinning) => {
    const { writer, drain, reader, memory, turn } = stage({ isSpinning });
    publish(writer, 1);
    expect(drain()).toEqual([]);
    writer.finish();
    expect(drain()).toEqual([1]);
    expect([reader.merges, reader.helped, memory.load(turn)]).toEqual([1, 1, 0]);
  });

  it('that the merger has taken is not merged again', () => {
    const { writer, merger, drain, reader } = stage({ isSpinning: true });
    publish(writer, 0);
    expect(merger.sweep()).toBe(1);
    writer.finish();
    expect(drain()).toEqual([0]);
    expect([reader.merges, reader.helped]).toEqual([1, 0]);
  });

  it('that was merged where it was published is not merged again by the merger', () => {
    const { writer, merger, drain, reader } = stage({ isSpinning: true });
    publish(writer, 0);
    writer.finish();
    expect([merger.sweep(), merger.expire()]).toEqual([0, 0]);
    expect(drain()).toEqual([0]);
    expect(reader.merges).toBe(1);
  });

  it('is left to the merger, which is called, while somebody else merges', () => {
    const { books, writer, merger, drain, memory, turn, doorbell } = stage({ isSpinning: false });
    memory.store(turn, 99);
    doorbell.arm();
    publish(writer, 0);
    writer.finish();
    expect(doorbell.wait(0)).toBe('not-equal');
    // A merger that is turned away says that there is something to do, so that it does not fall asleep.
    expect([merger.sweep(), merger.expire()]).toEqual([1, 1]);
    expect(drain()).toEqual([]);
    expect(endTurn(books, 99)).toBe(true);
    expect(merger.sweep()).toBe(1);
    expect(drain()).toEqual([0]);
  });

  it('calls the merger when another follows it in the same frame', () => {
    const { writer, merger, drain, doorbell } = stage({ isSpinning: false });
    doorbell.arm();
    publish(writer, 0);
    publish(writer, 1);
    expect(doorbell.wait(0)).toBe('not-equal');
    writer.finish();
    expect(drain()).toEqual([1]);
    expect(merger.sweep()).toBe(1);
    expect(drain()).toEqual([0]);
  });
});

describe('a thread that ends in its turn', () => {
  it('leaves nothing unmerged that it had taken', () => {
    const { books, layout, memory, turn, writer, merger, drain } = stage({ isSpinning: true });
    publish(writer, 1);
    // As far as a helper gets that is killed in the middle: the turn and the book are taken, no summary is published.
    memory.store(turn, HELPER);
    const at = bookSlotOffset(layout, 0, 1);
    expect(new SlotReader(memory, at, admitToSlot(memory, at, 'reader')).take()).toBe(true);
    expect(endTurn(books, HELPER)).toBe(true);
    merger.sweep();
    expect(drain()).toEqual([]);
    expect(merger.expire()).toBe(1);
    expect(drain()).toEqual([1]);
    expect(merger.expire()).toBe(0);
  });

  it('is not taken for another that merges', () => {
    const { books, memory, turn } = stage({ isSpinning: true });
    memory.store(turn, HELPER + 1);
    expect(endTurn(books, HELPER)).toBe(false);
    expect(memory.load(turn)).toBe(HELPER + 1);
  });

  it('by an error gives it back', () => {
    const { books, layout, memory, turn, writer, merger, drain } = stage({ isSpinning: true });
    const broken = new MergeKernel(
      books.memory,
      layout,
      () => {
        throw new Error('no clock');
      },
      HELPER,
    );
    publish(writer, 0);
    expect(() => broken.help(0, 0)).toThrow('no clock');
    expect(memory.load(turn)).toBe(0);
    expect(merger.expire()).toBe(1);
    expect(drain()).toEqual([0]);
  });
});
