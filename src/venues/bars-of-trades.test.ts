import { describe, expect, it } from 'vitest';
import type { Trade } from '../protocols/trade-record.ts';
import { barsFrom, barsOfTrades } from './bars-of-trades.ts';
import type { TradeWindows, WindowName } from './history.ts';

const SECOND_US = 1_000_000n;
const START_US = 1_763_000_000n * SECOND_US;

/** `at` seconds after the start, at a price, of an amount. */
function trade(at: number, id: number, price: number, amount = 1, takerBuy = true): Trade {
  const ids = { firstId: BigInt(id), lastId: BigInt(id), sequence: BigInt(id) };
  const timeUs = START_US + BigInt(at) * SECOND_US;
  return { symbol: 0, takerBuy, timeUs, price: BigInt(price), amount: BigInt(amount), ...ids };
}
const from = (trades: readonly Trade[], at: number, limit = 10) =>
  barsFrom(trades, '1s', START_US + BigInt(at) * SECOND_US, limit).map(({ openUs, closeUs, ...figures }) => {
    expect(closeUs).toBe(openUs + SECOND_US - 1n);
    const { open, high, low, close, volume, quoteVolume, takerVolume, takerQuoteVolume, trades: count } = figures;
    return [
      Number((openUs - START_US) / SECOND_US),
      open,
      high,
      low,
      close,
      volume,
      quoteVolume,
      takerVolume,
      takerQuoteVolume,
      count,
    ].map(Number);
  });

describe('bars of a list of trades', () => {
  it('have every figure, carry the price through quiet windows, and end before the newest trade', () => {
    const trades = [
      trade(0, 1, 5),
      trade(1, 2, 10, 3),
      trade(1, 3, 8, 2, false),
      trade(1, 4, 9),
      trade(3, 5, 11),
      trade(4, 6, 7),
    ];
    expect(from(trades, 1)).toEqual([
      [1, 10, 10, 8, 9, 6, 55, 4, 39, 3],
      [2, 9, 9, 9, 9, 0, 0, 0, 0, 0],
      [3, 11, 11, 11, 11, 1, 11, 1, 11, 1],
    ]);
    expect(from(trades, 1, 2)).toHaveLength(2);
    expect(from(trades, 2)[0]).toEqual([2, 9, 9, 9, 9, 0, 0, 0, 0, 0]);
  });

  it('take opening and close in the order of the ids, whatever the times say', () => {
    expect(from([trade(0, 1, 5), trade(2, 2, 6), trade(1, 3, 7), trade(1, 4, 8), trade(3, 5, 9)], 1)).toEqual([
      [1, 7, 8, 7, 8, 2, 15, 2, 15, 2],
      [2, 6, 6, 6, 6, 1, 6, 1, 6, 1],
    ]);
  });

  it('begin where the list cannot be cut', () => {
    const trades = [trade(1, 2, 10), trade(2, 3, 11), trade(3, 4, 12)];
    expect(from(trades, 0)).toEqual(from(trades, 2));
    expect(from(trades, 2)).toEqual([[2, 11, 11, 11, 11, 1, 11, 1, 11, 1]]);
    expect(from([], 1)).toEqual([]);
  });

  it('come of the last hour if that reaches back far enough, else of the day', async () => {
    const asked: WindowName[] = [];
    const lists = { minute: [], hour: [trade(9, 5, 1), trade(11, 6, 1)], day: [trade(0, 1, 1), trade(11, 6, 1)] };
    const clock = { at: 0 };
    const windows: TradeWindows = {
      weight: 1,
      fetch: async (_, __, window) => {
        asked.push(window);
        return { ok: true, value: lists[window], usedWeight: undefined };
      },
    };
    const history = barsOfTrades(windows, () => START_US + BigInt(clock.at) * SECOND_US);
    const count = async (at: number) => {
      const answer = await history.fetch('', 'x', '1s', START_US + BigInt(at) * SECOND_US, 100);
      return answer.ok ? answer.value.length : answer;
    };
    expect([await count(10), await count(5), await count(0)]).toEqual([1, 6, 10]);
    expect(asked).toEqual(['hour', 'hour', 'day', 'hour', 'day']);
    // The time shows that a window is over where nothing was traded since.
    clock.at = 72;
    expect(await count(10)).toBe(2);
  });
});
