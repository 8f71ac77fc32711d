import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { statesIn } from '../../src/actors/kline-persistence/bar-spill.ts';
import { diskFs } from '../../src/actors/spill/file-system.ts';
import { scanSegment } from '../../src/actors/spill/segment-scan.ts';
import { BARS_LANE } from '../../src/actors/spill/yard.ts';
import type { SpillRecord } from '../../src/protocols/spill-layout.ts';
import { until } from '../books/harness.ts';
import { stoppedAfterEach } from '../stops.ts';
import { KlinePlace } from './place.ts';
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

const afterwards = stoppedAfterEach();

async function world() {
  const place = await KlinePlace.open({ seed: 11, rate: 40 });
  afterwards(() => place.close());
  const orders = place.ordersFor(['binance', 'bitstamp']);
  const program = new ProgramProcess({ topology: TOPOLOGY, ...orders });
  afterwards(() => program.kill());
  return {
    place,
    program,
    reported: (what: string, is: (report: ProgramReport) => boolean) =>
      until(
        () => program.report !== undefined && is(program.report),
        () => `${what}: ${JSON.stringify(program.report)} ${program.log}`,
      ),
    async spilled() {
      const lane = join(orders.folder, 'spill', BARS_LANE);
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
    await it.place.untilRows(closed, (rows) => rows >= 4);
    await it.reported('health', ({ health }) => health.status === 'OK');
    await it.place.query('ALTER TABLE klines RENAME TO klines_away');
    await it.reported('Postgres that answers and refuses', ({ health }) =>
      /Postgres does not take our bars \(SQLSTATE 42P01: .*\): .* closed bars wait/.test(health.reason),
    );
    await it.place.query('ALTER TABLE klines_away RENAME TO klines');
    await it.reported('health', ({ health }) => health.status === 'OK');
    expect(it.program.log).toMatch(/bars: Postgres does not take our bars/);
    expect(it.program.log).toMatch(/bars: Postgres takes them again; all that waited are stored/);
    await it.place.postgres.stop();
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

    await it.place.restartPostgres();
    await it.program.start();
    await it.reported('the spill stored', ({ persistence }) => {
      return persistence.mode === 'flowing' && persistence.spill.bars === 0;
    });
    await it.reported('health', ({ health }) => health.status === 'OK');
    await expectStoredTruth(it.place.simulator, (sql) => it.place.query(sql), ['BTCUSDT', 'ETHUSDT']);
    await it.program.stop();

    const rows = await it.place.query<{ key: string; revision: number }>(
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
