// Books that a decode kernel puts into the merger's memory itself.
import { describe, expect, it } from 'vitest';
import { BOOK_SENT, BOOK_SNAPSHOT } from '../../src/kernels/assembly/lib/contract.ts';
import { DecodeKernel } from '../../src/kernels/decode.ts';
import { MergeKernel, mergeMemory } from '../../src/kernels/merge.ts';
import { walk } from '../../src/kernels/oracle/kernel-answer.ts';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import { bookBytes } from '../../src/protocols/book-layout.ts';
import {
  bookDeadlineOffset,
  bookSlotOffset,
  deadlineWord,
  type MergeLayout,
  mergeLayout,
  summarySlotOffset,
} from '../../src/protocols/merge-layout.ts';
import { SharedMemory } from '../../src/supervision/threads/memory.ts';
import { admitToSlot, formatSlot, SlotReader } from '../../src/supervision/threads/slot.ts';
import { slotBytes, slotStride } from '../../src/supervision/threads/slot-layout.ts';

const SYMBOLS = 200;
const PLACE = { venue: 1, symbol: 131 };
const seed = testSeed();

/** A merger's memory for two venues, and a kernel that reads books of one of them. */
function stage(depth: number) {
  const layout = mergeLayout({ venues: 2, symbols: SYMBOLS, depth, slotBytes });
  const shared = mergeMemory(layout);
  const memory = new SharedMemory(shared.buffer);
  for (let symbol = 0; symbol < SYMBOLS; symbol++) {
    formatSlot(memory, summarySlotOffset(layout, symbol), layout.summaryBytes);
    for (const venue of [0, 1]) formatSlot(memory, bookSlotOffset(layout, venue, symbol), layout.bookBytes);
  }
  const merger = new MergeKernel(shared, layout, () => 0);
  const kernel = new DecodeKernel({ depth, outlet: merger.outlet });
  const at = bookSlotOffset(layout, PLACE.venue, PLACE.symbol);
  const life = admitToSlot(memory, at, 'writer');
  const reader = new SlotReader(memory, at, admitToSlot(memory, at, 'reader'));
  return { layout, memory, merger, kernel, at, life, reader };
}

function frame(sequence: number | string, bids: number, asks: number, random = new Random(seed)): Buffer {
  const amount = () => `${1 + random.below(1_000_000)}.${1 + random.below(9)}`;
  const levels = (count: number, price: (n: number) => number) =>
    Array.from({ length: count }, (_, n) => [String(price(n)), amount()]);
  const book = { bids: levels(bids, (n) => 1000 - n), asks: levels(asks, (n) => 1001 + n) };
  return Buffer.from(JSON.stringify({ lastUpdateId: 0, ...book }).replace(':0,', `:${sequence},`));
}

/** Everything but what a book of the symbol changes: its buffers and their owners, its deadline, its venue's marks. */
function surroundings({ bytes }: SharedMemory, layout: MergeLayout, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy.fill(0, at + 128, at + 132);
  copy.fill(0, at + 384, at + 384 + 3 * slotStride(layout.bookBytes));
  const deadline = bookDeadlineOffset(layout, PLACE.venue, PLACE.symbol);
  copy.fill(0, deadline, deadline + 4);
  const marks = layout.venueDirty + PLACE.venue * layout.venueDirtyBytes;
  copy.fill(0, marks, marks + layout.venueDirtyBytes);
  return copy;
}

describe('a book that its kernel sends', () => {
  it.each([1, 2, 3, 7, 10, 99, 100])(
    `is the one that it read, in its slot and nowhere else, at a depth of %i (seed ${seed})`,
    (depth) => {
      const { layout, memory, kernel, at, life, reader } = stage(depth);
      const plain = new DecodeKernel({ depth });
      const random = new Random(seed + depth);
      kernel.openOutlet(0, { ...PLACE, life }, 0, 1000);
      const before = surroundings(memory, layout, at);
      for (let n = 1; n <= 200; n++) {
        const bytes = frame(n, random.below(depth + 4), random.below(depth + 4), random);
        expect(walk(plain, 'binance', bytes, n, 0)).toBe(BOOK_SNAPSHOT);
        expect(walk(kernel, 'binance', bytes, n, 0)).toBe(BOOK_SENT);
        expect(reader.take()).toBe(true);
        const counts = new DataView(plain.book.buffer, plain.book.byteOffset);
        const known = (from: number, levels: number) => [from, from + levels * 16] as const;
        const parts = [
          known(0, 2),
          known(32, counts.getUint16(24, true)),
          known(32 + depth * 16, counts.getUint16(26, true)),
        ];
        const sent = memory.bytes.subarray(reader.offset, reader.offset + bookBytes(depth));
        for (const [from, to] of parts)
          expect(Buffer.from(sent.subarray(from, to))).toEqual(Buffer.from(plain.book.subarray(from, to)));
      }
      expect(surroundings(memory, layout, at).equals(before)).toBe(true);
    },
  );

  it('counts for the time that was said, and is marked for the merger', () => {
    const { layout, memory, merger, kernel, life } = stage(10);
    const word = bookDeadlineOffset(layout, PLACE.venue, PLACE.symbol) / 4;
    // The last two meet 0 and 1, which say something else, where 32 bits begin anew.
    for (const [n, receivedMs] of [1_000, 123_456.789, 2 ** 32 - 5_000, 2 ** 32 - 4_999].entries()) {
      kernel.openOutlet(0, { ...PLACE, life }, n, 5_000);
      expect(walk(kernel, 'binance', frame(n + 1, 1, 1), receivedMs * 1e6, 0)).toBe(BOOK_SENT);
      expect(memory.load(word)).toBe(deadlineWord(receivedMs + 5_000));
    }
    expect([merger.sweep(), merger.sweep()]).toEqual([1, 0]);
  });

  it('is newer than each before it, and of the life that may write', () => {
    const { memory, kernel, at, life, reader } = stage(10);
    const say = (sequence: number | string) => walk(kernel, 'binance', frame(sequence, 3, 3), 1, 0);
    expect(say(5)).toBe(BOOK_SNAPSHOT);
    kernel.openOutlet(0, { ...PLACE, life }, 5, 1000);
    expect([say(4), say(5), reader.take()]).toEqual([BOOK_SNAPSHOT, BOOK_SNAPSHOT, false]);
    expect([say(6), say(6), say(5), say(9)]).toEqual([BOOK_SENT, BOOK_SNAPSHOT, BOOK_SNAPSHOT, BOOK_SENT]);
    expect(reader.take()).toBe(true);
    kernel.closeOutlets();
    expect([say(10), reader.take()]).toEqual([BOOK_SNAPSHOT, false]);
    // A number that doubles do not tell from the next one opens nothing.
    for (const after of [2 ** 53, 2 ** 64, Number.POSITIVE_INFINITY])
      kernel.openOutlet(0, { ...PLACE, life }, after, 1000);
    expect([say('18446744073709551615'), reader.take()]).toEqual([BOOK_SNAPSHOT, false]);
    kernel.openOutlet(0, { ...PLACE, life }, 10, 1000);
    admitToSlot(memory, at, 'writer');
    expect([say(11), reader.take()]).toEqual([BOOK_SNAPSHOT, false]);
  });
});
