import { describe, expect, it } from 'vitest';
import type { Trade } from '../protocols/trade-record.ts';
import { apply, kernelWith, read, START_US, trade } from './bars.fixture.ts';

/** Enough symbols that their trades are taken in runs; the one that is looked at is the fixture's. */
const CROWD = [4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
const STRANGER = 30;
/** What the kernel expects of a symbol in doubt: a number that no venue reaches. */
const LAST = (1n << 64n) - 1n;

const at = (seconds: number) => START_US + BigInt(Math.round(seconds * 1e6));

/** Trades 0 to 4, the one in question, and trades after it, of which the first may be in question too. */
function tale(...odd: Trade[]): Trade[] {
  return [...[0, 1, 2, 3, 4].map((n) => trade(n)), ...odd, trade(6), trade(7)];
}

/** What becomes of the symbol's trades when each comes between trades of the crowd, all of them in one batch. */
function outcome(trades: readonly Trade[], crowd: readonly number[]) {
  const kernel = kernelWith(['1s', '1m'], { symbolsMax: 16 });
  for (const symbol of [3, ...crowd]) kernel.add(symbol, symbol === 3 ? 0 : 1, true, START_US);
  // Everybody's first trade goes the long way.
  apply(kernel, ...crowd.map((symbol) => trade(0, { symbol })));
  // A clock of another venue has closed the first windows; the symbol's own has not.
  kernel.tick(0, START_US, 0n);
  kernel.tick(1, at(2), 0n);
  const told = trades.flatMap((one, index) => {
    const n = index + 1;
    const others = crowd.map((symbol) => trade(n, { symbol, timeUs: at(2 + index) }));
    return [...others.slice(0, 5), one, ...others.slice(5)];
  });
  const applied = apply(kernel, ...told) - crowd.length * trades.length;
  const { duplicates, late, unknown_symbols, malformed, holes } = kernel.counters();
  kernel.tick(0, at(20), 0n);
  const bars = read(kernel).filter(({ symbol }) => symbol === 3);
  return { applied, bars, counters: { duplicates, late, unknown_symbols, malformed, holes } };
}

describe('a run of trades', () => {
  it.each<[what: string, trades: Trade[]]>([
    ['in order', tale(trade(5))],
    ['in one window', [0, 1, 2, 3].map((n) => trade(n, { timeUs: at(n / 10) }))],
    ['stamped before the window of the last', tale(trade(5, { timeUs: at(3.5) }))],
    ['stamped before it, where another venue is further', tale(trade(5, { timeUs: at(1.5) }))],
    ['stamped hours ahead', tale(trade(5, { timeUs: at(7200) }))],
    ['stamped in another age', tale(trade(5, { timeUs: 1n << 63n }), trade(5))],
    ['at no time', tale(trade(5, { timeUs: 0n }), trade(5))],
    ['for nothing', tale(trade(5, { price: 0n }), trade(5))],
    ['for the largest price', tale(trade(5, { price: (1n << 64n) - 1n }))],
    ['of the largest amount', tale(trade(5, { amount: (1n << 64n) - 1n }))],
    ['of no amount', tale(trade(5, { amount: 0n }))],
    ['too large to be summed', tale(trade(5, { price: 1n << 57n, amount: 1n << 57n }), trade(5))],
    ['of so much that it cannot be summed', tale(trade(5, { price: 1n << 55n, amount: 1n << 58n }), trade(5))],
    ['again', tale(trade(5), trade(5))],
    ['with one left out', tale()],
    ['of a symbol that is not here', tale(trade(0, { symbol: STRANGER }), trade(5))],
    ['of a symbol that cannot be', tale(trade(0, { symbol: 4_000_000_000 }), trade(5))],
    ['of the last number', tale(trade(5, { sequence: LAST }))],
  ])('makes the same bars as one by one: %s', (_what, trades) => {
    const alone = outcome(trades, []);
    expect(alone.bars.length).toBeGreaterThan(0);
    expect(outcome(trades, CROWD)).toEqual(alone);
  });

  it('takes no trade of a symbol in doubt for the next, whatever its number', () => {
    const [alone, crowded] = [[], CROWD].map((crowd) => {
      const kernel = kernelWith(['1s'], { symbolsMax: 16 });
      for (const symbol of [3, ...crowd]) kernel.add(symbol, 0, true, START_US);
      apply(kernel, trade(0), ...crowd.map((symbol) => trade(0, { symbol })));
      kernel.doubt(3, at(1));
      apply(kernel, trade(1, { sequence: LAST }));
      return { holes: kernel.counters().holes, troubles: kernel.troubles() };
    });
    expect(alone?.holes).toBe(1n);
    expect(crowded).toEqual(alone);
  });
});
