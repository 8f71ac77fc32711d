import { describe, expect, it } from 'vitest';
import type { RestResult } from '../actors/trade-repair/rest.ts';
import type { Bar } from '../protocols/kline.ts';
import type { Trade } from '../protocols/trade-record.ts';
import { KlineRecovery } from './kline-recovery.ts';

const BAR: Bar = {
  ...{ symbol: 0, interval: '1m', closed: true, quality: 'complete', revision: 1 },
  ...{ openUs: 60_000_000n, closeUs: 119_999_999n, open: 1n, high: 1n, low: 1n, close: 1n, firstId: 1n, lastId: 9n },
  ...{ trades: 9n, volume: 9n, quoteVolume: 9n, takerVolume: 0n, takerQuoteVolume: 0n, nextSequence: 10n },
};
const LAST: Trade = {
  ...{ symbol: 3, takerBuy: true, timeUs: 100_000_000n, price: 1n, amount: 1n },
  ...{ firstId: 9n, lastId: 9n, sequence: 9n },
};
const refused = (status: number): RestResult<Trade[]> => ({ ok: false, status, retryAfterS: undefined, reason: '' });

/** A symbol that was stored up to trade 9, and a venue that gives one answer after the other. */
function recovery(answers: RestResult<Trade[]>[]) {
  const clock = { nowMs: 0 };
  const state = { venue: 'binance', symbol: 'BTCUSDT', nextSequence: 10n, lastUs: 60_000_000n, sinceUs: 0n };
  const of = new KlineRecovery({
    link: { use: () => Promise.reject(new Error('not asked')) },
    spill: { stateOf: async () => ({ ...state, bars: [BAR] }) },
    rest: () => ({ trades: async () => answers.shift()! }),
    nowMs: () => clock.nowMs,
  });
  const at = (nowMs: number) => {
    clock.nowMs = nowMs;
    return of.of('binance', 'BTCUSDT', 3);
  };
  return { at, left: () => answers.length };
}

describe('a symbol that was stored', () => {
  it('goes on where it was, however often the venue fails before it answers', async () => {
    const { at, left } = recovery([refused(0), refused(503), { ok: true, value: [LAST], usedWeight: 1 }]);
    expect(await at(0)).toBeUndefined();
    expect(await at(1_999), 'a pause between two questions').toBeUndefined();
    expect(left()).toBe(2);
    expect(await at(2_000)).toBeUndefined();
    expect(await at(4_000)).toMatchObject({ nextSequence: 10n, bars: [BAR] });
  });

  it('begins anew where the venue has not answered for a minute', async () => {
    const { at } = recovery([refused(0), refused(0), refused(0)]);
    expect(await at(0)).toBeUndefined();
    expect(await at(59_999)).toBeUndefined();
    expect(await at(62_000)).toBeNull();
  });

  it.each([
    ['does not know it', refused(400)],
    ['numbers its trades anew', { ok: true, value: [{ ...LAST, timeUs: 200_000_000n }], usedWeight: 1 }],
  ] as const)('begins anew where the venue %s', async (_, answer) => {
    expect(await recovery([answer as RestResult<Trade[]>]).at(0)).toBeNull();
  });
});
