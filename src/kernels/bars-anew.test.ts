import { describe, expect, it } from 'vitest';
import type { Trouble } from '../protocols/partition.ts';
import { apply, brief, kernelWith, read, SECOND_US, START_US, tickTo, trade } from './bars.fixture.ts';

describe('a venue that numbers its trades anew', () => {
  it('leaves a gap from the last bar on, and bars go on', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    const [second, minute] = [SECOND_US, 60n * SECOND_US];
    apply(kernel, trade(1000, { timeUs: START_US }), trade(1002, { timeUs: START_US + second }));
    tickTo(kernel, 3);
    expect(brief(read(kernel))).toEqual(['0 gap r1 n1', '1 gap r1 n1', '2 quiet r1 n0']);
    // Old, or a little out of order: nothing that was not counted.
    expect(apply(kernel, trade(999, { timeUs: START_US + second }))).toBe(0);
    apply(kernel, trade(7, { timeUs: START_US + 4n * second }), trade(8, { timeUs: START_US + 5n * second }));
    tickTo(kernel, 6);
    expect(brief(read(kernel))).toEqual([
      '0 gap r2 n1',
      '1 gap r2 n1',
      '2 gap r2 n0',
      '3 gap r2 n0',
      '4 gap r1 n1',
      '5 complete r1 n1',
    ]);
    expect(kernel.troubles().flatMap(({ holes }) => holes.filter(({ isCoarse }) => !isCoarse))).toEqual([]);
    apply(kernel, trade(9, { timeUs: START_US + minute }));
    tickTo(kernel, 61);
    expect(brief(read(kernel)).at(-1)).toBe('60 complete r1 n1');
  });

  it('is not seen in a trade that the stored bars have already, however long after their opening it was', () => {
    const before = kernelWith(['1m']);
    before.add(3, 0, true, START_US);
    apply(before, ...Array.from({ length: 50 }, (_, n) => trade(n)));
    const stored = read(before);
    const after = kernelWith(['1m']);
    after.add(3, 0, true, START_US);
    for (const bar of stored) after.seed(bar);
    after.resume(3, 50n, START_US);
    expect(apply(after, trade(40), trade(49), trade(50))).toBe(1);
    expect(after.troubles()).toEqual([]);
    expect(read(after)).toMatchObject([{ trades: 51n, quality: 'repaired' }]);
  });

  it('is not seen in a duplicate, however much later than the last trade that was stamped', () => {
    const at = (n: number, seconds: number) => trade(n, { timeUs: START_US + BigInt(seconds) * SECOND_US });
    for (const intervals of [['1s', '1m'], ['1m']]) {
      const kernel = kernelWith(intervals);
      kernel.add(3, 0, true, START_US);
      // The last of these is stamped long before those that it follows: one in order, one that filled a hole.
      apply(kernel, at(0, 1), at(1, 20), at(3, 6), at(2, 25), at(4, 5));
      const counted = read(kernel);
      expect(apply(kernel, at(1, 20), at(2, 25))).toBe(0);
      expect(kernel.troubles()).toEqual([]);
      expect(read(kernel)).toEqual([]);
      expect(counted.reduce((sum, bar) => sum + (bar.interval === '1m' ? bar.trades : 0n), 0n)).toBe(5n);
      expect(apply(kernel, at(5, 26), at(1, 40))).toBe(2);
      expect(kernel.troubles()[0]!.holes).toMatchObject([{ isCoarse: true }]);
    }
  });
});

describe('after a restart', () => {
  it('trades that the last stored bar lacks leave it alone to be rebuilt, and no window after it is left out', () => {
    const at = (n: number, tenths: number) => trade(n, { timeUs: START_US + (BigInt(tenths) * SECOND_US) / 10n });
    const before = kernelWith(['1s']);
    before.add(3, 0, true, START_US);
    apply(before, at(0, 0), at(1, 11));
    tickTo(before, 3);
    const stored = read(before);
    expect(brief(stored)).toEqual(['0 complete r1 n1', '1 complete r1 n1', '2 quiet r1 n0']);
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    kernel.seed(stored.at(-1)!);
    kernel.resume(3, 2n, stored.at(-1)!.openUs);
    // The feed ended within second 1, and goes on in second 8.
    apply(kernel, at(6, 80));
    apply(kernel, at(2, 15), at(3, 18), at(4, 40), at(5, 55));
    tickTo(kernel, 9);
    const bars = read(kernel);
    expect(bars.map((bar) => [Number((bar.openUs - START_US) / SECOND_US), Number(bar.trades), bar.close])).toEqual([
      ...[
        [3, 0, 103n],
        [4, 1, 104n],
        [5, 1, 105n],
        [6, 0, 105n],
        [7, 0, 105n],
        [8, 1, 106n],
      ],
    ]);
    expect(bars.some(({ quality }) => quality === 'gap')).toBe(false);
    const second = (n: number) => START_US + BigInt(n) * SECOND_US;
    const [{ deep, holes }] = kernel.troubles() as [Trouble];
    expect(holes).toEqual([]);
    expect(deep!.fromUs < second(2) && deep!.toUs < second(3)).toBe(true);
  });
});
