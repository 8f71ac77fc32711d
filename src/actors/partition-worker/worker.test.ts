import { describe, expect, it } from 'vitest';
import { BARS_DEFAULTS, barsOf } from '../../kernels/bars.ts';
import type { Bar } from '../../protocols/kline.ts';
import { BAR_RECORD_BYTES } from '../../protocols/kline-layout.ts';
import { decodeNumbered, encodeNumbered, type PartitionCommand } from '../../protocols/partition.ts';
import { type Trade, tradeRecords } from '../../protocols/trade-record.ts';
import { PartitionWorker } from './worker.ts';

const START_US = 1_763_000_040_000_000n;
const SECOND_US = 1_000_000n;
const HALF_BYTES = 100 * BAR_RECORD_BYTES;

function trade(symbol: number, n: number): Trade {
  const id = BigInt(n);
  const ids = { firstId: id, lastId: id, sequence: id };
  return { symbol, takerBuy: true, timeUs: START_US + id * SECOND_US, price: 100n + id, amount: 5n, ...ids };
}

class Harness {
  readonly halves = [new Uint8Array(HALF_BYTES), new Uint8Array(HALF_BYTES)] as const;
  readonly worker = new PartitionWorker(
    { ...BARS_DEFAULTS, intervals: ['1s', '1m'], symbolsMax: 4, globalsMax: 16 },
    this.halves,
  );

  add(symbol: number): this {
    this.worker.handle({ kind: 'add-symbol', symbol, venue: 0, dense: true, sinceUs: START_US });
    return this;
  }

  feed(symbol: number, ...numbers: number[]): this {
    this.worker.apply(tradeRecords(numbers.map((n) => trade(symbol, n))));
    return this;
  }

  snapshot(): { readonly number: number; readonly half: number; readonly bars: Bar[] } {
    const reply = this.worker.handle({ kind: 'snapshot', reader: 'persistence' });
    if (reply.kind !== 'snapshot') throw new Error(`answered ${reply.kind}`);
    const records = this.halves[reply.half].slice(0, reply.records * BAR_RECORD_BYTES);
    return { number: reply.snapshot, half: reply.half, bars: barsOf(records, this.worker.kernel.plan) };
  }
}

const minuteOf = (bars: readonly Bar[]) => bars.find((bar) => bar.interval === '1m');

describe('a symbol that comes late', () => {
  it('is partial up to when it came, whatever it was told: trades before that were not counted', () => {
    const late = new Harness();
    late.worker.handle({ kind: 'set-clock', venue: 0, offsetUs: 0n, graceUs: 0n });
    late.worker.tick(START_US + 2n * SECOND_US + 100_000n);
    late.feed(7, 2).add(7).feed(7, 3, 4);
    late.worker.tick(START_US + 6n * SECOND_US);
    const seconds = late.snapshot().bars.filter(({ interval, closed }) => interval === '1s' && closed);
    expect(seconds.map(({ quality, trades }) => `${quality} ${trades}`)).toEqual([
      'complete 1',
      'complete 1',
      'quiet 0',
    ]);
    const later = new Harness();
    later.worker.handle({ kind: 'set-clock', venue: 0, offsetUs: 0n, graceUs: 0n });
    later.worker.tick(START_US + 3n * SECOND_US + 900_000n);
    later.add(7).feed(7, 4, 5);
    later.worker.tick(START_US + 7n * SECOND_US);
    const after = later.snapshot().bars.filter(({ interval, closed }) => interval === '1s' && closed);
    expect(after.map(({ quality }) => quality)).toEqual(['partial-first', 'complete', 'quiet']);
  });
});

describe('a symbol that goes on from stored bars', () => {
  /** The bars as they were stored when the worker ended, and the next worker's with the trades since. */
  function resumed(before: Harness, nextSequence: bigint, lastUs: bigint, ...since: number[]): Bar[] {
    const bars = before.snapshot().bars.map((bar) => ({ ...bar, symbol: 0 }));
    const after = new Harness();
    const stored = { bars, nextSequence, lastUs };
    after.worker.handle({ kind: 'add-symbol', symbol: 3, venue: 0, dense: true, sinceUs: START_US, stored });
    return after.feed(3, ...since).snapshot().bars;
  }

  it('does not take bars for whole whose missing trades went with the worker that knew of them', () => {
    const before = new Harness().add(3).feed(3, 0, 1, 4, 5);
    const bars = resumed(before, 6n, START_US + 5n * SECOND_US, 6, 7);
    expect(minuteOf(bars)).toMatchObject({ trades: 6n, quality: 'gap' });
    const seconds = bars.filter(({ interval }) => interval === '1s');
    expect(seconds.filter(({ quality }) => quality === 'gap').map(({ firstId }) => firstId)).toEqual([1n, 4n]);
  });

  it('takes bars for whole that were only in doubt', () => {
    const before = new Harness().add(3).feed(3, 0, 1, 2);
    before.worker.handle({ kind: 'doubt', symbol: 3, fromUs: START_US });
    const bars = resumed(before, 3n, START_US + 2n * SECOND_US, 3);
    expect(minuteOf(bars)).toMatchObject({ trades: 4n, quality: 'repaired' });
  });
});

describe('a symbol that moves', () => {
  it('loses no trade, wherever the trades went in between', () => {
    const from = new Harness().add(7).feed(7, 0, 1, 2);
    const to = new Harness();
    to.worker.handle({ kind: 'expect-symbol', symbol: 7 });
    to.feed(7, 2, 3);
    from.feed(7, 3, 4);
    const state = from.worker.handle({ kind: 'move-out', symbol: 7 });
    to.feed(7, 4, 5);
    expect(state.kind).toBe('moved-out');
    if (state.kind === 'moved-out') to.worker.handle({ kind: 'move-in', symbol: 7, bytes: state.bytes });
    to.feed(7, 6);
    expect(minuteOf(to.snapshot().bars)).toMatchObject({ trades: 7n, close: 106n, quality: 'complete' });
    expect(to.worker.kernel.troubles()).toEqual([]);
    expect(from.worker.kernel.symbols).toBe(0);
  });

  it('leaves trades that find no room on the way to the repair, counted and known by their ids', () => {
    const from = new Harness().add(7).feed(7, 0);
    const to = new Harness();
    to.worker.handle({ kind: 'expect-symbol', symbol: 7 });
    const roomFor = 32_768;
    to.feed(7, ...Array.from({ length: roomFor + 2 }, (_, n) => 1 + n));
    const state = from.worker.handle({ kind: 'move-out', symbol: 7 });
    if (state.kind === 'moved-out') to.worker.handle({ kind: 'move-in', symbol: 7, bytes: state.bytes });
    to.feed(7, roomFor + 3);
    const missing = { first: BigInt(roomFor + 1), last: BigInt(roomFor + 2) };
    expect(to.worker.kernel.troubles()).toMatchObject([{ holes: [missing] }]);
    expect(to.worker.handle({ kind: 'counters' })).toMatchObject({ counters: { stash_dropped: 2n } });
  });

  it('that is not there, or does not fit, is refused with a code and harms nothing', () => {
    const { worker } = new Harness().add(1);
    expect(worker.handle({ kind: 'move-out', symbol: 2 })).toMatchObject({ kind: 'refused', code: 'TW_KLINE_HANDOFF' });
    const bytes = new Uint8Array(12);
    expect(worker.handle({ kind: 'move-in', symbol: 2, bytes })).toMatchObject({ code: 'TW_KLINE_HANDOFF' });
    expect(worker.kernel.symbols).toBe(1);
  });
});

describe('a snapshot', () => {
  it('uses the two halves by turns and is carried again until its own number is committed', () => {
    const harness = new Harness().add(1).feed(1, 0, 1);
    const first = harness.snapshot();
    const second = harness.snapshot();
    expect([first.half === second.half, second.bars]).toEqual([false, first.bars]);
    harness.worker.handle({ kind: 'commit', reader: 'persistence', snapshot: first.number });
    expect(harness.snapshot().bars).toEqual(first.bars);
    harness.worker.handle({ kind: 'commit', reader: 'persistence', snapshot: second.number + 1 });
    expect(harness.snapshot().bars).toEqual([]);
  });
});

describe('commands', () => {
  it('are repeated without harm', () => {
    const harness = new Harness().add(1).feed(1, 0).add(1).feed(1, 1);
    expect(minuteOf(harness.snapshot().bars)).toMatchObject({ trades: 2n });
    harness.worker.handle({ kind: 'remove-symbol', symbol: 1 });
    expect(harness.worker.handle({ kind: 'remove-symbol', symbol: 1 })).toEqual({ kind: 'done' });
  });

  it('beyond the limit are refused with a code', () => {
    const { worker } = new Harness().add(1).add(2).add(3).add(4);
    const fifth = { kind: 'add-symbol', symbol: 5, venue: 0, dense: true, sinceUs: START_US } as const;
    expect(worker.handle(fifth)).toMatchObject({ kind: 'refused', code: 'TW_KLINE_WORKER_FULL' });
  });

  it('tell what is wrong once, and apply what was fetched', () => {
    const { worker } = new Harness().add(1).feed(1, 0, 4);
    const troubles = worker.handle({ kind: 'troubles', since: 0n });
    expect(troubles).toMatchObject({ troubles: [{ symbol: 1, holes: [{ first: 1n, last: 3n }] }] });
    const since = troubles.kind === 'troubles' ? troubles.version : 0n;
    expect(worker.handle({ kind: 'troubles', since })).toEqual({ kind: 'done' });
    worker.handle({ kind: 'apply-trades', symbol: 1, bytes: tradeRecords([1, 2, 3].map((n) => trade(1, n))) });
    expect(worker.handle({ kind: 'troubles', since })).toMatchObject({ kind: 'troubles', troubles: [] });
  });

  it('close bars by the clock of the venue, not by ours', () => {
    const harness = new Harness().add(1).feed(1, 0);
    const { worker } = harness;
    worker.handle({ kind: 'set-clock', venue: 0, offsetUs: 10n * SECOND_US, graceUs: SECOND_US });
    worker.tick(START_US - 8n * SECOND_US);
    expect(harness.snapshot().bars.map((bar) => bar.closed)).toEqual([true, false]);
  });

  it('travel as frames with their big numbers and bytes', () => {
    const message: PartitionCommand = { kind: 'confirm', symbol: 1, next: 1n << 60n, nowUs: START_US };
    expect(decodeNumbered(encodeNumbered({ id: 9, message }))).toEqual({ id: 9, message });
    const moved: PartitionCommand = { kind: 'move-in', symbol: 1, bytes: new Uint8Array([1, 2, 3]) };
    expect(decodeNumbered(encodeNumbered({ id: 1, message: moved }))).toEqual({ id: 1, message: moved });
  });
});
