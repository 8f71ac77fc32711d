import { describe, expect, it } from 'vitest';
import { type Bar, type BarFigures, compileIntervals, type Quality } from '../../protocols/kline.ts';
import type { Hole, Trouble } from '../../protocols/partition.ts';
import type { RestResult } from '../../protocols/rest.ts';
import type { HistoryQuery, KlineStore } from '../kline-persistence/store.ts';
import { LossCheck } from './loss-check.ts';

const SECOND_US = 1_000_000n;
const LOSS_US = 1_763_000_000n * SECOND_US;
const AFTER_MS = 10_000;

const figures = (openUs: bigint, trades: bigint): BarFigures => ({
  ...{ openUs, closeUs: openUs + SECOND_US - 1n, open: 1n, high: 1n, low: 1n, close: 1n },
  ...{ trades, volume: trades, quoteVolume: trades, takerVolume: 0n, takerQuoteVolume: 0n },
});

const troubled = (more: Partial<Trouble>): Trouble => ({
  ...{ symbol: 7, holes: [], suspectFromUs: undefined, expected: 1n, deep: undefined },
  ...more,
});
const hole = (fromUs: bigint, isCoarse = false): Hole => ({ first: 1n, last: 2n, fromUs, toUs: fromUs, isCoarse });

/** A symbol with a second bar of one trade each second; `qualityOf` and `theirsOf` say what is special, by seconds from the loss. */
function world(qualityOf: (second: number) => Quality, theirsOf: (second: number) => bigint | undefined) {
  const clock = { us: LOSS_US };
  const disproved: number[][] = [];
  const asked: number[][] = [];
  const state = { worker: true, answer: undefined as RestResult<BarFigures[]> | undefined, wait: false };
  const secondOf = (us: bigint) => Number((us - LOSS_US) / SECOND_US);
  const store = {
    history: async ({ beforeUs, limit }: HistoryQuery) =>
      Array.from({ length: limit }, (_, at) => {
        const openUs = beforeUs - BigInt(at + 1) * SECOND_US;
        const state = { symbol: 0, interval: '1s', quality: qualityOf(secondOf(openUs)), closed: true } as const;
        const ids = { firstId: 1n, lastId: 1n, nextSequence: 2n };
        const bar: Bar = { ...figures(openUs, 1n), ...state, revision: 1, ...ids };
        return { venue: 'acme', symbol: 'btcusd', bar };
      }),
  } as unknown as KlineStore;
  const check = new LossCheck({
    venue: 'acme',
    use: (work) => work(store),
    history: {
      ...{ weight: 2, pageMax: 86_400 },
      fetch: async (_url, _symbol, _interval, fromUs, limit) => {
        asked.push([secondOf(fromUs), limit]);
        const opens = Array.from({ length: limit }, (_, at) => fromUs + BigInt(at) * SECOND_US);
        const value = opens.flatMap((openUs) => {
          const trades = theirsOf(secondOf(openUs));
          return trades === undefined ? [] : [figures(openUs, trades)];
        });
        return state.answer ?? { ok: true, value, usedWeight: undefined };
      },
    },
    restUrl: () => 'http://127.0.0.1:1',
    budget: { perMinute: 1_000, share: 1 },
    nameOf: (symbol) => (symbol === 7 ? 'btcusd' : undefined),
    plan: () => compileIntervals(['1s']),
    disprove: async (_symbol, fromUs, toUs) => {
      if (state.worker) disproved.push([secondOf(fromUs), secondOf(toUs + 1n)]);
      return state.worker;
    },
    nowUs: () => clock.us,
    nowMs: () => 0,
  });
  const turn = (seconds: number) => {
    clock.us = LOSS_US + BigInt(seconds) * SECOND_US;
    return check.turn(AFTER_MS, () => false);
  };
  return { check, turn, disproved, asked, state };
}

describe('after a loss', () => {
  it('the bars of the minute before it are compared, once it was repaired for a while, and only once', async () => {
    const it = world(
      () => 'complete',
      (second) => (second === -20 || second === -5 ? 3n : 1n),
    );
    it.check.note([troubled({ suspectFromUs: LOSS_US }), troubled({ symbol: 8, suspectFromUs: LOSS_US })]);
    await it.turn(5);
    it.check.note([troubled({ holes: [hole(LOSS_US)] })]);
    await it.turn(14);
    expect([it.asked, it.disproved]).toEqual([[], []]);
    await it.turn(15);
    expect(it.asked).toEqual([[-60, 61]]);
    expect(it.disproved).toEqual([[-20, -4]]);
    expect(it.check.disproved).toBe(2);
    await it.turn(60);
    expect(it.asked).toHaveLength(1);
  });

  it('nothing is said of bars that do not call themselves whole, nor of those that the venue cannot prove', async () => {
    const it = world(
      (second) => (second === -20 ? 'gap' : second === -19 ? 'partial-first' : 'complete'),
      (second) => (second === -20 || second === -19 ? 3n : second === -30 ? undefined : 1n),
    );
    it.check.note([troubled({ suspectFromUs: LOSS_US })]);
    expect(await it.turn(15)).toBeUndefined();
    expect([it.asked.length, it.disproved]).toEqual([1, []]);
  });

  it('what the venue or the worker hinders is told and done later, what the venue does not know is left', async () => {
    const it = world(
      () => 'complete',
      () => 2n,
    );
    it.check.note([troubled({ suspectFromUs: LOSS_US })]);
    it.state.answer = { ok: false, status: 503, retryAfterS: undefined, reason: 'closed' };
    expect(await it.turn(15)).toBe('btcusd 1s: 503 closed');
    it.state.answer = undefined;
    it.state.worker = false;
    expect(await it.turn(16)).toBe('btcusd 1s: its worker did not answer');
    it.state.worker = true;
    expect(await it.turn(17)).toBeUndefined();
    expect(it.disproved).toEqual([[-60, 1]]);
    it.check.note([troubled({ suspectFromUs: LOSS_US })]);
    it.state.answer = { ok: false, status: 404, retryAfterS: undefined, reason: 'unknown' };
    expect(await it.turn(40)).toBeUndefined();
    expect(await it.turn(60)).toBeUndefined();
    expect(it.asked).toHaveLength(4);
  });

  it('a symbol that has not traded, or whose bars are already given up, is not asked for', async () => {
    const it = world(
      () => 'complete',
      () => 2n,
    );
    it.check.note([troubled({ suspectFromUs: 0n, holes: [hole(LOSS_US, true)] })]);
    await it.turn(60);
    expect(it.asked).toEqual([]);
  });
});
