import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Backfill } from '../../src/actors/kline-backfill/backfill.ts';
import { BackfillStore } from '../../src/actors/kline-backfill/backfill-store.ts';
import { KlineStore, MIGRATIONS } from '../../src/actors/kline-persistence/store.ts';
import { migrate, readMigrations } from '../../src/actors/sink/migrate.ts';
import type { Bar, Interval } from '../../src/protocols/kline.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { binanceHistory } from '../../src/venues/binance/history.ts';
import { binance } from '../../src/venues/binance/index.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { root, tapeworks } from '../commands/harness.ts';

interface BackfillCase {
  readonly signal: AbortSignal;
  readonly onPage: () => void;
  readonly aheadMs: number;
}

const MINUTE_US = 60_000_000n;
const HOURS = 20;
let folder: string;
let server: EmbeddedPostgres;
let client: pg.Client;
let simulator: Simulator;
let startMs: number;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-backfill-'));
  chmodSync(folder, 0o755);
  server = await startPostgres({ folder: join(folder, 'postgres') });
  client = new pg.Client({ connectionString: server.url, options: '-c timezone=UTC' });
  await client.connect();
  await migrate(client, readMigrations(MIGRATIONS));
  startMs = Math.floor(Date.now() / 60_000) * 60_000 - HOURS * 3_600_000;
  // A step is half a minute of the market: 1,200 minutes are two pages.
  const market = { symbols: ['BTC-USD'], venues: [binance], retainTrades: 1_000_000 };
  simulator = await startSimulator({ port: 0, seed: 4, rate: 1, speed: 30, startMs, manual: true, ...market });
  simulator.advance(HOURS * 120 + 1);
}, 60_000);
afterAll(async () => {
  await client?.end();
  await simulator?.stop();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const truth = (interval: Interval) =>
  simulator.truth
    .bars('binance', 'BTCUSDT', { interval, startMs, limit: 5_000 })
    .filter((bar) => bar.closeMs < venueNowMs());

async function stored(interval: Interval) {
  const { rows } = await client.query<{
    ms: string;
    trades: string;
    volume: string;
    quality: string;
    revision: number;
  }>(
    `SELECT (extract(epoch from open_time) * 1000)::bigint::text AS ms, trades::text, volume::text, quality, revision
     FROM klines WHERE symbol = 'BTCUSDT' AND "interval" = $1 AND closed ORDER BY open_time`,
    [interval],
  );
  return rows;
}

const venueNowMs = () => simulator.truth.nowMs('binance');

/** `aheadMs`: how far our clock is ahead of the venue's. */
function backfill(
  interval: Interval,
  { signal = new AbortController().signal, onPage = () => {}, aheadMs = 0 }: Partial<BackfillCase> = {},
) {
  const waits: number[] = [];
  const fromUs = BigInt(startMs) * 1000n;
  const startedMs = performance.now();
  const nowMs = () => Math.floor(venueNowMs() + aheadMs + performance.now() - startedMs);
  const store = new BackfillStore(client);
  const run = new Backfill({
    span: {
      venue: 'binance',
      symbol: 'BTCUSDT',
      interval,
      fromUs,
      toUs: BigInt(nowMs()) * 1000n,
    },
    store: {
      progress: (span) => store.progress(span),
      prepare: (from, to) => store.prepare(from, to),
      keep: async (span, bars, next) => {
        const added = await store.keep(span, bars, next);
        onPage();
        return added;
      },
    },
    history: binanceHistory.bars,
    restUrl: simulator.endpoints('binance').restUrl,
    budget: { perMinute: 6000, share: 1 },
    nowMs,
    sleep: async (ms) => {
      waits.push(ms);
      await new Promise((resolve) => setTimeout(resolve, ms));
    },
    onProgress: () => {},
    signal,
  }).run();
  return { run, waits };
}

describe('a filled history', () => {
  it('goes on after a stop where it was, and is what the venue has', async () => {
    const stop = new AbortController();
    const first = await backfill('1m', { signal: stop.signal, onPage: () => stop.abort() }).run;
    expect(first).toMatchObject({ isDone: false, added: 1000 });
    expect(await stored('1m')).toHaveLength(1000);
    const second = await backfill('1m').run;
    expect(second).toMatchObject({ isDone: true, addedBefore: 1000, added: truth('1m').length - 1000 });
    const rows = await stored('1m');
    expect(rows.map(({ ms, trades }) => [Number(ms), Number(trades)])).toEqual(
      truth('1m').map(({ openMs, trades }) => [openMs, trades]),
    );
    expect(new Set(rows.map(({ quality, revision }) => `${quality} ${revision}`))).toEqual(
      new Set(truth('1m').map(({ trades }) => (trades === 0 ? 'quiet 1' : 'complete 1'))),
    );
    expect(await backfill('1m').run).toMatchObject({ isDone: true, added: 0 });
  });

  it('has no bar that still grows, even when our clock says that it has closed', async () => {
    const hourMs = 3_600_000;
    const aheadMs = hourMs - (venueNowMs() % hourMs) + 1000;
    expect(await backfill('1h', { aheadMs }).run).toMatchObject({ isDone: true, added: truth('1h').length });
  });

  it('waits as long as the venue asks, and goes on', async () => {
    simulator.fault({ kind: 'http-429', venue: 'binance', value: 1 });
    simulator.fault({ kind: 'http-418', venue: 'binance', value: 1 });
    simulator.fault({ kind: 'http-500', venue: 'binance' });
    const { run, waits } = backfill('5m');
    expect(await run).toMatchObject({ isDone: true, added: truth('5m').length });
    expect(waits.filter((ms) => ms > 900 && ms <= 1000)).toHaveLength(2);
  });

  it('leaves stored bars alone, and replaces those that call themselves incomplete by their next revision', async () => {
    const [first, second, third] = truth('15m');
    const bar = ({ openMs }: { openMs: number }, more: Partial<Bar>): Bar => ({
      ...{ symbol: 0, interval: '15m', closed: true, quality: 'complete', revision: 7 },
      ...{ openUs: BigInt(openMs) * 1000n, closeUs: BigInt(openMs) * 1000n + 15n * MINUTE_US - 1n },
      ...{ open: 1n, high: 1n, low: 1n, close: 1n, firstId: 1n, lastId: 1n, trades: 1n, volume: 1n },
      ...{ quoteVolume: 1n, takerVolume: 0n, takerQuoteVolume: 0n, nextSequence: 0n },
      ...more,
    });
    const mine = [bar(first!, {}), bar(second!, { quality: 'gap' }), bar(third!, { closed: false, revision: 0 })];
    const named = mine.map((one) => ({ venue: 'binance', symbol: 'BTCUSDT', bar: one }));
    await new KlineStore(client).write(named, []);
    await backfill('15m').run;
    const rows = await stored('15m');
    expect(rows.slice(0, 2).map(({ quality, revision, trades }) => [quality, revision, Number(trades)])).toEqual([
      ['complete', 7, 1],
      ['repaired', 8, second!.trades],
    ]);
    expect(rows).toHaveLength(truth('15m').length - 1);
  });
});

describe('tapeworks backfill', () => {
  const run = (...args: string[]) => tapeworks(['backfill', ...args], { cwd: root, env: { DATABASE_URL: server.url } });
  const from = () => new Date(startMs).toISOString();
  const rest = () => ['--rest', simulator.endpoints('binance').restUrl];

  it('fills several intervals and says how many bars it added', async () => {
    const span = ['--from', from(), '--to', new Date(venueNowMs()).toISOString()];
    const { code, out } = await run('BTCUSDT', ...span, '--interval', '30m,2h', '--json', ...rest());
    expect(code).toBe(0);
    const lines = out
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as object);
    const filled = (interval: Interval) => ({ symbol: 'BTCUSDT', interval, added: truth(interval).length, done: true });
    expect(lines).toMatchObject([filled('30m'), filled('2h')]);
  }, 30_000);

  it('refuses what it cannot do with a code', async () => {
    expect(await run('BTCUSDT')).toMatchObject({ code: 64, err: expect.stringContaining('--from') });
    expect(await run('NONEUSDT', '--from', from(), ...rest())).toMatchObject({
      code: 1,
      err: expect.stringContaining('TW_KLINE_BACKFILL_VENUE'),
    });
  }, 30_000);
});
