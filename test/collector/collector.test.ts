import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Collector } from '../../src/actors/collector/collector.ts';
import { closeAll, simulator } from '../../src/venues/simulation/rig.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';
import { eventsIn, expectedTrades, RedisRig, startCollector, subscribed, tradesOf, until, VENUES } from './harness.ts';

let redis: RedisRig;
let url: string;
let sim: Simulator;
let collector: Collector | undefined;

beforeEach(async () => {
  redis = new RedisRig();
  url = await redis.start();
  sim = await simulator({ symbols: ['BTC-USD', 'ETH-USD'], rate: 10 });
});

afterEach(async () => {
  await collector?.stop(1000);
  collector = undefined;
  await closeAll();
  await redis.erase();
});

const sentTrades = () =>
  VENUES.flatMap((venue) => [0, 1].map((index) => expectedTrades(sim, venue, index).length)).reduce((a, b) => a + b);

async function allTradesTaken(running: Collector): Promise<void> {
  await until('all trades to be taken', () => (running.status().accepted['trade'] ?? 0) >= sentTrades());
}

async function allAppended(running: Collector): Promise<void> {
  await until('the outbox to be empty', () => running.status().waiting === 0);
}

async function expectEveryTradeOnce(): Promise<void> {
  const events = await eventsIn(url);
  for (const venue of VENUES) {
    for (const index of [0, 1]) {
      const expected = expectedTrades(sim, venue, index);
      expect(expected.length).toBeGreaterThan(20);
      expect(tradesOf(events, venue, index)).toEqual(expected);
    }
  }
}

describe('the collector', () => {
  it('appends every trade that was sent while it was connected, once, in order, with exact fields', async () => {
    collector = startCollector(sim, url);
    await subscribed(collector);
    sim.advance(150);
    await allTradesTaken(collector);
    sim.fault({ kind: 'disconnect' });
    await until('the losses to be seen', () =>
      collector!.status().connections.every(({ reconnections }) => reconnections === 1),
    );
    await subscribed(collector);
    sim.fault({ kind: 'duplicate', count: 50 });
    sim.advance(150);
    await allTradesTaken(collector);
    await allAppended(collector);
    await expectEveryTradeOnce();
    const events = await eventsIn(url);
    for (const name of [...VENUES.map((venue) => `${venue}-0`), 'collector']) {
      const ids = events.filter(({ connection }) => connection === name).map(({ id }) => id);
      expect(ids.length).toBeGreaterThan(0);
      expect(ids).toEqual([...new Set(ids)].sort());
    }
    // The heartbeat comes on a timer, at its own time.
    const kinds = ['heartbeat', 'orderbook', 'quote', 'status', 'trade'];
    await until('all kinds of events', async () => {
      const seen = new Set((await eventsIn(url)).map(({ type }) => type));
      return kinds.every((kind) => seen.has(kind)) && seen.size === kinds.length;
    });
  });

  it('holds events while Redis is away and loses none of them while there is room', async () => {
    collector = startCollector(sim, url);
    await subscribed(collector);
    sim.advance(100);
    await allTradesTaken(collector);
    await redis.stop();
    sim.advance(100);
    await allTradesTaken(collector);
    await until('the outage to be seen', () => collector!.status().redis.kind === 'away');
    await redis.start();
    sim.advance(100);
    await allTradesTaken(collector);
    await allAppended(collector);
    await expectEveryTradeOnce();
    expect(collector.status().dropped).toEqual({});
  });

  it('drops beyond its limit, counts what it drops, and says so when Redis is back', async () => {
    await redis.stop();
    collector = startCollector(sim, url, { outbox: { messages: 100, bytes: 2 ** 26 } });
    await subscribed(collector);
    sim.advance(300);
    const taken = () => (collector!.status().accepted['trade'] ?? 0) + (collector!.status().dropped['trade'] ?? 0);
    await until('all trades to be seen', () => taken() === sentTrades());
    const { accepted, dropped } = collector.status();
    expect(dropped['trade']).toBeGreaterThan(0);
    expect(Object.values(accepted).reduce((a, b) => a + b)).toBe(100);
    await redis.start();
    await allAppended(collector);
    let told: unknown;
    await until('a status that tells of the drops', async () => {
      const statuses = (await eventsIn(url)).filter(({ type }) => type === 'status').map(({ payload }) => payload);
      told = statuses.at(-1)?.['dropped'];
      return (told as Record<string, number> | undefined)?.['trade'] === dropped['trade'];
    });
    const stored = (await eventsIn(url)).filter(({ type }) => type === 'trade');
    expect(stored).toHaveLength(accepted['trade']!);
  });

  it('leaves a stream alone that nobody reads, and goes on when there is room again', async () => {
    collector = startCollector(sim, url, { backlogMax: 10, outbox: { messages: 5000, bytes: 2 ** 26 } });
    await subscribed(collector);
    sim.advance(50);
    await until('the backlog to be seen', () => collector!.status().redis.kind === 'backlogged');
    const reader = new Redis(url, { protocol: 2 });
    sim.advance(20);
    await allTradesTaken(collector);
    const before = collector.status().appended;
    await reader.del('events');
    await until('more to be appended', () => collector!.status().appended > before);
    reader.disconnect();
  });
});
