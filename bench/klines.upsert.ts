import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { copyText, type NamedBar } from '../src/actors/kline-persistence/rows.ts';
import { KlineStore, MIGRATIONS } from '../src/actors/kline-persistence/store.ts';
import { migrate, readMigrations } from '../src/actors/sink/migrate.ts';
import { providePostgres } from '../src/servers/index.ts';
import { type BenchOptions, medianTurn, type Pair, ROUNDS } from './harness.ts';
import { START_US } from './klines.trades.ts';

const BATCH = 4000;
const MINUTE_US = 60_000_000n;

function batch(round: number): NamedBar[] {
  return Array.from({ length: BATCH }, (_, index) => {
    const openUs = START_US + BigInt(round) * MINUTE_US;
    const prices = {
      open: 6_512_345_000_000n,
      high: 6_522_345_000_000n,
      low: 6_502_345_000_000n,
      close: 6_512_000_000_000n,
    };
    const sums = { volume: 123_456_789_012n, quoteVolume: 80_400_000_000_000_123_456n, takerVolume: 61_000_000_000n };
    const rest = {
      takerQuoteVolume: 40_200_000_000_000_123_456n,
      trades: 512n,
      firstId: 1n,
      lastId: 512n,
      nextSequence: 0n,
    };
    const state = { interval: '1m', quality: 'complete', closed: true, revision: 1 } as const;
    const times = { openUs, closeUs: openUs + MINUTE_US - 1n };
    return {
      venue: 'binance',
      symbol: `S${index}USDT`,
      bar: { symbol: index, ...times, ...prices, ...sums, ...rest, ...state },
    };
  });
}

async function secondsOf(work: () => Promise<void>): Promise<number> {
  const start = process.hrtime.bigint();
  await work();
  return Number(process.hrtime.bigint() - start) / 1e9;
}

/** Bars a second through the store, beside COPY of the same text into a table with the same key. */
export async function measureUpserts({ report }: BenchOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeworks-bench-'));
  chmodSync(folder, 0o755);
  const server = await providePostgres({ folder });
  if (server.state === 'down') {
    process.stderr.write(`upserted_bars left out: ${server.code} ${server.reason}\n`);
    return;
  }
  const client = new pg.Client({ connectionString: server.url });
  try {
    await client.connect();
    await migrate(client, readMigrations(MIGRATIONS));
    await client.query('CREATE TABLE raw_klines (LIKE klines INCLUDING ALL)');
    const store = new KlineStore(client);
    await store.prepare(START_US, 1);
    const turns: Pair[] = [];
    for (let round = -1; round < ROUNDS; round++) {
      const bars = batch(round + 1);
      const upsert = BATCH / (await secondsOf(() => store.write(bars, [])));
      const copy = BATCH / (await secondsOf(() => rawCopy(client, bars)));
      if (round >= 0) turns.push([upsert, copy]);
    }
    const [upserts, copies] = medianTurn(turns);
    report('upserted_bars', upserts, 'bars/s', { value: copies, name: 'raw COPY' });
  } finally {
    await client.end();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function rawCopy(client: pg.Client, bars: readonly NamedBar[]): Promise<void> {
  await pipeline(Readable.from([copyText(bars)]), client.query(copyFrom('COPY raw_klines FROM STDIN')));
}
