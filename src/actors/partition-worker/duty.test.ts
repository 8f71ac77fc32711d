import { describe, expect, it } from 'vitest';
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
import { makePartitionWorker, type PartitionArgs } from './duty.ts';

const NOW_US = BigInt(Date.now()) * 1000n;

function ring(shape: RingShape) {
  const memory = new SharedMemory(new SharedArrayBuffer(ringBytes(shape)));
  formatRing(memory, 0, shape);
  const [producer, consumer] = [admitToRing(memory, 0, 'producer'), admitToRing(memory, 0, 'consumer')];
  return { memory, producer, consumer };
}

describe('the duty cycle of a partition worker', () => {
  it('takes trades from every ring, answers commands, and leaves snapshots in shared memory', async () => {
    const trades = [ring(recordRing(8, TRADE_BYTES)), ring(recordRing(8, TRADE_BYTES))];
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
    const context = {
      life: 1,
      args,
      memory: inbox.memory,
      doorbell: new Doorbell(new SharedMemory(new SharedArrayBuffer(256)), 0),
    };
    const duty = await makePartitionWorker(context);
    const asks = new FrameProducer(inbox.memory, 0, inbox.producer);
    const answers = new FrameConsumer(outbox.memory, 0, outbox.consumer);
    const ask = (message: PartitionCommand) => asks.offer(encodeNumbered({ id: 1, message }));
    const replies: PartitionReply[] = [];
    const collect = () =>
      answers.drain((offset, length) => {
        replies.push(decodeNumbered<PartitionReply>(outbox.memory.bytes.slice(offset, offset + length)).message);
      }, 10);

    for (const symbol of [3, 4]) ask({ kind: 'add-symbol', symbol, venue: 0, dense: true, sinceUs: NOW_US });
    expect(duty.doWork()).toBe(2);
    trades.forEach(({ memory, producer }, index) => {
      const end = new RingProducer(memory, 0, producer);
      for (let n = 0n; n < 20n; n++) {
        const ids = { firstId: n, lastId: n, sequence: n };
        const trade = { symbol: 3 + index, takerBuy: true, timeUs: NOW_US + n, price: 100n + n, amount: 1n, ...ids };
        if (end.offer(tradeRecords([trade])) < 0) {
          duty.doWork();
          end.offer(tradeRecords([trade]));
        }
      }
    });
    while (duty.doWork() > 0);
    ask({ kind: 'snapshot', reader: 'live' });
    duty.doWork();
    collect();
    expect(replies.map((reply) => reply.kind)).toEqual(['done', 'done', 'snapshot']);
    const last = replies.at(-1)!;
    if (last.kind !== 'snapshot') throw new Error(last.kind);
    const records = new Uint8Array(args.snapshots[last.half]).slice(0, last.records * BAR_RECORD_BYTES);
    const bars = barsOf(records, compileIntervals(['1m']));
    expect(bars.map(({ symbol, trades: count, close }) => [symbol, count, close])).toEqual([
      [3, 20n, 119n],
      [4, 20n, 119n],
    ]);
  });
});
