import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { PartitionCommand } from '../protocols/partition.ts';
import { TRADE_BYTES } from '../protocols/trade-layout.ts';
import { binanceHistory } from '../venues/binance/history.ts';
import { TradeFetch } from './trade-fetch.ts';

const HUGE = '184467440738.00000000';

let server: Server;
afterEach(async () => {
  await new Promise((resolve) => server.close(resolve));
});

/** A venue whose trade 3 is larger than a record can say. */
async function venue(): Promise<string> {
  server = createServer((request, response) => {
    const query = new URL(request.url!, 'http://venue').searchParams;
    const from = Number(query.get('fromId'));
    const trades = Array.from({ length: Number(query.get('limit')) }, (_, at) => {
      const id = from + at;
      return { a: id, p: '0.5', q: id === 3 ? HUGE : '1.5', f: id, l: id, T: 1_763_000_000_000 + id, m: false };
    });
    response.end(JSON.stringify(trades));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('a trade that no record can hold', () => {
  it('is left out and its hole left open, whatever else of the range is filled', async () => {
    const told: PartitionCommand[] = [];
    const fetch = new TradeFetch(binanceHistory.tradesById, {
      weightPerMinute: 6_000,
      restUrl: await venue(),
      nameOf: () => 'BTTCUSDT',
      nowUs: () => 0n,
      tell: async (_symbol, command) => told.push(command) > 0,
    });
    const trouble = (first: bigint, last: bigint) => ({
      ...{ symbol: 1, suspectFromUs: undefined, expected: 9n, deep: undefined },
      holes: [{ first, last, fromUs: 0n, toUs: 0n, isCoarse: false }],
    });
    const isDone = async () => {
      while (fetch.stats.waiting > 0) await new Promise((resolve) => setImmediate(resolve));
    };
    fetch.want([trouble(1n, 5n)]);
    await isDone();
    expect(told.map((command) => [command.kind, 'bytes' in command ? command.bytes.length / TRADE_BYTES : 0])).toEqual([
      ['apply-trades', 4],
    ]);
    fetch.want([trouble(3n, 3n)]);
    fetch.want([trouble(6n, 7n)]);
    await isDone();
    expect(told.slice(1).map(({ kind }) => kind)).toEqual(['apply-trades', 'resolve']);
    expect(fetch.stats).toMatchObject({ asked: 2, done: 1, fetched: 6 });
    fetch.close();
  });
});

describe('an answer that nobody can read', () => {
  it('is counted as a failure, and its place goes to the next range', async () => {
    server = createServer((request, response) => {
      const isBad = new URL(request.url!, 'http://venue').searchParams.get('symbol') === 'BAD';
      const trade = { a: 1, p: isBad ? 'dear' : '1', q: '1', f: 1, l: 1, T: 1_763_000_000_000, m: false };
      response.end(JSON.stringify([trade]));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const told: PartitionCommand[] = [];
    const fetch = new TradeFetch(binanceHistory.tradesById, {
      weightPerMinute: 6_000,
      restUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      nameOf: (symbol) => (symbol < 3 ? 'BAD' : 'GOOD'),
      nowUs: () => 0n,
      tell: async (_symbol, command) => told.push(command) > 0,
    });
    const hole = { first: 1n, last: 1n, fromUs: 0n, toUs: 0n, isCoarse: false };
    fetch.want(
      [1, 2, 3].map((symbol) => ({
        ...{ symbol, holes: [hole], suspectFromUs: undefined, expected: 9n, deep: undefined },
      })),
    );
    while (told.length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(told.map(({ kind }) => kind)).toEqual(['apply-trades', 'resolve']);
    expect(fetch.stats).toMatchObject({ failed: 2, done: 1, waiting: 2 });
    fetch.close();
  });
});
