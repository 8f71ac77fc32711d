// Run by hot-path-allocation.test.ts with --expose-gc: drives frames from decode through slots to merged summaries and
// prints what that did to the heap.
import { constants, PerformanceObserver } from 'node:perf_hooks';
import { BookWriter, bookLayout, createBooks, SummaryReader } from '../../src/actors/merger/book-memory.ts';
import { DecodeKernel, NO_ROUTE } from '../../src/kernels/decode.ts';
import { MergeKernel } from '../../src/kernels/merge.ts';
import { DECIMALS_DEFAULT } from '../../src/protocols/book-layout.ts';
import { MERGER_TURN } from '../../src/protocols/merge-layout.ts';
import { DOORBELL_BYTES } from '../../src/supervision/threads/doorbell.ts';
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
const walkBinance = decode.walkers[binance.walker.walk]!;
const walkBitstamp = decode.walkers[bitstamp.walker.walk]!;
const plan = { venues: ['binance', 'bitstamp'], symbols: ['BTC-USD'], depth: decode.depth };
// With a merger that sleeps nobody waits for it: how often one looked at the clock meanwhile would be another number each time.
const books = createBooks(plan, { buffer: new SharedArrayBuffer(DOORBELL_BYTES), at: 0 }, false);
const merger = new MergeKernel(books.memory, bookLayout(plan), nowNs);
const first = new BookWriter(books, 'binance', MERGER_TURN + 1);
const second = new BookWriter(books, 'bitstamp', MERGER_TURN + 2);
const reader = new SummaryReader(books);
const untilMs = nowNs() / 1e6 + 3_600_000;

/** The merger comes for the first venue's books; those of the second are merged where they were published. */
function drive(count: number): void {
  for (let n = 0; n < count; n += 2) {
    if (walkBinance(decode.take(frames[0]), NO_ROUTE, DECIMALS_DEFAULT, nowNs()) > 0) {
      first.publish(0, decode.book, untilMs);
      merger.sweep();
      first.finish();
    }
    if (walkBitstamp(decode.take(frames[1]), NO_ROUTE, DECIMALS_DEFAULT, nowNs()) > 0) {
      second.publish(0, decode.book, untilMs);
      second.finish();
    }
  }
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
const earlier = { merges: reader.merges, helped: reader.helped };
drive(FRAMES);
// One collection of our own, after the frames: once the observer has told of it, it has told of all before it too.
collect();
const heapGrowthBytes = process.memoryUsage().heapUsed - before;
for (let turn = 0; turn < 1000 && majorCollections === 0; turn++) await settle();
const observerWorks = majorCollections > 0;
majorCollections--;
const collections = { observerWorks, majorCollections, minorCollections };
const summaries = reader.merges - earlier.merges;
const helped = reader.helped - earlier.helped;
process.stdout.write(JSON.stringify({ frames: FRAMES, summaries, helped, ...collections, heapGrowthBytes }));
