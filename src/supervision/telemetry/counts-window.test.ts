import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CountsWindow, WINDOW_MS } from './counts-window.ts';

describe('counts of the last minute', () => {
  it('are all of them at first, and forget what is older', () => {
    const window = new CountsWindow();
    const counts = [5, 0];
    expect(window.of(counts, 1000)).toEqual([5, 0]);
    counts[1] = 3;
    for (let second = 2; second <= 60; second++) expect(window.of(counts, second * 1000)).toEqual([5, 3]);
    for (let second = 61; second <= 90; second++) window.of(counts, second * 1000);
    expect(window.of(counts, 91_000)).toEqual([0, 0]);
    counts[0] = 6;
    expect(window.of(counts, 92_000)).toEqual([1, 0]);
  });

  it('goes on where counts wrap', () => {
    const window = new CountsWindow();
    for (let second = 0; second <= 130; second++) window.of([2 ** 32 - 1 + second], second * 1000);
    const [added] = window.of([2 ** 32 - 1 + 131], 131_000);
    expect(added).toBeGreaterThanOrEqual(60);
    expect(added).toBeLessThanOrEqual(71);
  });

  it('holds what was counted within the window, and little more, whenever it is looked at once a second', () => {
    const arrivals = fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 400 });
    fc.assert(
      fc.property(arrivals, (perSecond) => {
        const window = new CountsWindow();
        let total = 0;
        perSecond.forEach((count, second) => {
          total += count;
          const [shown] = window.of([total], second * 1000);
          const within = (ms: number) => perSecond.slice(Math.max(0, second - ms / 1000 + 1), second + 1);
          const sum = (counts: readonly number[]) => counts.reduce((one, two) => one + two, 0);
          expect(shown).toBeGreaterThanOrEqual(sum(within(WINDOW_MS)));
          expect(shown).toBeLessThanOrEqual(sum(within(WINDOW_MS + 11_000)));
        });
      }),
    );
  });
});
