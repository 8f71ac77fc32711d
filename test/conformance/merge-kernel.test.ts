import { describe, expect, it } from 'vitest';
import { MergeKernel, mergeMemory } from '../../src/kernels/merge.ts';
import type { Level } from '../../src/kernels/oracle/frame-oracle.ts';
import {
  markDirty,
  mergeOracle,
  readSummary,
  type VenueBook,
  writeBook,
} from '../../src/kernels/oracle/merge-oracle.ts';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import { SUMMARY, SUMMARY_VENUE, SUMMARY_VENUE_BYTES, SUMMARY_VENUE_IN } from '../../src/protocols/book-layout.ts';
import {
  bookDeadlineOffset,
  bookSlotOffset,
  DEADLINE_ALWAYS,
  DEADLINE_OUT,
  deadlineWord,
  MERGE_CONTROL,
  mergeLayout,
  summarySlotOffset,
  venueDeadlineOffset,
} from '../../src/protocols/merge-layout.ts';
import { Doorbell } from '../../src/supervision/threads/doorbell.ts';
import { SharedMemory } from '../../src/supervision/threads/memory.ts';
import { admitToSlot, formatSlot, SlotReader, SlotWriter } from '../../src/supervision/threads/slot.ts';
import { slotBytes } from '../../src/supervision/threads/slot-layout.ts';

/** A merger with its venues and its publisher, all on this thread. */
class Bench {
  readonly layout;
  readonly memory;
  readonly view: DataView;
  readonly merger: MergeKernel;
  readonly writers: SlotWriter[][];
  readonly readers: SlotReader[];
  readonly doorbell: Doorbell;
  readonly depth: number;
  readonly venues: number;
  nowNs = 1_000_000_000;
  stamp = 1n;

  constructor(venues: number, symbols: number, depth: number) {
    this.depth = depth;
    this.venues = venues;
    const layout = mergeLayout({ venues, symbols, depth, slotBytes });
    this.layout = layout;
    const shared = mergeMemory(layout);
    this.memory = new SharedMemory(shared.buffer);
    this.view = new DataView(shared.buffer);
    this.doorbell = new Doorbell(this.memory, layout.control + MERGE_CONTROL.doorbell);
    const each = <T>(count: number, make: (n: number) => T) => Array.from({ length: count }, (_, n) => make(n));
    this.writers = each(venues, (venue) =>
      each(symbols, (symbol) => {
        const at = bookSlotOffset(layout, venue, symbol);
        formatSlot(this.memory, at, layout.bookBytes);
        return new SlotWriter(this.memory, at, admitToSlot(this.memory, at, 'writer'));
      }),
    );
    this.readers = each(symbols, (symbol) => {
      const at = summarySlotOffset(layout, symbol);
      formatSlot(this.memory, at, layout.summaryBytes);
      return new SlotReader(this.memory, at, admitToSlot(this.memory, at, 'reader'));
    });
    this.merger = new MergeKernel(shared, layout, () => this.nowNs);
    for (let venue = 0; venue < venues; venue++) {
      this.venueDeadline(venue, DEADLINE_ALWAYS);
      for (let symbol = 0; symbol < symbols; symbol++) this.bookDeadline(venue, symbol, DEADLINE_ALWAYS);
    }
  }

  venueDeadline(venue: number, word: number): void {
    this.memory.store(venueDeadlineOffset(this.layout, venue) / 4, word);
  }

  bookDeadline(venue: number, symbol: number, word: number): void {
    this.memory.store(bookDeadlineOffset(this.layout, venue, symbol) / 4, word);
  }

  publish(venue: number, symbol: number, book: VenueBook): void {
    const writer = this.writers[venue]![symbol]!;
    writeBook(this.view, writer.offset, this.depth, book, this.stamp++);
    writer.publish();
    const bitmap = this.layout.venueDirty + venue * this.layout.venueDirtyBytes;
    markDirty(this.memory.words, bitmap, this.layout.shape.symbols, symbol);
  }

  take(symbol: number) {
    const reader = this.readers[symbol]!;
    return reader.take() ? readSummary(this.view, reader.offset, this.venues, this.depth) : undefined;
  }
}

function randomSide(random: Random, depth: number, bids: boolean): Level[] {
  const levels: Level[] = [];
  let price = random.chance(3) ? (1n << 64n) - 2n - BigInt(random.below(5)) : 1000n + BigInt(random.below(6));
  if (random.chance(2) && !bids) price = 1n;
  for (let n = random.below(depth + 1); n > 0 && price > 0n && price < 1n << 64n; n--) {
    levels.push([price, BigInt(1 + random.below(3))]);
    price += BigInt(1 + random.below(3)) * (bids ? -1n : 1n);
  }
  return levels;
}

const randomBook = (random: Random, depth: number): VenueBook => ({
  bids: randomSide(random, depth, true),
  asks: randomSide(random, depth, false),
});

describe('the merge kernel', () => {
  const seed = testSeed();
  it(`merges as its oracle does (seed ${seed})`, () => {
    const random = new Random(seed);
    for (const [venues, depth] of [
      [1, 10],
      [2, 10],
      [2, 1],
      [3, 5],
      [4, 10],
      [5, 7],
      [16, 100],
    ] as const) {
      const bench = new Bench(venues, 3, depth);
      const books = Array.from({ length: 3 }, () => new Array<VenueBook | undefined>(venues).fill(undefined));
      for (let round = 0; round < 12_000 / (venues * depth + 20); round++) {
        const touched = new Set<number>();
        for (let n = random.below(4); n >= 0; n--) {
          const [venue, symbol] = [random.below(venues), random.below(3)];
          const book = randomBook(random, depth);
          bench.publish(venue, symbol, book);
          books[symbol]![venue] = book;
          touched.add(symbol);
        }
        expect(bench.merger.sweep()).toBe(touched.size);
        for (const symbol of touched) expect(bench.take(symbol)).toEqual(mergeOracle(books[symbol]!, depth));
      }
    }
  });

  it('sorts a tie by amount, then by venue, and gives a crossed book a negative spread', () => {
    const bench = new Bench(3, 1, 10);
    bench.publish(2, 0, { bids: [[100n, 5n]], asks: [[99n, 1n]] });
    bench.publish(0, 0, { bids: [[100n, 5n]], asks: [] });
    bench.publish(1, 0, { bids: [[100n, 6n]], asks: [] });
    bench.merger.sweep();
    const bids = [
      [100n, 6n, 1],
      [100n, 5n, 0],
      [100n, 5n, 2],
    ];
    expect(bench.take(0)).toEqual({ spread: -1n, bids, asks: [[99n, 1n, 2]] });
  });

  it('has no spread while a side is empty', () => {
    const bench = new Bench(2, 1, 10);
    bench.publish(0, 0, { bids: [[7n, 1n]], asks: [] });
    bench.merger.sweep();
    expect(bench.take(0)?.spread).toBe(0n);
  });

  it('looks at a symbol only when it is marked, among 5,000', () => {
    const bench = new Bench(2, 5000, 1);
    for (const symbol of [0, 31, 32, 1023, 1024, 4999]) bench.publish(1, symbol, { bids: [[7n, 1n]], asks: [] });
    expect(bench.merger.sweep()).toBe(6);
    expect(bench.merger.spin(3)).toBe(0);
    for (let symbol = 0; symbol < 5000; symbol++)
      expect(bench.take(symbol) !== undefined).toBe([0, 31, 32, 1023, 1024, 4999].includes(symbol));
  });

  it('takes a venue out when its own or its book deadline has passed, and back in when it lives again', () => {
    const bench = new Bench(2, 2, 10);
    const book = { bids: [[7n, 1n]], asks: [] } as const;
    for (const venue of [0, 1]) for (const symbol of [0, 1]) bench.publish(venue, symbol, book);
    bench.merger.sweep();
    const live = () => {
      const levels = bench.take(0);
      return levels?.bids.map(([, , venue]) => venue);
    };
    expect(live()).toEqual([0, 1]);
    expect(bench.merger.expire()).toBe(0);

    bench.bookDeadline(0, 0, deadlineWord(bench.nowNs / 1e6 + 5000));
    bench.nowNs += 4.9e9;
    expect(bench.merger.expire()).toBe(0);
    bench.nowNs += 0.2e9;
    expect(bench.merger.expire()).toBe(1);
    expect(live()).toEqual([1]);

    bench.venueDeadline(1, DEADLINE_OUT);
    expect(bench.merger.expire()).toBe(2);
    expect(live()).toEqual([]);
    bench.venueDeadline(1, DEADLINE_ALWAYS);
    bench.bookDeadline(0, 0, deadlineWord(bench.nowNs / 1e6 + 5000));
    expect(bench.merger.expire()).toBe(2);
    expect(live()).toEqual([0, 1]);
  });

  it('says in the summary who is in, when each was heard, and counts on', () => {
    const bench = new Bench(2, 1, 10);
    bench.bookDeadline(1, 0, DEADLINE_OUT);
    bench.publish(0, 0, { bids: [[7n, 1n]], asks: [] });
    bench.publish(1, 0, { bids: [[8n, 1n]], asks: [] });
    bench.merger.sweep();
    const reader = bench.readers[0]!;
    reader.take();
    const word = (offset: number) => bench.view.getBigUint64(reader.offset + offset, true);
    const row = (venue: number, offset: number) => SUMMARY.venues + venue * SUMMARY_VENUE_BYTES + offset;
    expect([word(SUMMARY.sequence), word(SUMMARY.merged_ns), word(SUMMARY.received_ns)]).toEqual([
      1n,
      1_000_000_000n,
      1n,
    ]);
    expect([word(row(0, SUMMARY_VENUE.received_ns)), word(row(1, SUMMARY_VENUE.received_ns))]).toEqual([1n, 2n]);
    expect(word(row(0, SUMMARY_VENUE.flags))).toBe(BigInt(SUMMARY_VENUE_IN));
    expect(word(row(1, SUMMARY_VENUE.flags))).toBe(0n);
    expect(bench.view.getUint32(reader.offset + SUMMARY.live, true)).toBe(1);
  });

  it('rings the doorbell of a publisher that is about to sleep', () => {
    const bench = new Bench(1, 1, 1);
    bench.doorbell.arm();
    bench.publish(0, 0, { bids: [[7n, 1n]], asks: [] });
    bench.merger.sweep();
    expect(bench.doorbell.wait(10_000)).toBe('not-equal');
  });
});
