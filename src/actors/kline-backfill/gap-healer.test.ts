import { describe, expect, it } from 'vitest';
import { compileIntervals, type Interval, type TradedBar } from '../../protocols/kline.ts';
import type { BarHistory } from '../../venues/history.ts';
import {
  type DeepSpan,
  type GapBar,
  type GapQuery,
  type LostWindows,
  MARKED_MAX,
} from '../kline-persistence/gap-bars.ts';
import type { NamedBar } from '../kline-persistence/rows.ts';
import type { KlineStore } from '../kline-persistence/store.ts';
import { GapHealer, type GapHealerOptions, pagesOf } from './gap-healer.ts';

const SECOND_US = 1_000_000n;
const NOW_US = 1_763_000_000n * SECOND_US;
const gap = (at: number, symbol = 'BTCUSDT', interval: Interval = '1s'): GapBar => ({
  ...{ symbol, interval, openUs: BigInt(at) * SECOND_US },
});

const figures = (openUs: bigint): TradedBar => ({
  ...{ openUs, closeUs: openUs + SECOND_US - 1n, open: 1n, high: 1n, low: 1n, close: 1n, firstId: 1n, lastId: 1n },
  ...{ trades: 1n, volume: 1n, quoteVolume: 1n, takerVolume: 0n, takerQuoteVolume: 0n },
});

describe('gap bars', () => {
  it('are asked for by series, and in as few pages as hold them', () => {
    const pages = pagesOf([gap(10), gap(60, 'BTCUSDT', '1m'), gap(12), gap(1009), gap(1010), gap(11, 'ETHUSDT')], 1000);
    expect(pages.map(({ symbol, interval, opens, limit }) => [symbol, interval, opens.length, limit])).toEqual([
      ['BTCUSDT', '1s', 3, 1000],
      ['BTCUSDT', '1s', 1, 1],
      ['BTCUSDT', '1m', 1, 1],
      ['ETHUSDT', '1s', 1, 1],
    ]);
  });
});

type Parts = Pick<GapHealerOptions, 'nameOf' | 'taken' | 'nowUs' | 'nowMs'> &
  Partial<Pick<GapHealerOptions, 'onRevised' | 'plan'>> &
  Pick<BarHistory, 'fetch'>;

/** Looks every second for gaps that ended at least ten seconds ago. */
function healerOf(store: KlineStore, { fetch, ...parts }: Parts): GapHealer {
  return new GapHealer({
    venue: 'binance',
    settings: () => ({ enabled: true, everyMs: 1_000, afterMs: 10_000, lookBackMs: 60_000 }),
    use: (work) => work(store),
    release: async () => {},
    history: { weight: 2, pageMax: 1000, fetch },
    restUrl: () => 'http://127.0.0.1:1',
    budget: { perMinute: 10_000, share: 1 },
    plan: () => undefined,
    onRevised: () => {},
    ...parts,
  });
}

describe('a span that is out of the reach of its worker', () => {
  it('is marked where it is stored once it is over, and only then forgotten', async () => {
    const marked: DeepSpan[] = [];
    const taken: number[] = [];
    const added: number[] = [];
    const clock = { us: NOW_US, ms: 0 };
    const store = {
      markGaps: async (span: DeepSpan) => {
        marked.push(span);
        return [];
      },
      addLost: async ({ first, last }: LostWindows) => {
        added.push(last - first + 1);
        return [];
      },
      gaps: async () => ({ bars: [], total: 0 }),
    } as unknown as KlineStore;
    const healer = healerOf(store, {
      fetch: () => Promise.reject(new Error('not asked')),
      nameOf: (symbol) => (symbol === 1 ? 'BTCUSDT' : undefined),
      taken: (symbol) => taken.push(symbol),
      nowUs: () => clock.us,
      nowMs: () => clock.ms,
    });
    const deep = { intervals: ['1s'] as const, fromUs: NOW_US - 5n * SECOND_US, toUs: NOW_US };
    const trouble = { holes: [], suspectFromUs: undefined, expected: 1n, deep };
    healer.note([
      { symbol: 1, ...trouble },
      { symbol: 2, ...trouble },
    ]);
    const turn = async (seconds: number) => {
      clock.us = NOW_US + BigInt(seconds) * SECOND_US;
      clock.ms = seconds * 1000;
      healer.begin();
      healer.look();
      await new Promise((resolve) => setImmediate(resolve));
      await healer.end();
    };
    await turn(10);
    expect([marked, taken]).toEqual([[], []]);
    await turn(11);
    expect(marked).toEqual([{ venue: 'binance', symbol: 'BTCUSDT', ...deep }]);
    expect(taken).toEqual([1]);
    expect(added, 'what nobody stored').toEqual([6]);
    await turn(12);
    expect(marked).toHaveLength(1);
  });
});

describe('whoever streams bars', () => {
  it('hears of each revision that is made in the table: marks, sums of parts, and what the venue has', async () => {
    const told: (readonly NamedBar[])[] = [];
    const named = (quality: 'gap' | 'repaired', count = 1): NamedBar[] =>
      Array.from({ length: count }, () => ({ symbol: quality }) as unknown as NamedBar);
    const marks = [named('gap', MARKED_MAX), named('gap')];
    const store = {
      markGaps: async () => marks.shift()!,
      addLost: async () => [],
      rollUp: async () => named('repaired'),
      gaps: async () => ({ bars: [gap(10)], total: 1 }),
      fill: async (bars: readonly NamedBar[]) => bars,
    } as unknown as KlineStore;
    const healer = healerOf(store, {
      fetch: async (_url, _symbol, _interval, fromUs) => ({
        ok: true,
        value: [figures(fromUs)],
        usedWeight: undefined,
      }),
      nameOf: () => 'BTCUSDT',
      taken: () => {},
      nowUs: () => NOW_US,
      nowMs: () => 0,
      plan: () => compileIntervals(['1s', '1m']),
      onRevised: (bars) => told.push(bars),
    });
    const deep = { intervals: ['1s'] as const, fromUs: 0n, toUs: SECOND_US };
    healer.note([{ symbol: 1, holes: [], suspectFromUs: undefined, expected: 1n, deep }]);
    healer.look();
    await new Promise((resolve) => setImmediate(resolve));
    await healer.end();
    expect(told.map((bars) => [bars[0]!.symbol, bars.length])).toEqual([
      ['gap', MARKED_MAX],
      ['gap', 1],
      ['repaired', 1],
      ['BTCUSDT', 1],
    ]);
    expect(healer.stats.healed).toBe(2);
  });
});

describe('gap bars that the venue has not', () => {
  it('are asked for again, later and later, and no longer counted once that is clear', async () => {
    const clock = { ms: 0 };
    const asked: number[] = [];
    const series = 'BTCUSDT 1s';
    const store = {
      gaps: async ({ without, lasting }: GapQuery) => ({
        bars: without.some((past) => past.series === series) ? [] : [gap(10)],
        total: lasting.some((past) => past.series === series) ? 0 : 1,
      }),
    } as unknown as KlineStore;
    const healer = healerOf(store, {
      fetch: async () => {
        asked.push(clock.ms / 1000);
        return { ok: true, value: [], usedWeight: undefined };
      },
      nameOf: () => undefined,
      taken: () => {},
      nowUs: () => NOW_US,
      nowMs: () => clock.ms,
    });
    const counted: number[] = [];
    for (let second = 0; second <= 8; second++) {
      clock.ms = second * 1000;
      healer.begin();
      healer.look();
      // All that it waits for is there already.
      await new Promise((resolve) => setImmediate(resolve));
      await healer.end();
      counted.push(healer.stats.gaps);
    }
    expect(asked).toEqual([0, 1, 3, 7]);
    expect(counted).toEqual([1, 1, 1, 1, 0, 0, 0, 0, 0]);
  });

  it('hold up no other symbol, also where the venue fails for theirs alone', async () => {
    const gaps = [gap(10), gap(11, 'ETHUSDT')];
    const store = {
      gaps: async () => ({ bars: gaps, total: gaps.length }),
      fill: async (bars: readonly NamedBar[]) => bars,
    } as unknown as KlineStore;
    const healer = healerOf(store, {
      fetch: async (_url, symbol, _interval, fromUs) => {
        if (symbol === 'BTCUSDT') return { ok: false, status: 500, retryAfterS: undefined, reason: 'broken' };
        return { ok: true, value: [figures(fromUs)], usedWeight: undefined };
      },
      nameOf: () => undefined,
      taken: () => {},
      nowUs: () => NOW_US,
      nowMs: () => 0,
    });
    healer.look();
    await new Promise((resolve) => setImmediate(resolve));
    await healer.end();
    expect(healer.stats).toMatchObject({ healed: 1, failed: 1, trouble: 'BTCUSDT 1s: 500 broken' });
  });

  it('hold up no later one of their series', async () => {
    const clock = { ms: 0 };
    const gaps = [gap(10)];
    const asked: number[][] = [];
    const store = {
      gaps: async ({ without }: GapQuery) => {
        const bars = gaps.filter(({ openUs }) => !without.some(({ untilUs }) => openUs <= untilUs));
        return { bars, total: bars.length };
      },
      fill: async (bars: readonly NamedBar[]) => {
        for (const { bar } of bars) {
          const at = gaps.findIndex(({ openUs }) => openUs === bar.openUs);
          gaps.splice(at, 1);
        }
        return bars;
      },
    } as unknown as KlineStore;
    const healer = healerOf(store, {
      fetch: async (_url, _symbol, _interval, fromUs, limit) => {
        asked.push([clock.ms / 1000, Number(fromUs / SECOND_US), limit]);
        // It has nothing from before second 20.
        const firstUs = fromUs === 10n * SECOND_US ? 20n * SECOND_US : fromUs;
        const value = Array.from({ length: limit }, (_, at) => figures(firstUs + BigInt(at) * SECOND_US));
        return { ok: true, value, usedWeight: undefined };
      },
      nameOf: () => undefined,
      taken: () => {},
      nowUs: () => NOW_US,
      nowMs: () => clock.ms,
    });
    for (let second = 0; second <= 7; second++) {
      if (second === 4) gaps.push(gap(30));
      clock.ms = second * 1000;
      healer.begin();
      healer.look();
      await new Promise((resolve) => setImmediate(resolve));
      await healer.end();
    }
    expect(asked).toEqual([
      [0, 10, 1],
      [1, 10, 1],
      [3, 10, 1],
      [4, 30, 1],
      [7, 10, 1],
    ]);
    expect(gaps).toEqual([gap(10)]);
    expect(healer.stats.healed).toBe(1);
  });
});
