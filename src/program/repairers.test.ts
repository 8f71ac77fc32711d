import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { PartitionCommand } from '../protocols/partition.ts';
import { binance } from '../venues/binance/index.ts';
import { bitstamp } from '../venues/bitstamp/index.ts';
import { kraken } from '../venues/kraken/index.ts';
import type { Venue } from '../venues/venue.ts';
import { startRepairers } from './repairers.ts';
import { TradeFetch } from './trade-fetch.ts';
import { WindowFetch } from './window-fetch.ts';

const called = (venue: Venue, id: string): Venue => ({ ...venue, facts: { ...venue.facts, id } });
const venues = [binance, bitstamp, kraken, called(binance, 'acme'), called(bitstamp, 'bcme')];
const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

/** A venue that has one trade, and counts what it is asked. */
async function tape(): Promise<{ readonly url: string; readonly asked: string[] }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(new URL(request.url!, 'http://venue').searchParams.get('symbol')!);
    response.end(JSON.stringify([{ a: 1, p: '1', q: '1', f: 1, l: 1, T: 1_763_000_000_000, m: false }]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked };
}

describe('missing trades', () => {
  it('are fetched by number where the venue can, else by time, and else not', () => {
    const options = { restUrl: 'http://127.0.0.1:1', weightPerMinute: 100, nowUs: () => 0n, tell: async () => true };
    const repairers = startRepairers(venues, () => ({ ...options, nameOf: () => undefined }));
    expect([...repairers.keys()]).toEqual(['binance', 'bitstamp', 'acme', 'bcme']);
    expect([...repairers.values()].map((one) => [one instanceof TradeFetch, one instanceof WindowFetch])).toEqual([
      [true, false],
      [false, true],
      [true, false],
      [false, true],
    ]);
  });

  it('of two venues are asked of each at its own place, within its own budget', async () => {
    const tapes = { binance: await tape(), acme: await tape() };
    const told: PartitionCommand[] = [];
    const repairers = startRepairers([binance, called(binance, 'acme')], ({ facts }) => ({
      restUrl: tapes[facts.id as keyof typeof tapes].url,
      // Enough for one question of the first venue, and for none of the second.
      weightPerMinute: facts.id === 'binance' ? 8 : 7,
      nameOf: (symbol) => `SYMBOL${symbol}`,
      nowUs: () => 0n,
      tell: async (_symbol, command) => told.push(command) > 0,
    }));
    closing.push(...[...repairers.values()].map((one) => () => one.close()));
    const hole = { first: 1n, last: 1n, fromUs: 0n, toUs: 0n, isCoarse: false };
    for (const repairer of repairers.values()) {
      repairer.want([{ symbol: 5, holes: [hole], suspectFromUs: undefined, expected: 9n, deep: undefined }]);
    }
    while (told.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(told.map(({ kind }) => kind)).toEqual(['apply-trades', 'resolve']);
    expect([tapes.binance.asked, tapes.acme.asked]).toEqual([['SYMBOL5'], []]);
    expect([...repairers.values()].map(({ stats }) => [stats.asked, stats.waiting])).toEqual([
      [1, 0],
      [0, 1],
    ]);
  });
});
