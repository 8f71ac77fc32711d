// Frame to summary. Each metric stands beside the same work of the native yardstick, in turns on the same frames:
//
//   decode_binance20, decode_bitstamp100   copy the frame into the kernel, decode it
//   merge_2x10                             merge and publish one summary, at a given time
//   slot_transfer                          copy a book into a slot, publish it, take it
//   decode_both_and_merge                  decode both, copy the books into the merger's memory, merge; no hand-over
//   frame_to_summary                       the whole road: decode both, publish both in slots, mark, sweep, stamp;
//                                          its reference is the yardstick's decode_both_and_merge + 2 slot_transfer
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { DecodeKernel, NO_ROUTE } from '../src/kernels/decode.ts';
import { MergeKernel, mergeMemory } from '../src/kernels/merge.ts';
import { DECIMALS_DEFAULT } from '../src/protocols/book-layout.ts';
import { invariant } from '../src/protocols/errors/index.ts';
import {
  bookDeadlineOffset,
  bookSlotOffset,
  DEADLINE_ALWAYS,
  mergeLayout,
  summarySlotOffset,
  venueDeadlineOffset,
} from '../src/protocols/merge-layout.ts';
import { SharedMemory } from '../src/supervision/threads/memory.ts';
import { admitToSlot, formatSlot, SlotReader, SlotWriter } from '../src/supervision/threads/slot.ts';
import { frontOf, SLOT, SLOT_BUFFERS_BYTE, slotBytes } from '../src/supervision/threads/slot-layout.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';
import { binance } from '../src/venues/binance/index.ts';
import { bitstamp } from '../src/venues/bitstamp/index.ts';
import { type Bench, consume, median, medianTurn, type Pair, ROUNDS } from './harness.ts';

// Turns of some milliseconds, many of them: a neighbour on the machine comes and goes within tenths of a second and makes
// everything half as slow again; the two sides of a turn meet the same.
const ITERATIONS = 100;
const SAMPLES = 21;
const TURNS = 16 * ROUNDS + 1;
const WARM_UP_TURNS = 40;
const DEPTH = 10;

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const BINANCE = fixture('binance-depth20-btcusdt.json');
const BITSTAMP = fixture('bitstamp-orderbook100-btcusd.json');

/** Two venues and one symbol on one thread: what an exchange thread and the merger's thread do, without the threads. */
class HotPath {
  readonly binanceFrame = readFileSync(BINANCE);
  readonly bitstampFrame = readFileSync(BITSTAMP);
  readonly decode = new DecodeKernel({ depth: DEPTH });
  readonly walkBinance = this.decode.walkers[binance.walker.walk]!;
  readonly walkBitstamp = this.decode.walkers[bitstamp.walker.walk]!;
  readonly layout = mergeLayout({ venues: 2, symbols: 1, depth: DEPTH, slotBytes });
  readonly shared = mergeMemory(this.layout);
  readonly memory = new SharedMemory(this.shared.buffer);
  readonly merger = new MergeKernel(this.shared, this.layout, nowNs);
  readonly places = [0, 1].map((venue) => {
    const at = bookSlotOffset(this.layout, venue, 0);
    formatSlot(this.memory, at, this.layout.bookBytes);
    this.memory.store(bookDeadlineOffset(this.layout, venue, 0) / 4, DEADLINE_ALWAYS);
    this.memory.store(venueDeadlineOffset(this.layout, venue) / 4, DEADLINE_ALWAYS);
    return { venue, symbol: 0, life: admitToSlot(this.memory, at, 'writer') };
  });
  /** Puts what it reads into the slots itself, as those of exchanges do. */
  readonly sender = new DecodeKernel({ depth: DEPTH, outlet: this.merger.outlet });
  readonly sendBinance = this.sender.walkers[binance.walker.walk]!;
  readonly sendBitstamp = this.sender.walkers[bitstamp.walker.walk]!;
  /** Longer than it runs. */
  readonly patienceMs = nowNs() / 1e6 + 1e9;
  /** A slot of its own for the transfer alone. */
  readonly transferMemory = new SharedMemory(new SharedArrayBuffer(slotBytes(this.layout.bookBytes)));
  readonly fronts: number[] = [];
  readonly transferWriter: SlotWriter;
  readonly transferReader: SlotReader;

  constructor() {
    this.decode.addRoute('order_book_btcusd', 0);
    this.sender.addRoute('order_book_btcusd', 1);
    const summaryAt = summarySlotOffset(this.layout, 0);
    formatSlot(this.memory, summaryAt, this.layout.summaryBytes);
    formatSlot(this.transferMemory, 0, this.layout.bookBytes);
    this.transferWriter = new SlotWriter(this.transferMemory, 0, admitToSlot(this.transferMemory, 0, 'writer'));
    this.transferReader = new SlotReader(this.transferMemory, 0, admitToSlot(this.transferMemory, 0, 'reader'));
    const answers = [this.decodeBinance(1), this.decodeBitstamp(1), this.frameToSummary(1)];
    this.findFronts();
    invariant(answers.join() === '1,1,1', 'both frames decode and merge', { answers });
  }

  decodeBinance(receivedNs: number): number {
    return this.walkBinance(this.decode.take(this.binanceFrame), 0, DECIMALS_DEFAULT, receivedNs);
  }

  decodeBitstamp(receivedNs: number): number {
    return this.walkBitstamp(this.decode.take(this.bitstampFrame), NO_ROUTE, DECIMALS_DEFAULT, receivedNs);
  }

  merge(nowNs: number): number {
    this.merger.merge(0, nowNs);
    return 1;
  }

  transfer(): number {
    this.transferMemory.write(this.transferWriter.offset, this.decode.book);
    this.transferWriter.publish();
    return this.transferReader.take() ? 1 : 0;
  }

  /** Each book goes where the merger will read it: into the buffer that its side of the slot owns. */
  decodeBothAndMerge(receivedNs: number): number {
    this.decodeBinance(receivedNs);
    this.memory.write(this.fronts[0]!, this.decode.book);
    this.decodeBitstamp(receivedNs);
    this.memory.write(this.fronts[1]!, this.decode.book);
    return this.merge(receivedNs);
  }

  frameToSummary(receivedNs: number): number {
    // The frames are the same each time: a newer number than their own would stop them.
    for (const place of this.places) this.sender.openOutlet(place.venue, place, 0, this.patienceMs);
    this.sendBinance(this.sender.take(this.binanceFrame), 0, DECIMALS_DEFAULT, receivedNs);
    this.sendBitstamp(this.sender.take(this.bitstampFrame), NO_ROUTE, DECIMALS_DEFAULT, receivedNs);
    return this.merger.sweep();
  }

  /** Where the merger's buffers are; they move with each hand-over. */
  findFronts(): void {
    for (const venue of [0, 1]) {
      const slot = bookSlotOffset(this.layout, venue, 0);
      const state = this.memory.load(slot / 4 + SLOT.STATE);
      const stride = this.memory.load(slot / 4 + SLOT.STRIDE_BYTES);
      this.fronts[venue] = slot + SLOT_BUFFERS_BYTE + frontOf(state) * stride;
    }
  }
}

function sample(work: (iteration: number) => number): number {
  const start = process.hrtime.bigint();
  let sum = 0;
  for (let i = 1; i <= ITERATIONS; i++) sum += work(i);
  const elapsed = Number(process.hrtime.bigint() - start) / ITERATIONS;
  consume(sum);
  return elapsed;
}

/** What the native program takes for the same work, in nanoseconds, by metric. */
export function yardstickTurn(binary: string): Map<string, number> {
  const lines = execFileSync(binary, [BINANCE, BITSTAMP, String(ITERATIONS)], { encoding: 'utf8' })
    .trim()
    .split('\n');
  const medians = new Map(
    lines.map((line) => {
      const { name, median_ns } = JSON.parse(line) as { name: string; median_ns: number };
      return [name, median_ns];
    }),
  );
  const whole = medians.get('decode_both_and_merge')! + 2 * medians.get('slot_transfer')!;
  return medians.set('frame_to_summary', whole);
}

export const bench: Bench = {
  summary: 'decode, hand over and merge two venues, beside the native yardstick',
  async run(options) {
    const path = new HotPath();
    const metrics: Readonly<Record<string, (iteration: number) => number>> = {
      decode_binance20: (i) => path.decodeBinance(i),
      decode_bitstamp100: (i) => path.decodeBitstamp(i),
      merge_2x10: (i) => path.merge(i),
      slot_transfer: () => path.transfer(),
      decode_both_and_merge: (i) => path.decodeBothAndMerge(i),
      frame_to_summary: (i) => path.frameToSummary(i),
    };
    const turns = new Map<string, Pair[]>(Object.keys(metrics).map((name) => [name, []]));
    for (let turn = -WARM_UP_TURNS; turn < TURNS; turn++) {
      const native = options.yardstick === undefined ? undefined : yardstickTurn(options.yardstick);
      for (const [name, work] of Object.entries(metrics)) {
        path.findFronts();
        const own = median(Array.from({ length: SAMPLES }, () => sample(work)));
        if (turn >= 0) turns.get(name)!.push([own, native?.get(name) ?? 1]);
      }
    }
    for (const [name, pairs] of turns) {
      const [own, native] = medianTurn(pairs);
      const reference = options.yardstick === undefined ? undefined : { value: native, name: 'native yardstick' };
      options.report(name, own, 'ns', reference);
    }
  },
};
