import { describe, expect, it, vi } from 'vitest';
import type { KlineStore } from '../actors/kline-persistence/store.ts';
import { UNREADABLE } from '../actors/trade-repair/weight-budget.ts';
import type { Bar } from '../protocols/kline.ts';
import type { RestFailure, RestResult } from '../protocols/rest.ts';
import type { Trade } from '../protocols/trade-record.ts';
import { binance } from '../venues/binance/index.ts';
import { bitstamp } from '../venues/bitstamp/index.ts';
import type { WindowName } from '../venues/history.ts';
import type { Venue } from '../venues/venue.ts';
import { KlineRecovery, recoveries } from './kline-recovery.ts';

const BAR: Bar = {
  ...{ symbol: 0, interval: '1m', closed: true, quality: 'complete', revision: 1 },
  ...{ openUs: 60_000_000n, closeUs: 119_999_999n, open: 1n, high: 1n, low: 1n, close: 1n, firstId: 1n, lastId: 9n },
  ...{ trades: 9n, volume: 9n, quoteVolume: 9n, takerVolume: 0n, takerQuoteVolume: 0n, nextSequence: 10n },
};
const LAST: Trade = {
  ...{ symbol: 3, takerBuy: true, timeUs: 100_000_000n, price: 1n, amount: 1n },
  ...{ firstId: 9n, lastId: 9n, sequence: 9n },
};
const refused = (status: number): RestFailure => ({ ok: false, status, retryAfterS: undefined, reason: '' });

/** A symbol that was stored up to trade 9, and a venue that gives one answer after the other. */
function recovery(answers: RestResult<Trade | undefined>[]) {
  const clock = { nowMs: 0 };
  const onLeft = vi.fn();
  const state = { venue: 'binance', symbol: 'BTCUSDT', nextSequence: 10n, lastUs: 60_000_000n, sinceUs: 0n };
  const of = new KlineRecovery({
    venue: 'binance',
    link: { use: () => Promise.reject(new Error('not asked')) },
    spill: { stateOf: async () => ({ ...state, bars: [BAR] }) },
    askTrade: async () => answers.shift()!,
    restUrl: () => 'http://127.0.0.1:1',
    nowMs: () => clock.nowMs,
    onLeft,
  });
  const at = (nowMs: number) => {
    clock.nowMs = nowMs;
    return of.of('BTCUSDT', 3);
  };
  return { at, onLeft, left: () => answers.length };
}

describe('a symbol that was stored', () => {
  it('goes on where it was, however often the venue fails before it answers', async () => {
    const { at, left } = recovery([
      refused(0),
      refused(503),
      refused(UNREADABLE),
      { ok: true, value: LAST, usedWeight: 1 },
    ]);
    expect(await at(0)).toBeUndefined();
    expect(await at(1_999), 'a pause between two questions').toBeUndefined();
    expect(left()).toBe(3);
    expect(await at(2_000)).toBeUndefined();
    expect(await at(4_000), 'an answer that nobody can read').toBeUndefined();
    expect(await at(6_000)).toMatchObject({ nextSequence: 10n, bars: [BAR] });
  });

  it('goes on, with what may be missing, where the venue has not answered for a minute', async () => {
    const { at, onLeft } = recovery([refused(0), refused(0), refused(0)]);
    expect(await at(0)).toBeUndefined();
    expect(await at(59_999)).toBeUndefined();
    expect(await at(62_000)).toMatchObject({ nextSequence: 10n, bars: [BAR] });
    expect(onLeft).not.toHaveBeenCalled();
  });

  it.each([
    ['does not know it', refused(400)],
    ['numbers its trades anew', { ok: true, value: { ...LAST, timeUs: 200_000_000n }, usedWeight: 1 }],
    ['does not have its last trade any more', { ok: true, value: undefined, usedWeight: 1 }],
  ] as const)('begins anew where the venue %s', async (_, answer) => {
    const { at, onLeft } = recovery([answer]);
    expect(await at(0)).toBeNull();
    expect(onLeft, 'and its stored bars are compared').toHaveBeenCalledExactlyOnceWith('binance', 3, 60_000_000n);
  });
});

describe('the symbols of several venues', () => {
  const answering = (id: string, answer: RestResult<Trade[]>): Venue => ({
    ...{ ...binance, facts: { ...binance.facts, id } },
    history: { tradesById: { weight: 1, pageMax: 1000, fetch: async () => answer } },
  });
  const venues = [
    { ...bitstamp, history: {} },
    answering('silent', refused(0)),
    answering('well', { ok: true, value: [LAST], usedWeight: 1 }),
  ];
  const stored = (venue: string) => ({ venue, symbol: 'BTC', nextSequence: 10n, lastUs: 60_000_000n, sinceUs: 0n });
  const shared = { spill: { stateOf: async () => undefined }, restUrl: () => '', nowMs: () => 0, onLeft: () => {} };
  const use = async <T>(work: (store: KlineStore) => Promise<T>): Promise<T> =>
    work({ recover: async (venue: string) => [{ ...stored(venue), bars: [BAR] }] } as unknown as KlineStore);

  it('are recovered of each venue that gives trades, and one that is silent delays no other', async () => {
    const found = recoveries(venues, { ...shared, link: { use } });
    expect([...found.keys()]).toEqual(['silent', 'well']);
    expect(await found.get('silent')!.of('BTC', 3)).toBeUndefined();
    expect(await found.get('well')!.of('BTC', 3)).toMatchObject({ venue: 'well', nextSequence: 10n });
  });

  it('begin anew where nothing is stored', () => {
    expect(recoveries(venues, { ...shared, link: undefined }).size).toBe(0);
  });
});

describe('a symbol whose venue gives trades by time only', () => {
  /** What the venue has of the last hour and of the last day. */
  const found = (hour: readonly bigint[], day: readonly bigint[], timeUs = LAST.timeUs) => {
    const trade = (id: bigint): Trade => ({ ...LAST, timeUs, firstId: id, lastId: id, sequence: id });
    const fetch = async (_url: string, _symbol: object, window: WindowName): Promise<RestResult<Trade[]>> => ({
      ...{ ok: true, value: (window === 'hour' ? hour : day).map(trade), usedWeight: 1 },
    });
    const venue: Venue = { ...bitstamp, history: { windows: { weight: 1, fetch } } };
    const state = { venue: 'bitstamp', symbol: 'btcusd', nextSequence: 10n, lastUs: 60_000_000n, sinceUs: 0n };
    const [recovery] = recoveries([venue], {
      ...{
        restUrl: () => '',
        nowMs: () => 0,
        onLeft: () => {},
        link: { use: () => Promise.reject(new Error('not asked')) },
      },
      spill: { stateOf: async () => ({ ...state, bars: [BAR] }) },
    }).values();
    return recovery!.of('btcusd', 3);
  };

  it.each([
    ['hour', [4n, 9n, 12n], []],
    ['day', [12n], [9n, 12n]],
    ['day, where the hour is empty', [], [9n, 12n]],
  ])('goes on where its last trade is among those of the %s', async (_, hour, day) => {
    expect(await found(hour, day)).toMatchObject({ nextSequence: 10n });
  });

  it.each([
    ['is longer ago than a day', [12n], [11n, 12n]],
    ['is none of theirs', [4n, 12n], [4n, 12n]],
  ])('begins anew where its last trade %s', async (_, hour, day) => {
    expect(await found(hour, day)).toBeNull();
  });

  it('is asked for again while the venue is behind its own stream', async () => {
    expect(await found([4n, 8n], [])).toBeUndefined();
    expect(await found([4n, 8n], [], BAR.closeUs + 900_000n), 'stamps may fall').toBeUndefined();
  });

  it('begins anew at once where a later trade has a lower number', async () => {
    expect(await found([4n, 8n], [], BAR.closeUs + 1_000_000n)).toBeNull();
  });
});
