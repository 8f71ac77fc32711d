import { describe, expect, it } from 'vitest';
import { APPLIED, APPLY_CHECKSUM_DIFFERS, APPLY_NO_BOOK, APPLY_THIN, BOOK_DELTA } from './assembly/lib/contract.ts';
import { DecodeKernel } from './decode.ts';
import type { Level } from './oracle/frame-oracle.ts';
import { kernelAnswer, walk } from './oracle/kernel-answer.ts';
import { Random, testSeed } from './oracle/random.ts';

const ROUTE = 3;

function kernelWith(levels: number, cut = 0, depth = 10): DecodeKernel {
  const kernel = new DecodeKernel({ depth, books: { count: 1, levels } });
  for (const name of ['BTC/USD', 'BTC-USD', 'BTCUSDT']) kernel.addRoute(name, ROUTE);
  kernel.openBook(ROUTE, 8, cut);
  return kernel;
}

const bytes = (text: string) => Buffer.from(text);

/** Applies a diff as Binance sends it. */
function diff(kernel: DecodeKernel, bids: readonly Level[], asks: readonly Level[], u = 1): number {
  const side = (levels: readonly Level[]) => levels.map(([price, amount]) => `["${price}","${amount}"]`).join(',');
  const frame = `{"e":"depthUpdate","E":1672515782136,"s":"BTCUSDT","U":${u},"u":${u},"b":[${side(bids)}],"a":[${side(asks)}]}`;
  expect(walk(kernel, 'binance', bytes(frame), 1)).toBe(BOOK_DELTA);
  return kernel.applyDelta(0);
}

function snapshot(kernel: DecodeKernel, bids: readonly Level[], asks: readonly Level[]): number {
  const side = (levels: readonly Level[]) => levels.map(([price, amount]) => `["${price}","${amount}"]`).join(',');
  const frame = `{"lastUpdateId":160,"bids":[${side(bids)}],"asks":[${side(asks)}]}`;
  expect(kernel.snapshot(bytes(frame), ROUTE)).toBe(BOOK_DELTA);
  return kernel.applyDelta(0);
}

/** The top of the book in whole units. */
function top(kernel: DecodeKernel): { bids: Level[]; asks: Level[] } | number {
  const code = kernel.topOfBook(ROUTE, 5);
  if (code !== APPLIED) return code;
  const answer = kernelAnswer(kernel, 1);
  if (answer.kind !== 'book') throw new Error('not a book');
  const whole = (levels: readonly Level[]) => levels.map(([p, a]): Level => [p / 100_000_000n, a / 100_000_000n]);
  return { bids: whole(answer.bids), asks: whole(answer.asks) };
}

describe('an incremental book', () => {
  const seed = testSeed();
  it(`holds what a map of prices holds (seed ${seed})`, () => {
    const random = new Random(seed);
    for (const cut of [0, 5, 10]) {
      const kernel = kernelWith(400, cut);
      const sides = [new Map<bigint, bigint>(), new Map<bigint, bigint>()] as const;
      const sorted = (side: 0 | 1) =>
        [...sides[side]].sort((a, b) => Number((a[0] - b[0]) * (side === 0 ? -1n : 1n))) as Level[];
      for (let round = 0; round < 2000; round++) {
        const made = [0, 1].map(() =>
          Array.from({ length: random.below(6) }, (): Level => [BigInt(1 + random.below(60)), BigInt(random.below(3))]),
        ) as [Level[], Level[]];
        const isSnapshot = random.chance(2);
        if (isSnapshot) for (const side of sides) side.clear();
        for (const side of [0, 1] as const) {
          for (const [price, amount] of made[side])
            if (amount === 0n) sides[side].delete(price);
            else sides[side].set(price, amount);
          for (const [price] of sorted(side).slice(cut === 0 ? 400 : cut)) sides[side].delete(price);
        }
        expect((isSnapshot ? snapshot : diff)(kernel, ...made)).toBe(APPLIED);
        expect(top(kernel)).toEqual({ bids: sorted(0).slice(0, 10), asks: sorted(1).slice(0, 10) });
      }
    }
  });

  it('takes a snapshot best first, and one in any order', () => {
    const kernel = kernelWith(100);
    const levels = Array.from({ length: 50 }, (_, n): Level => [BigInt(n + 1), 1n]);
    const best = { bids: [...levels].reverse().slice(0, 10), asks: levels.slice(0, 10) };
    snapshot(kernel, [...levels].reverse(), levels);
    expect(top(kernel)).toEqual(best);
    snapshot(kernel, levels, [...levels].reverse());
    expect(top(kernel)).toEqual(best);
  });

  it('says that it is thin when levels that it had to let go may belong to the top', () => {
    const kernel = kernelWith(12, 0, 10);
    const bids = Array.from({ length: 20 }, (_, n): Level => [BigInt(100 - n), 1n]);
    snapshot(kernel, bids, []);
    expect(top(kernel)).toEqual({ bids: bids.slice(0, 10), asks: [] });
    diff(
      kernel,
      [
        [100n, 0n],
        [99n, 0n],
        [85n, 7n],
      ],
      [],
    );
    expect(top(kernel)).toEqual({ bids: bids.slice(2, 12), asks: [] });
    diff(kernel, [[98n, 0n]], []);
    expect(top(kernel)).toBe(APPLY_THIN);
    snapshot(kernel, bids, []);
    expect(top(kernel)).toEqual({ bids: bids.slice(0, 10), asks: [] });
  });

  it('forgets the worst level when a better one comes and there is no room', () => {
    const kernel = kernelWith(3, 0, 3);
    diff(
      kernel,
      [
        [5n, 1n],
        [6n, 1n],
        [7n, 1n],
      ],
      [
        [10n, 1n],
        [11n, 1n],
        [12n, 1n],
      ],
    );
    diff(
      kernel,
      [
        [8n, 1n],
        [4n, 1n],
      ],
      [
        [9n, 1n],
        [13n, 1n],
      ],
    );
    expect(top(kernel)).toEqual({
      bids: [
        [8n, 1n],
        [7n, 1n],
        [6n, 1n],
      ],
      asks: [
        [9n, 1n],
        [10n, 1n],
        [11n, 1n],
      ],
    });
    diff(kernel, [[8n, 0n]], []);
    expect(top(kernel)).toBe(APPLY_THIN);
  });

  it('knows that a snapshot which was cut off says nothing about what lies beyond', () => {
    const kernel = kernelWith(100, 0, 3);
    snapshot(
      kernel,
      [
        [9n, 1n],
        [8n, 1n],
        [7n, 1n],
      ],
      [
        [10n, 1n],
        [11n, 1n],
        [12n, 1n],
      ],
    );
    kernel.endOfKnown(ROUTE, 3);
    diff(kernel, [[5n, 1n]], []);
    expect(top(kernel)).toEqual({
      bids: [
        [9n, 1n],
        [8n, 1n],
        [7n, 1n],
      ],
      asks: [
        [10n, 1n],
        [11n, 1n],
        [12n, 1n],
      ],
    });
    diff(kernel, [[7n, 0n]], []);
    expect(top(kernel)).toBe(APPLY_THIN);
  });

  it('answers that there is no book where none was opened', () => {
    const kernel = new DecodeKernel();
    kernel.addRoute('BTCUSDT', ROUTE);
    expect(diff(kernel, [[1n, 1n]], [])).toBe(APPLY_NO_BOOK);
    expect(kernel.topOfBook(ROUTE, 1)).toBe(APPLY_NO_BOOK);
  });
});

describe("Kraken's checksum", () => {
  const ASKS =
    '45285.2/0.00100000 45286.4/1.54571953 45286.6/1.54571109 45289.6/1.54560911 45290.2/0.15890660 45291.8/1.54553491 45294.7/0.04454749 45296.1/0.35380000 45297.5/0.09945542 45299.5/0.18772827';
  const BIDS =
    '45283.5/0.10000000 45283.4/1.54582015 45282.1/0.10000000 45281.0/0.10000000 45280.3/1.54592586 45279.0/0.07990000 45277.6/0.03310103 45277.5/0.30000000 45277.3/1.54602737 45276.6/0.15445238';
  const levels = (text: string) =>
    text
      .split(' ')
      .map((level) => level.split('/'))
      .map(([price, quantity]) => `{"price":${price},"qty":${quantity}}`)
      .join(',');
  const frame = (type: string, bids: string, asks: string, checksum: number) =>
    bytes(
      `{"channel":"book","type":"${type}","data":[{"symbol":"BTC/USD","bids":[${bids}],"asks":[${asks}],"checksum":${checksum},"timestamp":"2023-10-06T17:35:55.440295Z"}]}`,
    );

  it.each([8, 12])('proves the golden book at %d places', (decimals) => {
    const kernel = new DecodeKernel({ books: { count: 1, levels: 20 } });
    kernel.addRoute('BTC/USD', ROUTE, decimals);
    kernel.openBook(ROUTE, decimals, 10);
    walk(kernel, 'kraken', frame('snapshot', levels(BIDS), levels(ASKS), 3310070434), 1);
    expect(kernel.applyDelta(0)).toBe(APPLIED);
  });

  it('finds one digit that differs', () => {
    const kernel = kernelWith(20, 10);
    walk(
      kernel,
      'kraken',
      frame('snapshot', levels(BIDS), levels(ASKS.replace('1.54571953', '1.54571954')), 3310070434),
      1,
    );
    expect(kernel.applyDelta(0)).toBe(APPLY_CHECKSUM_DIFFERS);
  });

  it('counts a trailing zero of the text', () => {
    const kernel = kernelWith(20, 10);
    walk(kernel, 'kraken', frame('snapshot', levels(BIDS.replace('45281.0', '45281')), levels(ASKS), 3310070434), 1);
    expect(kernel.applyDelta(0)).toBe(APPLY_CHECKSUM_DIFFERS);
  });

  it('looks at the ten best levels after the book was cut', () => {
    const kernel = kernelWith(20, 10);
    walk(kernel, 'kraken', frame('snapshot', levels(`${BIDS} 45000.0/1.00000000`), levels(ASKS), 3310070434), 1);
    expect(kernel.applyDelta(0)).toBe(APPLIED);
    walk(kernel, 'kraken', frame('update', levels('45283.45/2.00000000'), '', 1), 1);
    expect(kernel.applyDelta(0)).toBe(APPLY_CHECKSUM_DIFFERS);
  });
});
