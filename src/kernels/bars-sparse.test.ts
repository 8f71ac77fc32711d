import { describe, expect, it } from 'vitest';
import { TRADE_BYTES, TRADE_FETCHED, TRADE_OFFERED } from '../protocols/trade-layout.ts';
import { tradeRecords } from '../protocols/trade-record.ts';
import { apply, brief, kernelWith, lossOf, read, SECOND_US, START_US, tickTo, trade } from './bars.fixture.ts';
import type { BarsKernel } from './bars.ts';

describe('trade ids', () => {
  const sparse = (n: number) => trade(n, { sequence: BigInt(n) * 1000n });
  const fetched = (...numbers: number[]) => tradeRecords(numbers.map(sparse), TRADE_FETCHED);
  const put = (kernel: BarsKernel, records: Uint8Array) => {
    kernel.input.set(records);
    return kernel.apply(records.length / TRADE_BYTES);
  };

  it('that are sparse are trusted in order; a loss is a hole until the fetcher has read it all', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, false, START_US);
    expect(apply(kernel, sparse(0), sparse(2), sparse(1), sparse(2))).toBe(3);
    expect(put(kernel, lossOf(3))).toBe(0);
    tickTo(kernel, 6);
    expect(read(kernel).map(({ quality }) => quality)).toEqual(['complete', 'complete', 'gap', 'gap', 'gap', 'gap']);
    apply(kernel, sparse(9));
    expect(kernel.troubles()[0]!.holes).toMatchObject([{ first: 2001n, last: 8999n }]);
    expect(apply(kernel, sparse(6))).toBe(0);
    expect(put(kernel, fetched(4, 5, 4, 6, 5))).toBe(3);
    expect(kernel.troubles()[0]!.holes).toMatchObject([{ first: 6001n, last: 8999n }]);
    expect(kernel.resolve(3, 2001n, 8999n)).toBe(true);
    expect(kernel.troubles()).toEqual([]);
    tickTo(kernel, 10);
    const bars = read(kernel);
    expect(bars.map(({ trades }) => Number(trades))).toEqual([1, 0, 1, 1, 1, 0, 0, 1]);
    expect(bars.some(({ quality }) => quality === 'gap')).toBe(false);
  });

  it('that are sparse and come so late that they may be duplicates make their bar a gap', () => {
    const kernel = kernelWith(['1s'], { baseDepth: 256 });
    kernel.add(3, 0, false, START_US);
    const numbers = Array.from({ length: 200 }, (_, n) => n).filter((n) => n !== 10 && n !== 190);
    apply(kernel, ...numbers.map(sparse));
    tickTo(kernel, 200);
    read(kernel);
    expect(apply(kernel, sparse(190), sparse(10), sparse(199))).toBe(1);
    const changed = read(kernel).filter(({ openUs }) => openUs <= START_US + 190n * SECOND_US);
    expect(brief(changed.filter(({ quality }) => quality === 'gap'))).toEqual(['10 gap r3 n0']);
    expect(brief(changed)).toContain('190 complete r2 n1');
  });

  it('that are sparse and offered count only where they were certainly never seen', () => {
    const offered = (...numbers: number[]) => tradeRecords(numbers.map(sparse), TRADE_OFFERED);
    const kernel = kernelWith(['1s'], { baseDepth: 256 });
    kernel.add(3, 0, false, START_US);
    const upTo = (from: number, end: number, ...without: number[]) =>
      Array.from({ length: end - from }, (_, at) => from + at).filter((n) => !without.includes(n));
    apply(kernel, ...upTo(0, 20, 10).map(sparse));
    expect(put(kernel, offered(9, 10, 11))).toBe(0);
    apply(kernel, ...upTo(20, 200, 25, 190).map(sparse));
    put(kernel, lossOf(3));
    apply(kernel, sparse(205));
    expect(put(kernel, offered(25, 189, 190, 191, 199, 202))).toBe(1);
    expect(kernel.troubles()[0]!.holes).toMatchObject([{ first: 199_001n, last: 204_999n }]);
    expect(put(kernel, offered(190))).toBe(0);
  });

  it('that are sparse and begin anew leave a gap from the last bar on, and bars go on', () => {
    const kernel = kernelWith(['1s'], { baseDepth: 256 });
    kernel.add(3, 0, false, START_US);
    const numbers = Array.from({ length: 150 }, (_, n) => n);
    apply(kernel, ...numbers.map((n) => trade(n, { sequence: BigInt(n + 1_000) * 1000n })));
    put(kernel, lossOf(3));
    tickTo(kernel, 160);
    expect(brief(read(kernel).slice(148))).toEqual(['148 complete r1 n1', ...upTo(149, 160, 'gap r1')]);
    apply(kernel, sparse(162), sparse(164), sparse(163), sparse(162));
    tickTo(kernel, 166);
    const after = read(kernel);
    expect(brief(after)).toEqual([
      ...upTo(149, 160, 'gap r2'),
      ...[
        '160 gap r2 n0',
        '161 gap r2 n0',
        '162 gap r1 n1',
        '163 complete r1 n1',
        '164 complete r1 n1',
        '165 quiet r2 n0',
      ],
    ]);
    expect(kernel.troubles().flatMap(({ holes }) => holes.filter(({ isCoarse }) => !isCoarse))).toEqual([]);
    expect(kernel.troubles()[0]).toMatchObject({ suspectFromUs: undefined });
  });
});

const upTo = (from: number, end: number, what: string) =>
  Array.from({ length: end - from }, (_, at) => `${from + at} ${what} n${from + at === from ? 1 : 0}`);
