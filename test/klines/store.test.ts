import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lostWindows } from '../../src/actors/kline-persistence/gap-bars.ts';
import type { NamedBar } from '../../src/actors/kline-persistence/rows.ts';
import { joinWithLive, KlineStore, MIGRATIONS } from '../../src/actors/kline-persistence/store.ts';
import { migrate, readMigrations } from '../../src/actors/sink/migrate.ts';
import { type Bar, windowAt, windowOpenUs } from '../../src/protocols/kline.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';

const START_US = 1_763_000_040_123_456n;
const MINUTE_US = 60_000_000n;
let folder: string;
let server: EmbeddedPostgres;
let client: pg.Client;
let store: KlineStore;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-klines-'));
  chmodSync(folder, 0o755);
  server = await startPostgres({ folder: join(folder, 'postgres') });
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
  await migrate(client, readMigrations(MIGRATIONS));
  store = new KlineStore(client);
  await store.prepare(START_US, 2);
}, 60_000);
afterAll(async () => {
  await client?.end();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function bar(minute: number, more: Partial<Bar> = {}): Bar {
  const openUs = START_US + BigInt(minute) * MINUTE_US;
  const prices = { open: 1n, high: 123_456_789_012_345_678n, low: 1n, close: 5n };
  const sums = { volume: 1n << 90n, quoteVolume: (1n << 100n) + 1n, takerVolume: 0n, takerQuoteVolume: 7n };
  const ids = { firstId: 2n ** 63n + 5n, lastId: 2n ** 63n + 9n, trades: 5n, nextSequence: 0n };
  const state = { quality: 'complete', closed: true, revision: 1 } as const;
  const times = { openUs, closeUs: openUs + MINUTE_US - 1n };
  return { symbol: 0, interval: '1m', ...times, ...prices, ...sums, ...ids, ...state, ...more };
}

const named = (symbol: string, one: Bar): NamedBar => ({ venue: 'binance', symbol, bar: one });
const page = (symbol: string, minute: number, limit = 10) =>
  store.history({ venue: 'binance', symbol, interval: '1m', beforeUs: bar(minute).openUs, limit });

describe('the klines table', () => {
  it('gives back every digit of what was stored', async () => {
    const stored = [named('EXACT', bar(0)), named('EXACT', bar(1, { closed: false, revision: 0, quality: 'gap' }))];
    await store.write(stored, []);
    expect(await page('EXACT', 9)).toEqual(stored.toReversed());
  });

  it('keeps the higher revision, whatever comes later, and lets an open bar grow', async () => {
    const write = async (one: Bar) => {
      await store.write([named('REVISED', one)], []);
      return (await page('REVISED', 9))[0]!.bar;
    };
    const open = { closed: false, revision: 0 } as const;
    await write(bar(0, { ...open, trades: 1n }));
    expect(await write(bar(0, { ...open, trades: 2n }))).toMatchObject({ trades: 2n });
    expect(await write(bar(0, { revision: 2, trades: 4n }))).toMatchObject({ trades: 4n, revision: 2 });
    expect(await write(bar(0, { revision: 1, trades: 3n }))).toMatchObject({ trades: 4n, revision: 2 });
    expect(await write(bar(0, { ...open, trades: 1n }))).toMatchObject({ trades: 4n, closed: true });
    const both = [bar(0, { revision: 3, quality: 'gap' }), bar(0, { revision: 4, quality: 'repaired' })];
    await store.write(
      both.map((one) => named('REVISED', one)),
      [],
    );
    expect((await page('REVISED', 9))[0]!.bar).toMatchObject({ revision: 4, quality: 'repaired' });
  });

  it('marks the closed bars of a span as gaps, finds them, and fills those alone', async () => {
    const all = [bar(0), bar(1), bar(2, { quality: 'partial-first' }), bar(3), bar(4, { closed: false, revision: 0 })];
    await store.write(
      all.map((one) => named('MARKED', one)),
      [],
    );
    const span = { venue: 'binance', fromUs: bar(1).closeUs, toUs: bar(4).openUs };
    const marked = await store.markGaps({ ...span, symbol: 'MARKED', intervals: ['1m'] });
    const gapped = [1, 3].map((minute) => named('MARKED', bar(minute, { quality: 'gap', revision: 2 })));
    expect(marked).toEqual(expect.arrayContaining(gapped));
    expect(marked).toHaveLength(2);
    const query = { venue: 'binance', fromUs: bar(0).openUs, toUs: bar(9).openUs, limit: 10, lasting: [] };
    const gaps = [1, 3].map((minute) => ({ symbol: 'MARKED', interval: '1m', openUs: bar(minute).openUs }));
    expect(await store.gaps({ ...query, without: [] })).toEqual({ bars: gaps, total: 2 });
    const past = (untilUs: bigint) => [{ series: 'MARKED 1m', untilUs }];
    const [first, last] = [gaps[0]!.openUs, gaps[1]!.openUs];
    expect(await store.gaps({ ...query, without: past(last) })).toEqual({ bars: [], total: 2 });
    expect(await store.gaps({ ...query, without: past(first) })).toEqual({ bars: gaps.slice(1), total: 2 });
    expect(await store.gaps({ ...query, without: [], lasting: past(last) })).toEqual({ bars: gaps, total: 0 });
    expect(await store.fill([0, 1].map((minute) => named('MARKED', bar(minute, { trades: 99n }))))).toEqual([
      named('MARKED', bar(1, { trades: 99n, quality: 'repaired', revision: 3 })),
    ]);
    expect(
      (await page('MARKED', 9)).map(({ bar: { quality, revision, trades } }) => [quality, revision, trades]),
    ).toEqual([
      ['complete', 0, 5n],
      ['gap', 2, 5n],
      ['partial-first', 1, 5n],
      ['repaired', 3, 99n],
      ['complete', 1, 5n],
    ]);
  });

  it('adds windows that nobody stored as gaps, after the first that is', async () => {
    const minute = (at: number) => windowOpenUs('1m', windowAt('1m', START_US) + at);
    const own = (at: number, more: Partial<Bar> = {}) =>
      named('LOST', bar(0, { openUs: minute(at), closeUs: minute(at + 1) - 1n, ...more }));
    await store.write([own(0), own(3)], []);
    const span = { venue: 'binance', symbol: 'LOST', intervals: ['1m'] as const, fromUs: minute(1), toUs: minute(9) };
    const add = async (symbol: string, fromUs = minute(1)) => {
      const parts = lostWindows({ ...span, symbol, fromUs }, minute(5) + 1n);
      return (await Promise.all(parts.map((part) => store.addLost(part)))).flat();
    };
    const none = { volume: 0n, quoteVolume: 0n, takerQuoteVolume: 0n, trades: 0n, firstId: 0n, lastId: 0n };
    const gap = { ...none, open: 5n, high: 5n, low: 5n, quality: 'gap' } as const;
    expect(await add('LOST')).toEqual([1, 2, 4].map((at) => own(at, gap)));
    expect(await add('LOST'), 'once').toEqual([]);
    expect(await add('LOST', minute(-2)), 'nobody watched').toEqual([]);
    expect(await add('UNKNOWN')).toEqual([]);
  });

  it('sums gap bars up from parts that are all whole, open and close by the ids', async () => {
    const openUs = (START_US / (3n * MINUTE_US)) * 3n * MINUTE_US;
    const part = (minute: number, more: Partial<Bar> = {}) => {
      const at = openUs + BigInt(minute) * MINUTE_US;
      const quiet = { trades: 0n, firstId: 0n, lastId: 0n, volume: 0n, quoteVolume: 0n, takerQuoteVolume: 0n };
      const prices = { open: 7n, high: 7n, low: 7n, close: 7n };
      return bar(0, { openUs: at, closeUs: at + MINUTE_US - 1n, ...prices, ...quiet, quality: 'quiet', ...more });
    };
    const traded = (firstId: bigint, prices: readonly [bigint, bigint, bigint, bigint]): Partial<Bar> => {
      const [open, high, low, close] = prices;
      const sums = { volume: 2n, quoteVolume: 3n, takerVolume: 1n, takerQuoteVolume: 2n };
      return { firstId, lastId: firstId + 4n, trades: 5n, open, high, low, close, ...sums, quality: 'repaired' };
    };
    const long = { interval: '3m', openUs, closeUs: openUs + 3n * MINUTE_US - 1n, quality: 'gap' } as const;
    const whole = { first: part(0, traded(20n, [5n, 9n, 4n, 6n])), second: part(1, traded(10n, [3n, 8n, 2n, 4n])) };
    const series: Record<string, Bar[]> = {
      WHOLE: [whole.first, whole.second, part(2)],
      QUIET: [part(0), part(1), part(2)],
      LACKING: [whole.first, part(2)],
      DOUBTED: [whole.first, part(1, { quality: 'gap' }), part(2)],
      UNNUMBERED: [part(0, traded(0n, [5n, 9n, 4n, 6n])), part(1), part(2)],
      OPEN: [part(0), part(1), part(2, { closed: false, revision: 0 })],
    };
    const bars = Object.entries(series).flatMap(([symbol, parts]) =>
      [...parts, bar(0, long)].map((one) => named(symbol, one)),
    );
    await store.write(bars, []);
    const span = { venue: 'binance', fromUs: openUs, toUs: openUs + 9n * MINUTE_US };
    const summed = await store.rollUp({ ...span, interval: '3m', part: '1m', limit: 100 });
    const longOf = async (symbol: string) => {
      const query = { venue: 'binance', symbol, interval: '3m' as const, beforeUs: openUs + 1n, limit: 1 };
      return (await store.history(query))[0]!.bar;
    };
    const healed = { ...long, closed: true, quality: 'repaired', revision: 2 };
    expect(await longOf('WHOLE')).toMatchObject({
      ...{ ...healed, open: 3n, high: 9n, low: 2n, close: 6n, firstId: 10n, lastId: 24n, trades: 10n },
      ...{ volume: 4n, quoteVolume: 6n, takerVolume: 2n, takerQuoteVolume: 4n },
    });
    expect(summed).toHaveLength(2);
    expect(summed).toContainEqual(named('WHOLE', await longOf('WHOLE')));
    const flat = { open: 7n, high: 7n, low: 7n, close: 7n, trades: 0n, firstId: 0n, lastId: 0n, volume: 0n };
    expect(await longOf('QUIET')).toMatchObject({ ...healed, ...flat });
    for (const symbol of ['LACKING', 'DOUBTED', 'UNNUMBERED', 'OPEN']) {
      expect(await longOf(symbol), symbol).toMatchObject({ quality: 'gap', revision: 1 });
    }
  });

  it('pages backwards without a seam, also where stored bars meet live ones', async () => {
    await store.write(
      [0, 1, 2, 3, 4].map((minute) => named('PAGED', bar(minute))),
      [],
    );
    const first = await page('PAGED', 9, 2);
    const second = await page('PAGED', 3, 2);
    expect([...first, ...second].map(({ bar: one }) => one.openUs)).toEqual(
      [4, 3, 2, 1].map((minute) => bar(minute).openUs),
    );
    const live = [named('PAGED', bar(4, { revision: 2 })), named('PAGED', bar(5, { closed: false, revision: 0 }))];
    const joined = joinWithLive(first, live, bar(9).openUs, 10);
    expect(joined.map(({ bar: one }) => one.revision)).toEqual([0, 2, 1]);
  });

  it('tells a restart where every symbol stands', async () => {
    const progress = { venue: 'binance', symbol: 'BACK', sinceUs: START_US, lastUs: START_US + 5n };
    await store.write([named('BACK', bar(0)), named('BACK', bar(1))], [{ ...progress, nextSequence: 2n ** 60n }]);
    await store.write([], [{ ...progress, nextSequence: 3n }]);
    const found = (await store.recover('binance')).filter((one) => one.symbol === 'BACK');
    expect(found).toEqual([{ ...progress, nextSequence: 2n ** 60n, bars: [bar(1)] }]);
  });

  it('takes bars of months that nobody prepared, and moves them when somebody does', async () => {
    const far = START_US + 400n * 86_400_000_000n;
    await store.write([named('FAR', bar(0, { openUs: far, closeUs: far + 1n }))], []);
    await store.prepare(far, 1);
    const { rows } = await client.query("SELECT tableoid::regclass::text AS place FROM klines WHERE symbol = 'FAR'");
    expect(rows[0].place).toMatch(/^klines_\d{6}$/);
  });

  it('stores nothing of a batch that fails', async () => {
    const bad = { ...bar(0), quality: 'nonsense' } as unknown as Bar;
    await expect(store.write([named('HALF', bar(1)), named('HALF', bad)], [])).rejects.toThrow(/quality/);
    expect(await page('HALF', 9)).toEqual([]);
    await store.write([named('HALF', bar(1))], []);
    expect(await page('HALF', 9)).toHaveLength(1);
  });

  it('has a view of closed bars with the names that charts use', async () => {
    await store.write([named('VIEWED', bar(0)), named('VIEWED', bar(1, { closed: false, revision: 0 }))], []);
    const { rows } = await client.query("SELECT time, vwap, taker_buy_volume FROM candles WHERE symbol = 'VIEWED'");
    expect(rows).toHaveLength(1);
  });
});
