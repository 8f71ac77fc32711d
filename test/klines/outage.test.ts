import { chmodSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { statesIn } from '../../src/actors/kline-persistence/bar-spill.ts';
import { diskFs } from '../../src/actors/spill/file-system.ts';
import { scanSegment } from '../../src/actors/spill/segment-scan.ts';
import { BARS_LANE } from '../../src/actors/spill/yard.ts';
import type { SpillRecord } from '../../src/protocols/spill-layout.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { startSimulator } from '../../src/venues/simulation/simulator.ts';
import { until } from '../books/harness.ts';
import { ProgramProcess, type ProgramReport } from './program-process.ts';
import { expectStoredTruth } from './stored-truth.ts';

const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines: { workers: 2, intervals: [1s, 1m], grace: 200ms, persistEvery: 100ms, discovery: { enabled: false } }
ingest: { enabled: false }
`;

const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
});

async function untilRows(query: () => Promise<readonly unknown[]>, count: number): Promise<void> {
  let found = 0;
  let asking: Promise<void> | undefined;
  await until(
    () => {
      asking ??= query().then((rows) => {
        found = rows.length;
        asking = undefined;
      });
      return found >= count;
    },
    () => `${found} of ${count} rows`,
  );
  await asking;
}

async function world() {
  const folder = mkdtempSync(join(tmpdir(), 'tapeworks-outage-'));
  stops.push(() => rmSync(folder, { recursive: true, force: true }));
  chmodSync(folder, 0o755);
  const simulator = await startSimulator({ port: 0, seed: 11, rate: 40 });
  stops.push(() => simulator.stop());
  let postgres: EmbeddedPostgres = await startPostgres({ folder: join(folder, 'postgres') });
  stops.push(() => postgres.stop());
  const { url } = postgres;
  const program = new ProgramProcess({
    topology: TOPOLOGY,
    folder,
    postgresUrl: url,
    endpoints: { binance: simulator.endpoints('binance'), bitstamp: simulator.endpoints('bitstamp') },
  });
  stops.push(() => program.kill());
  return {
    simulator,
    program,
    stopPostgres: () => postgres.stop(),
    async startPostgres() {
      postgres = await startPostgres({ folder: join(folder, 'postgres'), port: Number(new URL(url).port) });
    },
    reported: (what: string, is: (report: ProgramReport) => boolean) =>
      until(
        () => program.report !== undefined && is(program.report),
        () => `${what}: ${JSON.stringify(program.report)} ${program.log}`,
      ),
    async query<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      try {
        return (await client.query<R>(sql)).rows;
      } finally {
        await client.end();
      }
    },
    async spilled() {
      const lane = join(folder, 'spill', BARS_LANE);
      const records: SpillRecord[] = [];
      for (const name of readdirSync(lane).filter((file) => /\.(open|seg)$/.test(file))) {
        await scanSegment(diskFs, join(lane, name), (record) => records.push(record));
      }
      return statesIn(records);
    },
  };
}

describe('bars while Postgres is out', () => {
  it('are all in the table afterwards, though the process was killed in the outage and started in it again', async () => {
    const it = await world();
    await it.program.start();
    await it.reported('all symbols placed', ({ symbols }) => symbols.placed === 4);
    const closed = `SELECT symbol FROM klines WHERE closed AND quality = 'complete' GROUP BY symbol HAVING count(*) >= 2`;
    await untilRows(() => it.query(closed).catch(() => []), 4);
    await it.reported('health', ({ health }) => health.status === 'OK');
    await it.stopPostgres();
    await it.reported('bars in the spill', ({ persistence }) => persistence.spill.bars >= 8);
    await it.reported('health says so', ({ health }) =>
      /Postgres is out .* closed bars wait in the spill/.test(health.reason),
    );
    await it.program.kill();
    const before = await it.spilled();
    expect(new Set(before.map(({ venue, symbol }) => `${venue}:${symbol}`)).size).toBe(4);

    await it.program.start();
    await it.reported('more bars in the spill', ({ persistence, symbols }) => {
      return symbols.placed === 4 && persistence.spill.bars >= before.length + 12;
    });
    await it.program.kill();
    const spilled = await it.spilled();
    expect(spilled.length).toBeGreaterThan(before.length);

    await it.startPostgres();
    await it.program.start();
    await it.reported('the spill stored', ({ persistence }) => {
      return persistence.mode === 'flowing' && persistence.spill.bars === 0;
    });
    await it.reported('health', ({ health }) => health.status === 'OK');
    await expectStoredTruth(it.simulator, (sql) => it.query(sql), ['BTCUSDT', 'ETHUSDT']);
    await it.program.stop();

    const rows = await it.query<{ key: string; revision: number }>(
      `SELECT venue || ' ' || symbol || ' ' || "interval" || ' ' || (extract(epoch from open_time) * 1000000)::bigint AS key,
       revision FROM klines WHERE closed`,
    );
    const stored = new Map(rows.map(({ key, revision }) => [key, revision]));
    const all = spilled.flatMap(({ venue, symbol, bars }) => bars.map((bar) => ({ venue, symbol, bar })));
    for (const { venue, symbol, bar } of all.filter((named) => named.bar.closed)) {
      const key = `${venue} ${symbol} ${bar.interval} ${bar.openUs}`;
      expect(stored.get(key), key).toBeGreaterThanOrEqual(bar.revision);
    }
  }, 120_000);
});
