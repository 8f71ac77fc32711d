import { afterEach, describe, expect, it } from 'vitest';
import { TradeWriter } from '../../src/actors/exchange/trade-writer.ts';
import { READER } from '../../src/kernels/bars.ts';
import { PartitionLine } from '../../src/program/partition-line.ts';
import type { Bar } from '../../src/protocols/kline.ts';
import type { Trouble } from '../../src/protocols/partition.ts';
import { TRADE_FETCHED } from '../../src/protocols/trade-layout.ts';
import { type Trade, tradeRecords } from '../../src/protocols/trade-record.ts';
import { pinnedActor } from '../../src/supervision/remote/pinned-actor.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import { until } from '../books/harness.ts';

const SYMBOL = 7;
const NAME = 'BTCUSDT';
const RING = 1_024;
const TRADES_MAX = 100_000;
const NOW_US = BigInt(Date.now()) * 1000n;
const NEVER = (1n << 64n) - 1n;

const systems: ActorSystem[] = [];
afterEach(async () => {
  for (const system of systems.splice(0)) await system.stop();
});

function trade(n: number, symbol = SYMBOL): Trade {
  const id = BigInt(n);
  const ids = { firstId: id, lastId: id, sequence: id };
  return { symbol, takerBuy: true, timeUs: NOW_US + id, price: 100n + (id % 50n), amount: 1n, ...ids };
}

/** A worker on a thread of its own, and the ring that leads to it. */
async function startWorker(dense: boolean) {
  const line = new PartitionLine({ worker: 0, ringCapacity: RING, ports: 1 });
  const worker = pinnedActor({
    id: 'worker-0',
    module: new URL('../../src/actors/partition-worker/duty.js', import.meta.url),
    exportName: 'makePartitionWorker',
    block: line.block,
    prepare: () => ({ args: line.begin(['1m'], [READER.live]) }),
    idle: { kind: 'park', parkMs: 100 },
  });
  const system = new ActorSystem({ children: [worker] });
  systems.push(system);
  await system.start();
  await line.ask({ kind: 'add-symbol', symbol: SYMBOL, venue: 0, dense, sinceUs: NOW_US - 60_000_000n });
  const writer = new TradeWriter([line.edge('/feeds/binance')!]);
  writer.route([{ symbol: NAME, to: { worker: 0, index: SYMBOL } }]);
  return { line, writer };
}

/** A command that takes the worker many milliseconds, in which it does not look at its rings: a symbol with a long past. */
function occupy(line: PartitionLine): Promise<unknown> {
  const one = {
    symbol: 98,
    interval: '1m',
    openUs: NOW_US,
    closeUs: NOW_US,
    closed: true,
    quality: 'complete',
  } as const;
  const prices = { open: 1n, high: 1n, low: 1n, close: 1n, firstId: 0n, lastId: 0n, trades: 0n, nextSequence: 1n };
  const sums = { volume: 0n, quoteVolume: 0n, takerVolume: 0n, takerQuoteVolume: 0n, revision: 1 };
  const bars: Bar[] = Array.from({ length: 2_000 }, () => ({ ...one, ...prices, ...sums }));
  const stored = { bars, nextSequence: 1n, lastUs: NOW_US };
  return line.ask({ kind: 'add-symbol', symbol: 98, venue: 0, dense: true, sinceUs: NOW_US, stored });
}

async function troubleOf(line: PartitionLine): Promise<Trouble | undefined> {
  const reply = await line.ask({ kind: 'troubles', since: NEVER });
  return reply.kind === 'troubles' ? reply.troubles[0] : undefined;
}

async function barOf(line: PartitionLine) {
  const { bars } = await line.snapshot('live');
  return bars.find(({ interval }) => interval === '1m')!;
}

/** Writes without a pause, as an exchange does, until the ring has refused some. */
function flood(writer: TradeWriter) {
  const records = Array.from({ length: TRADES_MAX }, (_, n) => tradeRecords([trade(n)]));
  const refused: number[] = [];
  let hasUntoldLoss = false;
  let next = 0;
  for (; next < TRADES_MAX && refused.length < 5; next++) {
    if (hasUntoldLoss) hasUntoldLoss = !writer.lose(NAME);
    if (!hasUntoldLoss && writer.write(NAME, records[next]!, 0)) continue;
    refused.push(next);
    hasUntoldLoss = true;
  }
  return { next, refused };
}

describe('a ring that is full', () => {
  it.each([true, false])(
    'costs no bar: what it refused is a hole, known and filled (dense ids: %s)',
    async (dense) => {
      const { line, writer } = await startWorker(dense);
      const occupied = occupy(line);
      const { next, refused } = flood(writer);
      expect(refused.length).toBeGreaterThan(0);
      await occupied;
      await until(() => writer.lose(NAME), 'room for the mark');
      let trouble: Trouble | undefined;
      for (let looks = 0; looks < 100 && trouble?.suspectFromUs === undefined; looks++) trouble = await troubleOf(line);
      expect(trouble?.suspectFromUs).toBeDefined();
      expect((await barOf(line)).quality).toBe('gap');
      expect(writer.write(NAME, tradeRecords([trade(next)]), 0)).toBe(true);
      for (let looks = 0; looks < 100 && trouble?.expected !== BigInt(next) + 1n; looks++)
        trouble = await troubleOf(line);
      const missing = trouble!.holes.flatMap(({ first, last }) =>
        Array.from({ length: Number(last - first) + 1 }, (_, at) => Number(first) + at),
      );
      expect(missing).toEqual(expect.arrayContaining(refused));
      for (const { first, last } of trouble!.holes) {
        const bytes = tradeRecords(
          missing.filter((n) => n >= first && n <= last).map((n) => trade(n)),
          TRADE_FETCHED,
        );
        await line.ask({ kind: 'apply-trades', symbol: SYMBOL, bytes });
        await line.ask({ kind: 'resolve', symbol: SYMBOL, first, last });
      }
      expect(await barOf(line)).toMatchObject({ trades: BigInt(next + 1), quality: 'repaired' });
    },
    60_000,
  );
});
