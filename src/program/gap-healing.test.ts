import { describe, expect, it } from 'vitest';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { binance } from '../venues/binance/index.ts';
import { bitstamp } from '../venues/bitstamp/index.ts';
import type { Venue } from '../venues/venue.ts';
import { gapHealers, healingOf } from './gap-healing.ts';
import { KlineSymbols } from './kline-symbols.ts';

const MINUTE_US = 60_000_000n;
const NOW_US = 1_763_000_000n * 1_000_000n;
const asked: string[] = [];

/** A venue that has every bar that it is asked for. */
const keeping = (id: string, isWell: boolean): Venue => ({
  ...{ ...binance, facts: { ...binance.facts, id } },
  history: {
    bars: {
      weight: 2,
      pageMax: 1000,
      fetch: async (restUrl, symbol, interval, openUs) => {
        asked.push(`${restUrl} ${symbol} ${interval}`);
        if (!isWell) return { ok: false, status: 503, retryAfterS: undefined, reason: 'closed' };
        const prices = { open: 1n, high: 1n, low: 1n, close: 1n };
        const sums = { trades: 1n, volume: 1n, quoteVolume: 1n, takerVolume: 0n, takerQuoteVolume: 0n };
        return { ok: true, value: [{ openUs, closeUs: openUs + MINUTE_US - 1n, ...prices, ...sums }], usedWeight: 2 };
      },
    },
  },
});

const store = {
  gaps: async () => ({ bars: [{ symbol: 'BTC', interval: '1m', openUs: NOW_US - 10n * MINUTE_US }], total: 1 }),
  fill: async (bars: readonly { readonly venue: string }[]) => bars,
};
const link = { use: (work: (one: typeof store) => unknown) => work(store), close: async () => {} };

const options = {
  settings: () => ({ enabled: true, everyMs: 1_000, afterMs: 1_000, lookBackMs: 3_600_000 }),
  link: link as unknown as StoreLink,
  repair: ({ facts }: Venue) => ({
    ...{ restUrl: `http://${facts.id}`, weightPerMinute: 100, nameOf: () => undefined },
    ...{ nowUs: () => NOW_US, tell: async () => true },
  }),
  symbols: new KlineSymbols(),
  onRevised: () => {},
  intervals: () => ['1m'],
};

describe('stored gaps', () => {
  it('are healed of each venue that keeps bars, and counted together', async () => {
    const healers = gapHealers([keeping('acme', true), keeping('bcme', false)], options);
    for (const healer of healers) healer.look();
    while (asked.length < 2) await new Promise((resolve) => setImmediate(resolve));
    for (const healer of healers) await healer.end();
    expect(asked).toEqual(['http://acme BTC 1m', 'http://bcme BTC 1m']);
    expect(healingOf(healers)).toEqual({
      gaps: 1,
      healed: 1,
      disproved: 0,
      unproven: 0,
      failed: 1,
      trouble: 'BTC 1m: 503 closed',
    });
  });

  it('are healed where a venue keeps trades alone, and left where it keeps neither or no bars are stored', () => {
    expect(gapHealers([bitstamp], options)).toHaveLength(1);
    expect(healingOf(gapHealers([{ ...bitstamp, history: {} }], options))).toBeUndefined();
    expect(gapHealers([binance], { ...options, link: undefined })).toEqual([]);
  });
});
