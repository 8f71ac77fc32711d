import { describe, expect, it } from 'vitest';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import type { Bar } from '../protocols/kline.ts';
import { LiveBars } from './live-bars.ts';

const bar = (openUs: bigint, state: Pick<Bar, 'closed' | 'revision'>): NamedBar => ({
  ...{ venue: 'binance', symbol: 'BTCUSDT' },
  bar: {
    ...{
      symbol: 0,
      interval: '1s',
      quality: 'complete',
      openUs,
      closeUs: openUs + 999_999n,
      nextSequence: 1n,
      ...state,
    },
    ...{ open: 1n, high: 1n, low: 1n, close: 1n, firstId: 1n, lastId: 1n, trades: 1n },
    ...{ volume: 1n, quoteVolume: 1n, takerVolume: 0n, takerQuoteVolume: 0n },
  },
});

const open = bar(2n, { closed: false, revision: 0 });
const closed = bar(1n, { closed: true, revision: 1 });
const revised = bar(1n, { closed: true, revision: 2 });

function heardBy(live: LiveBars): NamedBar[] {
  const heard: NamedBar[] = [];
  live.listen((bars) => heard.push(...bars));
  return heard;
}

describe('who listens to live bars', () => {
  it('hears of a revision when it is stored, and of everything else at once', () => {
    const live = new LiveBars(true);
    const heard = heardBy(live);
    live.take([closed, open]);
    expect(heard).toEqual([closed, open]);
    live.take([revised]);
    expect(heard).toEqual([closed, open]);
    expect(live.series('binance', 'BTCUSDT', '1s')).toEqual([open, revised]);
    expect(live.newest('binance', 'BTCUSDT', '1s')).toEqual(open);
    live.takeStored([closed, revised, open]);
    expect(heard).toEqual([closed, open, revised]);
  });

  it('hears of no lower revision, although a worker that ended had shown it last', () => {
    const live = new LiveBars(true);
    const heard = heardBy(live);
    const read = bar(1n, { closed: true, revision: 3 });
    live.take([revised]);
    live.takeStored([read]);
    live.takeStored([revised]);
    expect(heard).toEqual([read]);
    expect(live.series('binance', 'BTCUSDT', '1s')).toEqual([read]);
  });

  it('hears of bars that were replaced in the table, and of nothing lower or other afterwards', () => {
    const live = new LiveBars(true);
    const heard = heardBy(live);
    const healed = bar(1n, { closed: true, revision: 3 });
    const series = () => live.series('binance', 'BTCUSDT', '1s').map((named) => named.bar);
    live.take([closed, open]);
    live.takeHealed([{ ...healed, bar: { ...healed.bar, nextSequence: 0n, trades: 9n } }]);
    expect(heard.at(-1)!.bar).toMatchObject({ revision: 3, trades: 9n });
    // A worker that begins anew goes on from where its trades stood.
    expect(series()).toMatchObject([open.bar, { revision: 3, trades: 9n, nextSequence: 1n }]);
    for (const late of [closed, revised, healed]) {
      live.take([late]);
      live.takeStored([late]);
    }
    live.takeHealed([revised]);
    expect(heard).toHaveLength(3);
    expect(series()).toMatchObject([open.bar, { revision: 3, trades: 9n }]);
    const next = bar(1n, { closed: true, revision: 4 });
    live.take([next]);
    live.takeHealed([healed]);
    live.takeStored([next]);
    expect(heard.slice(3)).toEqual([next]);
  });

  it('hears of an old bar that was replaced, which is nothing that a worker could go on from', () => {
    const live = new LiveBars(true);
    const heard = heardBy(live);
    live.takeHealed([revised]);
    expect(heard).toEqual([revised]);
    expect(live.tail('binance', 'BTCUSDT', ['1s'])).toEqual([]);
  });

  it('hears of revisions at once where nothing is stored', () => {
    const live = new LiveBars(false);
    const heard = heardBy(live);
    live.take([revised, open]);
    expect(heard).toEqual([revised, open]);
  });
});
