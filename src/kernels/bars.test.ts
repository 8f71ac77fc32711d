import { describe, expect, it } from 'vitest';
import { INTERVAL_NAMES, tailOf, windowAt, windowOpenUs } from '../protocols/kline.ts';
import { apply, brief, kernelWith, read, SECOND_US, START_US, tickTo, trade } from './bars.fixture.ts';
import { barsOf, READER } from './bars.ts';

describe('windows', () => {
  it('are the same in the kernel and in the protocol, across leap days, month ends and Mondays', () => {
    const kernel = kernelWith(INTERVAL_NAMES);
    const moments = [
      '2024-02-29T23:59:59.999Z',
      '2024-03-01T00:00:00Z',
      '2025-12-31T23:59:59Z',
      '2026-01-05T00:00:00Z',
    ];
    moments.forEach((moment, index) => {
      const timeUs = BigInt(Date.parse(moment)) * 1000n;
      kernel.add(index, index, true, timeUs);
      apply(kernel, trade(index, { symbol: index, timeUs }));
      const bars = read(kernel).filter((bar) => bar.symbol === index);
      const expected = INTERVAL_NAMES.map((name) => windowOpenUs(name, windowAt(name, timeUs)));
      expect(bars.map((bar) => bar.openUs)).toEqual(expected);
      for (const bar of bars)
        expect(bar.closeUs + 1n).toBe(windowOpenUs(bar.interval, windowAt(bar.interval, bar.openUs) + 1));
    });
  });

  it('open weeks on Monday and months on the first', () => {
    const wednesday = BigInt(Date.UTC(2026, 10, 18, 13)) * 1000n;
    expect(windowOpenUs('1w', windowAt('1w', wednesday))).toBe(BigInt(Date.UTC(2026, 10, 16)) * 1000n);
    expect(windowOpenUs('1M', windowAt('1M', wednesday))).toBe(BigInt(Date.UTC(2026, 10, 1)) * 1000n);
  });
});

describe('a bar', () => {
  it('closes by the clock without any trade, and quiet ones carry the close', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0, { lastId: 5n, takerBuy: true }));
    tickTo(kernel, 3);
    const bars = read(kernel);
    expect(brief(bars)).toEqual(['0 complete r1 n6', '1 quiet r1 n0', '2 quiet r1 n0']);
    expect(bars[2]).toMatchObject({ open: 100n, high: 100n, low: 100n, close: 100n, volume: 0n });
    expect(bars[0]).toMatchObject({ volume: 10n, quoteVolume: 1000n, takerVolume: 10n, takerQuoteVolume: 1000n });
  });

  it('that opened before the symbol was watched is partial-first', () => {
    const kernel = kernelWith(['1s', '1h']);
    kernel.add(3, 0, true, START_US + SECOND_US / 2n);
    apply(kernel, trade(0, { timeUs: START_US + 600_000n }), trade(1));
    expect(read(kernel).map((bar) => `${bar.interval} ${bar.quality}`)).toEqual([
      '1s partial-first',
      '1s complete',
      '1h partial-first',
    ]);
  });

  it("of a time before the symbol was watched is nobody's, whatever comes late from there", () => {
    const kernel = kernelWith(['1s', '1m']);
    kernel.add(3, 0, true, START_US + 2n * SECOND_US);
    apply(kernel, trade(0), trade(1));
    tickTo(kernel, 4);
    expect(brief(read(kernel))).toEqual(['2 quiet r1 n0', '3 quiet r1 n0', '0 partial-first r0 n2']);
    apply(kernel, trade(2, { timeUs: START_US + SECOND_US }), trade(3, { timeUs: START_US + 4n * SECOND_US }));
    tickTo(kernel, 5);
    const bars = read(kernel);
    expect(brief(bars)).toEqual(['2 quiet r2 n0', '3 quiet r2 n0', '4 complete r1 n1', '0 partial-first r0 n4']);
    expect(bars[0]!.close).toBe(102n);
    expect(kernel.troubles()).toEqual([]);
  });

  it('that a late trade amends comes again with the next revision, and so do the quiet ones after it', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0));
    tickTo(kernel, 3);
    read(kernel);
    apply(kernel, trade(1, { timeUs: START_US + 900_000n }));
    const bars = read(kernel);
    expect(brief(bars)).toEqual(['0 complete r2 n2', '1 quiet r2 n0', '2 quiet r2 n0']);
    expect(bars[2]!.close).toBe(101n);
  });

  it('closes with the highest id, also where a base bar before the last has it', () => {
    const kernel = kernelWith(['1s', '1m']);
    kernel.add(3, 0, true, START_US);
    apply(
      kernel,
      trade(0),
      trade(1),
      trade(2, { timeUs: START_US + 900_000n }),
      trade(3, { timeUs: START_US + 61n * SECOND_US }),
    );
    tickTo(kernel, 62);
    const minute = read(kernel).find((bar) => bar.interval === '1m' && bar.closed);
    expect(minute).toMatchObject({ lastId: 2n, close: 102n, trades: 3n });
  });

  it('with a hole is a gap until the missing trades have come, and repaired after', () => {
    const kernel = kernelWith(['1s', '1m']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0), trade(3));
    tickTo(kernel, 4);
    expect(brief(read(kernel))).toEqual(['0 gap r1 n1', '1 gap r1 n0', '2 gap r1 n0', '3 gap r1 n1', '0 gap r0 n2']);
    expect(kernel.troubles()[0]!.holes).toEqual([
      { first: 1n, last: 2n, fromUs: START_US, toUs: START_US + 3n * SECOND_US, isCoarse: false },
    ]);
    apply(kernel, trade(1), trade(2));
    expect(kernel.troubles()).toEqual([]);
    const bars = read(kernel);
    expect(bars.map((bar) => bar.quality)).toEqual(['repaired', 'repaired', 'repaired', 'repaired', 'repaired']);
    expect(bars.slice(0, 4).every((bar) => bar.revision > 1)).toBe(true);
    expect(bars[4]).toMatchObject({ trades: 4n, closed: false, revision: 0 });
  });

  it('is in doubt while the feed is down, and proven by the next id or by the venue', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0));
    kernel.doubt(3, START_US + SECOND_US);
    tickTo(kernel, 3);
    expect(brief(read(kernel))).toEqual(['0 complete r1 n1', '1 gap r1 n0', '2 gap r1 n0']);
    expect(kernel.confirm(3, 2n, START_US + 3n * SECOND_US)).toBe(false);
    expect(kernel.confirm(3, 1n, START_US + 3n * SECOND_US)).toBe(true);
    expect(read(kernel).map((bar) => bar.quality)).toEqual(['quiet', 'quiet']);
    expect(kernel.troubles()).toEqual([]);
  });
});

describe('trade ids', () => {
  it('that come twice count once', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    expect(apply(kernel, trade(0), trade(0), trade(1), trade(0), trade(1))).toBe(2);
    expect(kernel.counters().duplicates).toBe(3n);
  });

  it('with more holes than the table has cost no trade: neighbouring holes become one, and what is between stays a gap', () => {
    const kernel = kernelWith(['1s'], { baseDepth: 256 });
    kernel.add(3, 0, true, START_US);
    const odd = Array.from({ length: 80 }, (_, index) => trade(index * 2));
    expect(apply(kernel, ...odd)).toBe(80);
    expect(kernel.counters()).toMatchObject({ holes: 79n, holes_merged: 15n });
    const [trouble] = kernel.troubles();
    expect(trouble).toMatchObject({ expected: 159n, holes: { length: 64 } });
    const coarse = trouble!.holes.filter(({ isCoarse }) => isCoarse);
    expect(trouble!.deep).toMatchObject({ intervals: ['1s'], fromUs: coarse[0]!.fromUs, toUs: coarse[0]!.toUs });
    for (let n = 0; n < 159; n++) apply(kernel, trade(n));
    expect(kernel.troubles()[0]!.holes).toEqual(coarse);
    tickTo(kernel, 200);
    const gaps = read(kernel).filter(({ quality }) => quality === 'gap');
    expect(gaps).toHaveLength(Number(coarse[0]!.last - coarse[0]!.first) + 3);
    expect(kernel.resolve(3, coarse[0]!.first, coarse[0]!.last)).toBe(true);
    expect(read(kernel).filter(({ quality }) => quality === 'gap')).toEqual([]);
  });

  it('in doubt leave no gap behind once the doubt is over, not even in windows where nothing traded', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0));
    kernel.doubt(3, 0n);
    tickTo(kernel, 5);
    const qualities = () => read(kernel).flatMap(({ closed, quality }) => (closed ? [quality] : []));
    expect(qualities()).toEqual(['gap', 'gap', 'gap', 'gap', 'gap']);
    apply(kernel, trade(1));
    expect(qualities()).toEqual(['repaired', 'repaired', 'quiet', 'quiet', 'quiet']);
    kernel.doubt(3, 0n);
    expect(qualities()).toEqual(['gap', 'gap', 'gap', 'gap']);
    expect(kernel.confirm(3, 2n, START_US + 3n * SECOND_US)).toBe(true);
    expect(qualities()).toEqual(['repaired', 'quiet', 'quiet', 'quiet']);
    kernel.doubt(3, 0n);
    expect(qualities()).toEqual(['gap', 'gap']);
  });

  it('that are disproved are gaps, and so is what is made of them when it closes', () => {
    const kernel = kernelWith(['1s', '1m']);
    kernel.add(3, 0, false, START_US);
    for (let n = 0; n < 10; n++) apply(kernel, trade(n * 2, { timeUs: START_US + BigInt(n) * SECOND_US }));
    tickTo(kernel, 10);
    const seconds = () => brief(read(kernel).filter(({ interval, closed }) => closed && interval === '1s'));
    expect(seconds()).toHaveLength(10);
    kernel.disprove(3, START_US + 4n * SECOND_US, START_US + 6n * SECOND_US - 1n);
    // Those after them come again as they were.
    expect(seconds().slice(0, 3)).toEqual(['4 gap r2 n1', '5 gap r2 n1', '6 complete r1 n1']);
    const span = { fromUs: START_US + 4n * SECOND_US, toUs: START_US + 6n * SECOND_US - 1n };
    expect(kernel.troubles()[0]).toMatchObject({ deep: { intervals: ['1s', '1m'], ...span } });
    // What comes later is whole again.
    apply(kernel, trade(40, { timeUs: START_US + 70n * SECOND_US }));
    tickTo(kernel, 130);
    const minutes = read(kernel).filter(({ interval, closed }) => closed && interval === '1m');
    expect(minutes.map(({ quality }) => quality)).toEqual(['gap', 'complete']);
  });

  it('never hide damaged input', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    tickTo(kernel, 0);
    const damaged = [
      trade(0, { price: 0n }),
      trade(0, { price: 1n << 63n, amount: 1n << 63n }),
      trade(0, { timeUs: START_US + 86_400n * SECOND_US }),
      trade(0, { timeUs: 5n }),
      trade(0, { firstId: 9n, lastId: 3n }),
    ];
    expect(apply(kernel, ...damaged, trade(0, { symbol: 4 }), trade(0, { symbol: 4_000_000 }))).toBe(0);
    expect(kernel.counters()).toMatchObject({ malformed: 5n, unknown_symbols: 2n, applied: 0n });
  });
});

describe('symbols', () => {
  it('come and go without a gap in memory, and keep their bars', () => {
    const kernel = kernelWith(['1s', '1m']);
    for (const symbol of [1, 2, 3]) {
      kernel.add(symbol, 0, true, START_US);
      apply(kernel, trade(0, { symbol, price: BigInt(symbol) }), trade(1, { symbol, price: BigInt(symbol) }));
    }
    expect([kernel.remove(1), kernel.remove(1), kernel.symbols]).toEqual([true, false, 2]);
    expect(apply(kernel, trade(2, { symbol: 3, price: 7n }), trade(2, { symbol: 1 }))).toBe(1);
    const minutes = read(kernel).filter((bar) => bar.interval === '1m');
    expect(minutes.map((bar) => [bar.symbol, bar.open, bar.high, bar.trades])).toEqual([
      [3, 3n, 7n, 3n],
      [2, 2n, 2n, 2n],
    ]);
  });

  it('move between workers with everything that is known about them', () => {
    const [from, to] = [kernelWith(['1s', '1m']), kernelWith(['1s', '1m'])];
    from.add(3, 0, true, START_US);
    apply(from, trade(0), trade(1), trade(4));
    to.add(9, 0, true, START_US);
    to.import(3, from.export(3)!);
    expect([from.remove(3), from.symbols, to.symbols]).toEqual([true, 0, 2]);
    apply(to, trade(4), trade(2), trade(3), trade(5));
    const minute = read(to).find((bar) => bar.interval === '1m')!;
    expect(minute).toMatchObject({ symbol: 3, trades: 6n, open: 100n, close: 105n, quality: 'repaired' });
    expect(() => kernelWith(['1s']).import(3, to.export(3)!)).toThrowError(/came as/);
  });

  it('are refused beyond the limit with a code', () => {
    const kernel = kernelWith(['1s'], { symbolsMax: 2 });
    kernel.add(0, 0, true, START_US);
    kernel.add(1, 0, true, START_US);
    kernel.add(1, 0, true, START_US);
    expect(() => kernel.add(2, 0, true, START_US)).toThrowError(
      expect.objectContaining({ code: 'TW_KLINE_WORKER_FULL' }),
    );
  });

  it('go on after a restart where the stored bars end', () => {
    const before = kernelWith(['1s', '1m']);
    before.add(3, 0, true, START_US);
    apply(before, trade(0), trade(1), trade(2));
    tickTo(before, 2);
    const stored = read(before);
    const after = kernelWith(['1s', '1m']);
    after.add(3, 0, true, START_US);
    for (const bar of stored.filter((one) => one.interval === '1m' || one.openUs === START_US + 2n * SECOND_US))
      after.seed(bar);
    after.resume(3, 3n, START_US + 2n * SECOND_US);
    apply(after, trade(2), trade(3), trade(4, { lastId: 8n }));
    tickTo(after, 6);
    const bars = read(after);
    const seconds = brief(bars.filter((bar) => bar.interval === '1s'));
    expect(seconds).toEqual(['2 repaired r1 n1', '3 repaired r1 n1', '4 complete r1 n5', '5 quiet r1 n0']);
    expect(bars.find((bar) => bar.interval === '1m')).toMatchObject({
      trades: 9n,
      volume: 50n,
      open: 100n,
      close: 104n,
    });
  });

  it('goes on with every bar that was open, where an older one still waited for late trades', () => {
    const before = kernelWith(['1s', '1m']);
    before.add(3, 0, true, START_US);
    apply(before, trade(0), trade(1), trade(2));
    tickTo(before, 1);
    const stored = read(before);
    expect(brief(stored.filter(({ interval }) => interval === '1s'))).toEqual([
      ...['0 complete r1 n1', '1 complete r0 n1', '2 complete r0 n1'],
    ]);
    const after = kernelWith(['1s', '1m']);
    after.add(3, 0, true, START_US);
    for (const bar of tailOf(stored)) after.seed(bar);
    after.resume(3, 3n, START_US + 2n * SECOND_US);
    apply(after, trade(3, { timeUs: START_US + SECOND_US + 5n }), trade(4));
    tickTo(after, 6);
    const bars = read(after);
    expect(bars.filter(({ interval }) => interval === '1s').map(({ trades, volume }) => [trades, volume])).toEqual(
      [2n, 1n, 0n, 1n, 0n].map((trades) => [trades, trades * 10n]),
    );
    expect(bars.find(({ interval }) => interval === '1m')).toMatchObject({ trades: 5n, volume: 50n, close: 104n });
  });
});

describe('a snapshot', () => {
  it('carries its bars again until it is committed, and never those of another reader', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0), trade(1));
    tickTo(kernel, 1);
    const first = brief(barsOf(kernel.snapshot(READER.persistence), kernel.plan));
    expect(first).toEqual(['0 complete r1 n1', '1 complete r0 n1']);
    expect(brief(barsOf(kernel.snapshot(READER.persistence), kernel.plan))).toEqual(first);
    expect([kernel.commit(READER.persistence), kernel.commit(READER.persistence)]).toEqual([true, false]);
    expect(read(kernel)).toEqual([]);
    expect(brief(barsOf(kernel.snapshot(READER.live), kernel.plan))).toEqual(first);
  });

  it('that was taken before a bar was amended does not count for the amendment', () => {
    const kernel = kernelWith(['1s']);
    kernel.add(3, 0, true, START_US);
    apply(kernel, trade(0));
    tickTo(kernel, 1);
    kernel.snapshot(READER.persistence);
    apply(kernel, trade(1, { timeUs: START_US + 1n }));
    kernel.commit(READER.persistence);
    expect(brief(read(kernel))).toEqual(['0 complete r2 n2']);
  });

  it('holds bars that left their ring before they were committed, for each reader', () => {
    const kernel = kernelWith(['1s'], { baseDepth: 2 });
    kernel.add(3, 0, true, START_US);
    apply(kernel, ...Array.from({ length: 10 }, (_, n) => trade(n)));
    tickTo(kernel, 10);
    expect(kernel.counters().evicted_unread).toBe(16n);
    expect(read(kernel)).toHaveLength(10);
    expect(barsOf(kernel.snapshot(READER.live), kernel.plan)).toHaveLength(10);
    expect(kernel.counters().lost_unsaved).toBe(0n);
  });

  it('counts what left its ring and found no room, for each reader by itself', () => {
    const kernel = kernelWith(['1s'], { baseDepth: 2, unreadRecords: 3 });
    kernel.add(3, 0, true, START_US);
    apply(kernel, ...Array.from({ length: 4 }, (_, n) => trade(n)));
    tickTo(kernel, 4);
    read(kernel);
    apply(kernel, ...Array.from({ length: 4 }, (_, n) => trade(4 + n)));
    tickTo(kernel, 8);
    const live = barsOf(kernel.snapshot(READER.live), kernel.plan);
    expect(brief(live)).toEqual([0, 1, 2, 6, 7].map((second) => `${second} complete r1 n1`));
    expect(brief(read(kernel))).toEqual([4, 5, 6, 7].map((second) => `${second} complete r1 n1`));
    expect(kernel.counters()).toMatchObject({ lost_unheard: 3n, lost_unsaved: 0n });
    expect(kernel.troubles()).toEqual([]);
  });
});

describe('limits', () => {
  it('are checked with a code', () => {
    const code = (value: string) => expect.objectContaining({ code: value });
    expect(() => kernelWith(['1s', '2s'])).toThrowError(code('TW_KLINE_INTERVALS'));
    expect(() => kernelWith(['3d', '1w'])).toThrowError(code('TW_KLINE_INTERVALS'));
    expect(() => kernelWith([])).toThrowError(code('TW_KLINE_INTERVALS'));
    expect(() => kernelWith(['1s'], { baseDepth: 3 })).toThrowError(code('TW_KLINE_LIMITS'));
  });
});
