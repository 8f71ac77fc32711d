import { afterEach, describe, expect, it, vi } from 'vitest';
import { BARS_DEFAULTS, barsOf } from '../../kernels/bars.ts';
import { compileIntervals } from '../../protocols/kline.ts';
import { BAR_RECORD_BYTES } from '../../protocols/kline-layout.ts';
import {
  decodeNumbered,
  encodeNumbered,
  type PartitionCommand,
  type PartitionReply,
} from '../../protocols/partition.ts';
import { TRADE_BYTES } from '../../protocols/trade-layout.ts';
import { tradeRecords } from '../../protocols/trade-record.ts';
import { Doorbell } from '../../supervision/threads/doorbell.ts';
import { FrameConsumer, FrameProducer } from '../../supervision/threads/frame-ring.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { RingProducer } from '../../supervision/threads/ring.ts';
import { admitToRing, formatRing } from '../../supervision/threads/ring-ends.ts';
import { frameRing, type RingShape, recordRing, ringBytes } from '../../supervision/threads/ring-layout.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { makePartitionWorker, type PartitionArgs } from './duty.ts';

const NOW_US = BigInt(Date.now()) * 1000n;

function ring(shape: RingShape) {
  const memory = new SharedMemory(new SharedArrayBuffer(ringBytes(shape)));
  formatRing(memory, 0, shape);
  const [producer, consumer] = [admitToRing(memory, 0, 'producer'), admitToRing(memory, 0, 'consumer')];
  return { memory, producer, consumer };
}

/** A worker on this thread, its rings of trades, and the one who asks it. */
async function desk(rings: number) {
  const trades = Array.from({ length: rings }, () => ring(recordRing(8, TRADE_BYTES)));
  const [inbox, outbox] = [ring(frameRing(1 << 14)), ring(frameRing(1 << 14))];
  const half = () => new SharedArrayBuffer(64 * BAR_RECORD_BYTES);
  const args: PartitionArgs = {
    limits: { ...BARS_DEFAULTS, intervals: ['1m'], symbolsMax: 4, globalsMax: 16 },
    trades: trades.map(({ memory, consumer }) => ({ buffer: memory.buffer, at: 0, life: consumer })),
    commands: { buffer: inbox.memory.buffer, at: 0, life: inbox.consumer },
    replies: { buffer: outbox.memory.buffer, at: 0, life: outbox.producer },
    asker: { buffer: new SharedArrayBuffer(256), at: 0 },
    snapshots: [half(), half()],
  };
  const doorbell = new Doorbell(new SharedMemory(new SharedArrayBuffer(256)), 0);
  const duty = await makePartitionWorker({ life: 1, args, memory: inbox.memory, doorbell });
  const asks = new FrameProducer(inbox.memory, 0, inbox.producer);
  const answers = new FrameConsumer(outbox.memory, 0, outbox.consumer);
  const replies = () => {
    const got: PartitionReply[] = [];
    answers.drain((offset, length) => {
      got.push(decodeNumbered<PartitionReply>(outbox.memory.bytes.slice(offset, offset + length)).message);
    }, 10);
    return got;
  };
  const bars = () => {
    const last = replies().at(-1);
    if (last?.kind !== 'snapshot') throw new Error(`no snapshot but ${last?.kind}`);
    const records = new Uint8Array(args.snapshots[last.half]).slice(0, last.records * BAR_RECORD_BYTES);
    return barsOf(records, compileIntervals(['1m']));
  };
  const ask = (message: PartitionCommand) => asks.offer(encodeNumbered({ id: 1, message }));
  const producers = trades.map(({ memory, producer }) => new RingProducer(memory, 0, producer));
  return { duty, ask, bars, producers };
}

function tradeOf(symbol: number, n: bigint, timeUs: bigint): Uint8Array {
  const ids = { firstId: n, lastId: n, sequence: n };
  return tradeRecords([{ symbol, takerBuy: true, timeUs, price: 100n + n, amount: 1n, ...ids }]);
}

describe('the duty cycle of a partition worker', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it('takes trades from every ring, answers commands, and leaves snapshots in shared memory', async () => {
    const { duty, ask, bars, producers } = await desk(2);
    for (const symbol of [3, 4]) ask({ kind: 'add-symbol', symbol, venue: 0, dense: true, sinceUs: NOW_US });
    expect(duty.doWork()).toBe(2);
    for (const [index, producer] of producers.entries()) {
      for (let n = 0n; n < 20n; n++) {
        const trade = tradeOf(3 + index, n, NOW_US + n);
        if (producer.offer(trade) >= 0) continue;
        duty.doWork();
        producer.offer(trade);
      }
    }
    while (duty.doWork() > 0);
    ask({ kind: 'snapshot', reader: 'live' });
    duty.doWork();
    expect(bars().map(({ symbol, trades: count, close }) => [symbol, count, close])).toEqual([
      [3, 20n, 119n],
      [4, 20n, 119n],
    ]);
  });

  it('closes bars by the clock that all threads share, whatever the system’s clock was when its thread began', async () => {
    vi.spyOn(performance, 'timeOrigin', 'get').mockReturnValue(0);
    const { duty, ask, bars, producers } = await desk(1);
    const offsetUs = NOW_US - BigInt(Math.round(nowNs() / 1000));
    ask({ kind: 'set-clock', venue: 0, offsetUs, graceUs: 0n });
    ask({ kind: 'add-symbol', symbol: 3, venue: 0, dense: true, sinceUs: NOW_US - 120_000_000n });
    duty.doWork();
    producers[0]!.offer(tradeOf(3, 0n, NOW_US - 90_000_000n));
    while (duty.doWork() > 0);
    ask({ kind: 'snapshot', reader: 'live' });
    duty.doWork();
    const { trades, closed } = bars()[0]!;
    expect({ trades, closed }).toEqual({ trades: 1n, closed: true });
  });
});
