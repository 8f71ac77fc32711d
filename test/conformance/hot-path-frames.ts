// Run by hot-path-allocation.test.ts with --expose-gc: drives frames from decode through slots to merged summaries and
// prints what that did to the heap.
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { DecodeKernel, NO_ROUTE } from '../../src/kernels/decode.ts';
import { MergeKernel, mergeMemory } from '../../src/kernels/merge.ts';
import { DECIMALS_DEFAULT } from '../../src/protocols/book-layout.ts';
import {
  bookDeadlineOffset,
  bookSlotOffset,
  DEADLINE_ALWAYS,
  markDirty,
  mergeLayout,
  summarySlotOffset,
  venueDeadlineOffset,
} from '../../src/protocols/merge-layout.ts';
import { SharedMemory } from '../../src/supervision/threads/memory.ts';
import { admitToSlot, formatSlot, SlotReader, SlotWriter } from '../../src/supervision/threads/slot.ts';
import { slotBytes } from '../../src/supervision/threads/slot-layout.ts';
import { nowNs } from '../../src/supervision/threads/thread-clock.ts';
import { binance } from '../../src/venues/binance/index.ts';
import { bitstamp } from '../../src/venues/bitstamp/index.ts';

const FRAMES = 1_000_000;
const WARM_UP = 20_000;

const side = (from: number, step: number) =>
  `[${Array.from({ length: 20 }, (_, n) => `["${from + n * step}.25","1.${n}5"]`).join(',')}]`;
const sides = `"bids":${side(900, -1)},"asks":${side(901, 1)}`;
const frames = [
  Buffer.from(`{"stream":"btcusdt@depth20@100ms","data":{"lastUpdateId":160,${sides}}}`),
  Buffer.from(
    `{"data":{"timestamp":"1789457617","microtimestamp":"1789457617906487",${sides}},"channel":"order_book_btcusd","event":"data"}`,
  ),
] as const;

const decode = new DecodeKernel();
decode.addRoute('btcusdt@depth20@100ms', 0);
decode.addRoute('order_book_btcusd', 0);
const layout = mergeLayout({ venues: 2, symbols: 1, depth: decode.depth, slotBytes });
const shared = mergeMemory(layout);
const memory = new SharedMemory(shared.buffer);
const merger = new MergeKernel(shared, layout, nowNs);
const writers = frames.map((_, venue) => {
  const at = bookSlotOffset(layout, venue, 0);
  formatSlot(memory, at, layout.bookBytes);
  memory.store(bookDeadlineOffset(layout, venue, 0) / 4, DEADLINE_ALWAYS);
  memory.store(venueDeadlineOffset(layout, venue) / 4, DEADLINE_ALWAYS);
  return new SlotWriter(memory, at, admitToSlot(memory, at, 'writer'));
});
const summaryAt = summarySlotOffset(layout, 0);
formatSlot(memory, summaryAt, layout.summaryBytes);
const reader = new SlotReader(memory, summaryAt, admitToSlot(memory, summaryAt, 'reader'));

function publish(venue: number): void {
  const writer = writers[venue]!;
  memory.write(writer.offset, decode.book);
  writer.publish();
  markDirty(memory.words, layout.venueDirty + venue * layout.venueDirtyBytes, 1, 0);
}

/** Two frames a summary; answers the summaries. */
function drive(count: number): number {
  let summaries = 0;
  for (let n = 0; n < count; n += 2) {
    if (binance.walker.decode(decode, frames[0], nowNs(), NO_ROUTE, DECIMALS_DEFAULT) > 0) publish(0);
    if (bitstamp.walker.decode(decode, frames[1], nowNs(), NO_ROUTE, DECIMALS_DEFAULT) > 0) publish(1);
    merger.sweep();
    if (reader.take()) summaries++;
  }
  return summaries;
}

let majorCollections = 0;
let minorCollections = 0;
const observer = new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) {
    const { kind } = (entry as unknown as { detail: { kind: number } }).detail;
    if (kind === constants.NODE_PERFORMANCE_GC_MAJOR) majorCollections++;
    if (kind === constants.NODE_PERFORMANCE_GC_MINOR) minorCollections++;
  }
});
const collect = (globalThis as unknown as { gc(): void }).gc;
const settle = () => new Promise((resolve) => setImmediate(resolve));

drive(WARM_UP);
collect();
await settle();
const before = process.memoryUsage().heapUsed;
observer.observe({ entryTypes: ['gc'] });
const summaries = drive(FRAMES);
// One collection of our own, after the frames: once the observer has told of it, it has told of all before it too.
collect();
const heapGrowthBytes = process.memoryUsage().heapUsed - before;
for (let turn = 0; turn < 1000 && majorCollections === 0; turn++) await settle();
const observerWorks = majorCollections > 0;
majorCollections--;
const collections = { observerWorks, majorCollections, minorCollections };
process.stdout.write(JSON.stringify({ frames: FRAMES, summaries, ...collections, heapGrowthBytes }));
