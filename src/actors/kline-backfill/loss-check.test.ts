import { describe, expect, it } from 'vitest';
import { type Bar, type BarFigures, compileIntervals } from '../../protocols/kline.ts';
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

/** A symbol with a second bar of one trade each second; `ours` and `theirs` say what is special, by seconds from the loss. */
function world(
  ours: (second: number) => Partial<Bar>,
  theirs: (symbol: string, second: number) => bigint | undefined,
  afterMs = AFTER_MS,
) {
  const clock = { us: LOSS_US, ms: 0 };
  const disproved: number[][] = [];
  const asked: (string | number)[][] = [];
  const state = { worker: true, answer: (_symbol: string): RestResult<BarFigures[]> | undefined => undefined };
  const secondOf = (us: bigint) => Number((us - LOSS_US) / SECOND_US);
  const store = {
    history: async ({ symbol, beforeUs, limit }: HistoryQuery) =>
      Array.from({ length: limit }, (_, at) => {
        const openUs = beforeUs - BigInt(at + 1) * SECOND_US;
        const ids = { firstId: 1n, lastId: 1n, nextSequence: 2n };
        const own = { symbol: 0, interval: '1s', quality: 'complete', closed: true, revision: 1 } as const;
        return { venue: 'acme', symbol, bar: { ...figures(openUs, 1n), ...ids, ...own, ...ours(secondOf(openUs)) } };
      }),
  } as unknown as KlineStore;
  const check = new LossCheck({
    venue: 'acme',
    use: (work) => work(store),
    history: {
      ...{ weight: 2, pageMax: 86_400 },
      fetch: async (_url, symbol, _interval, fromUs, limit) => {
        asked.push([symbol, secondOf(fromUs), limit]);
        const opens = Array.from({ length: limit }, (_, at) => fromUs + BigInt(at) * SECOND_US);
        const value = opens.flatMap((openUs) => {
          const trades = theirs(symbol, secondOf(openUs));
          return trades === undefined ? [] : [figures(openUs, trades)];
        });
        return state.answer(symbol) ?? { ok: true, value, usedWeight: undefined };
      },
    },
    restUrl: () => 'http://127.0.0.1:1',
    budget: { perMinute: 10_000, share: 1 },
    nameOf: (symbol) => ({ 7: 'btcusd', 9: 'ethusd' })[symbol],
    plan: () => compileIntervals(['1s']),
    disprove: async (_symbol, fromUs, toUs) => {
      if (state.worker) disproved.push([secondOf(fromUs), secondOf(toUs + 1n)]);
      return state.worker;
    },
    nowUs: () => clock.us,
    nowMs: () => clock.ms,
  });
  const turn = (seconds: number) => {
    clock.us = LOSS_US + BigInt(seconds) * SECOND_US;
    clock.ms = (seconds + 10_000) * 1000;
    return check.turn({ afterMs, everyMs: 1_000 }, () => false);
  };
  /** What came before this life was compared long ago. */
  const later = async () => {
    clock.us = LOSS_US - 1_000n * SECOND_US;
    for (const symbol of [7, 9]) check.note([troubled({ symbol, suspectFromUs: LOSS_US - 1_000n * SECOND_US })]);
    await turn(-900);
    asked.length = 0;
    disproved.length = 0;
    clock.us = LOSS_US;
  };
  return { check, turn, disproved, asked, state, later };
}

const usual = () => ({});
const lost = troubled({ suspectFromUs: LOSS_US });

describe('after a loss', () => {
  it('the bars of the minute before it are compared, once it was repaired for a while, and only once', async () => {
    const it = world(usual, (_, second) => ([-20, -19, -5].includes(second) ? 3n : 1n));
    await it.later();
    it.check.note([lost, troubled({ symbol: 8, suspectFromUs: LOSS_US })]);
    await it.turn(5);
    it.check.note([troubled({ holes: [hole(LOSS_US)] })]);
    await it.turn(14);
    expect([it.asked, it.disproved]).toEqual([[], []]);
    await it.turn(15);
    expect(it.asked).toEqual([['btcusd', -60, 61]]);
    expect(it.disproved).toEqual([
      [-20, -18],
      [-5, -4],
    ]);
    expect(it.check.figures).toEqual({ disproved: 3, unproven: 0 });
    await it.turn(60);
    expect(it.asked).toHaveLength(1);
  });

  it('nothing is said of bars that do not call themselves whole', async () => {
    const special: Record<number, Partial<Bar>> = { [-20]: { quality: 'gap' }, [-19]: { quality: 'partial-first' } };
    const it = world(
      (second) => special[second] ?? {},
      (_, second) => (second in special ? 3n : 1n),
    );
    await it.later();
    it.check.note([lost]);
    await it.turn(15);
    expect([it.asked.length, it.disproved]).toEqual([1, []]);
  });

  it('what is still open, or cannot be proven, is compared again: later and later, and at last given up and counted', async () => {
    let isOver = false;
    const open = { closed: false, revision: 0 } as const;
    const it = world(
      (second) => (second === 0 && !isOver ? open : {}),
      (_, second) => (second === -30 ? undefined : second === 0 ? 2n : 1n),
    );
    await it.later();
    it.check.note([lost]);
    await it.turn(15);
    expect(it.disproved).toEqual([]);
    isOver = true;
    const times: number[] = [];
    for (let second = 16; second < 1_200; second++) {
      const before = it.asked.length;
      await it.turn(second);
      if (it.asked.length > before) times.push(second);
    }
    expect(it.disproved[0]).toEqual([0, 1]);
    expect(times).toEqual([16, 18, 22, 30, 46, 78, 142, 270, 526]);
    expect(it.check.figures.unproven).toBe(1);
  });

  it('a symbol for which the venue fails holds up no other, and is compared when it does not fail any more', async () => {
    const it = world(usual, () => 2n);
    await it.later();
    it.check.note([lost, troubled({ symbol: 9, suspectFromUs: LOSS_US })]);
    it.state.answer = (symbol) =>
      symbol === 'btcusd' ? { ok: false, status: 503, retryAfterS: undefined, reason: 'closed' } : undefined;
    await it.turn(15);
    expect(it.asked.map(([symbol]) => symbol)).toEqual(['btcusd', 'ethusd']);
    expect(it.disproved).toHaveLength(1);
    it.state.answer = () => undefined;
    it.state.worker = false;
    await it.turn(16);
    it.state.worker = true;
    await it.turn(18);
    expect(it.disproved).toEqual([
      [-60, 1],
      [-60, 1],
    ]);
  });

  it('each of several losses has its minute, and the first of a life also what an earlier one had still to compare', async () => {
    const it = world(usual, (_, second) => (second === -5 || second === -65 ? 2n : 1n));
    it.check.note([lost]);
    await it.turn(5);
    it.check.note([troubled({ suspectFromUs: LOSS_US + 540n * SECOND_US })]);
    await it.turn(600);
    expect(it.asked).toEqual([['btcusd', -70, 611]]);
    expect(it.disproved).toEqual([
      [-65, -64],
      [-5, -4],
    ]);
  });

  it('so are those with which the program ended, where no worker goes on from them', async () => {
    const it = world(usual, (_, second) => (second === -65 ? 2n : 1n));
    it.check.noteStop(7, LOSS_US);
    it.check.noteStop(8, LOSS_US);
    await it.turn(10);
    await it.turn(20);
    expect(it.asked).toEqual([['btcusd', -70, 71]]);
    expect(it.disproved).toEqual([[-65, -64]]);
  });

  it('a symbol that has not traded, or whose bars are already given up, is not asked for', async () => {
    const it = world(usual, () => 2n);
    it.check.note([troubled({ suspectFromUs: 0n, holes: [hole(LOSS_US, true)] })]);
    await it.turn(60);
    expect(it.asked).toEqual([]);
  });
});
