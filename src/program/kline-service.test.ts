import { EventEmitter } from 'node:events';
import { type ServerUnaryCall, status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import type { HistoryQuery } from '../actors/kline-persistence/store.ts';
import { BarsView } from './bars-source.ts';
import { klineService } from './kline-service.ts';
import { LiveBars } from './live-bars.ts';

interface Answer {
  readonly code?: status;
  readonly details?: string;
  readonly bars?: readonly { readonly symbol: string; readonly open_time_us: string }[];
  readonly next_page?: string;
}

const bar = (symbol: string, openUs: bigint, interval: '1s' | '1d' = '1s'): NamedBar => ({
  ...{ venue: 'binance', symbol },
  bar: {
    ...{
      symbol: 0,
      interval,
      quality: 'complete',
      openUs,
      closeUs: openUs,
      nextSequence: 1n,
      closed: true,
      revision: 1,
    },
    ...{ open: 1n, high: 1n, low: 1n, close: 1n, firstId: 1n, lastId: 1n, trades: 1n },
    ...{ volume: 1n, quoteVolume: 1n, takerVolume: 0n, takerQuoteVolume: 0n },
  },
});

/** A service of one symbol, BTCUSDT, in one interval, 1s. */
function serviceOf(stored: (query: HistoryQuery) => Promise<readonly NamedBar[]>, ...kept: NamedBar[]) {
  const live = new LiveBars(true);
  live.take(kept);
  const catalogue = () => ({ symbols: ['binance:BTCUSDT'], intervals: ['1s'], feeds: {} });
  const { methods } = klineService({ live, bars: new BarsView({ live, catalogue, stored }) });
  const request = { venue: 'binance', symbol: 'BTCUSDT', interval: '1s', before_time_us: '0', limit: 0, page: '' };
  return (more: Partial<typeof request>) =>
    new Promise<Answer>((resolve) => {
      const history = methods['History'] as unknown as (
        call: ServerUnaryCall<object, object>,
        reply: (error: Answer | null, page?: Answer) => void,
      ) => void;
      history({ request: { ...request, ...more } } as ServerUnaryCall<object, object>, (error, page) =>
        resolve(error ?? page!),
      );
    });
}

const table = (...bars: NamedBar[]) =>
  serviceOf(async ({ symbol, interval, beforeUs, limit }) =>
    bars
      .filter((one) => one.symbol === symbol && one.bar.interval === interval && one.bar.openUs < beforeUs)
      .slice(0, limit),
  );

describe('history', () => {
  it('has what is stored of a symbol that was let go, and of an interval that is not made any more', async () => {
    const ask = table(bar('GONEUSDT', 9n), bar('GONEUSDT', 8n), bar('BTCUSDT', 7n, '1d'));
    const first = await ask({ symbol: 'GONEUSDT', limit: 2 });
    expect(first).toMatchObject({ bars: [{ open_time_us: '9' }, { open_time_us: '8' }], next_page: '8' });
    expect(await ask({ symbol: 'GONEUSDT', limit: 2, page: '8' })).toEqual({ bars: [], next_page: '' });
    expect(await ask({ interval: '1d' })).toMatchObject({ bars: [{ open_time_us: '7' }], next_page: '' });
  });

  it('says of what nobody knows that it is not there, and what is', async () => {
    const ask = table();
    expect(await ask({})).toEqual({ bars: [], next_page: '' });
    expect(await ask({ symbol: 'NONE', page: '8' })).toMatchObject({
      code: status.NOT_FOUND,
      details: expect.stringContaining('"binance:NONE" is not served; there are binance:BTCUSDT'),
    });
    for (const interval of ['1d', '7s']) expect(await ask({ interval })).toMatchObject({ code: status.NOT_FOUND });
    expect(await ask({ page: 'x' })).toMatchObject({ code: status.INVALID_ARGUMENT });
  });

  it('does not end where the database does not answer', async () => {
    const ask = serviceOf(() => Promise.reject(new Error('away')), bar('BTCUSDT', 9n));
    expect(await ask({})).toMatchObject({ bars: [{ open_time_us: '9' }], next_page: '9' });
    const unavailable = { code: status.UNAVAILABLE, details: expect.stringContaining('away') };
    expect(await ask({ page: '9' })).toMatchObject(unavailable);
    expect(await ask({ symbol: 'GONEUSDT' })).toMatchObject(unavailable);
  });
});

describe('a subscription', () => {
  it('to a venue that there is not is refused, although it names no symbol', () => {
    const live = new LiveBars(true);
    const catalogue = () => ({ symbols: ['binance:BTCUSDT'], intervals: ['1s'], feeds: {} });
    const { methods } = klineService({ live, bars: new BarsView({ live, catalogue, stored: async () => [] }) });
    const subscribe = methods['Subscribe'] as unknown as (call: EventEmitter) => void;
    const refusalOf = (venue: string): unknown => {
      const request = { venue, symbols: [], intervals: [], closed_only: false };
      const call = Object.assign(new EventEmitter(), { request });
      let refusal: unknown;
      call.on('error', (error) => {
        refusal = error;
      });
      subscribe(call);
      return refusal;
    };
    expect(refusalOf('binnace')).toMatchObject({
      code: status.NOT_FOUND,
      details: expect.stringContaining('"binnace" is not served; there are binance'),
    });
    expect(refusalOf('bitstamp')).toBeUndefined();
  });
});
