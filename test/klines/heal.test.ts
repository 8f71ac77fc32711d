import { describe, expect, it } from 'vitest';
import { type BarRow, barFromRow, SELECT_BAR, timeText } from '../../src/actors/kline-persistence/rows.ts';
import type { Interval } from '../../src/protocols/kline.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';
import { until } from '../books/harness.ts';
import { root, tapeworks } from '../commands/harness.ts';
import { stoppedAfterEach } from '../stops.ts';
import { Journal } from './journal.ts';
import { KlinePlace } from './place.ts';
import { ProgramProcess } from './program-process.ts';
import { TruthSeries } from './truth.ts';

const BINANCE = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT } }
  ETH-USD: { venues: { binance: ETHUSDT } }
feeds: { binance: {} }
`;
const BITSTAMP = `
instruments:
  BTC-USD: { venues: { bitstamp: btcusd } }
feeds: { bitstamp: { reconnect: { min: 100ms, max: 500ms } } }
`;
const topology = (feeds: string, heal: string, repair: boolean) => `${feeds}
book: { enabled: false }
klines:
  { workers: 1, intervals: [1s, 1m], grace: 200ms, persistEvery: 100ms, discovery: { enabled: false },
    repair: ${repair}, heal: ${heal} }
ingest: { enabled: false }
`;
const OFF = '{ enabled: false }';
const ON = '{ every: 1s, after: 2s, lookBack: 1h }';
const GAPS = `SELECT symbol, "interval", extract(epoch from open_time) FROM klines WHERE closed AND quality = 'gap'`;

/** Trades that a symbol's bars remember one by one. */
const REMEMBERED = 128;

interface Status {
  readonly venues: { readonly bitstamp: { readonly struck: Readonly<Record<string, number>> } };
}

const afterwards = stoppedAfterEach();

async function world(feeds = BINANCE, speed = 1) {
  const place = await KlinePlace.open({ seed: 23, rate: 40, speed });
  afterwards(() => place.close());
  let program: ProgramProcess | undefined;
  afterwards(() => program?.kill());
  const journal = new Journal((venue) => place.simulator.truth.nowMs(venue));
  afterwards(async () => journal.end());
  return {
    journal,
    endpoints: place.ordersFor(['binance']),
    simulator: place.simulator,
    async begin(heal: string, repair: boolean) {
      program = new ProgramProcess({
        topology: topology(feeds, heal, repair),
        speed,
        ...place.ordersFor(['binance', 'bitstamp']),
      });
      journal.follow(await program.start());
    },
    kill: () => program!.kill(),
    healthReason: () => program?.report?.health.reason ?? '',
    untilRows: (sql: string, isEnough: (rows: number) => boolean) =>
      place.untilRows(sql, isEnough, () => `${JSON.stringify(program?.report)} ${program?.log}`),
    query: (sql: string) => place.query(sql),
    bars: async (where: string) => {
      const rows = await place.query<BarRow>(`SELECT ${SELECT_BAR} FROM klines WHERE closed AND ${where}`);
      return rows.map(barFromRow);
    },
  };
}

/** The venue's REST bars have all but the ids. */
function expectTruth(simulator: Simulator, bars: Awaited<ReturnType<Awaited<ReturnType<typeof world>>['bars']>>): void {
  const series = new Map<string, TruthSeries>();
  for (const { venue, symbol, bar } of bars) {
    const key = `${symbol} ${bar.interval}`;
    const fromMs = simulator.truth.nowMs(venue) - 3_600_000;
    const known = series.get(key) ?? new TruthSeries(simulator, venue, symbol, bar.interval as Interval, fromMs);
    series.set(key, known);
    const ids = { firstId: 0n, lastId: 0n };
    const { open, high, low, close, volume, quoteVolume, takerVolume, takerQuoteVolume, trades } = bar;
    const ours = { open, high, low, close, volume, quoteVolume, takerVolume, takerQuoteVolume, trades, ...ids };
    expect(ours, `${key} ${bar.openUs}`).toEqual({ ...known.at(Number(bar.openUs / 1000n)), ...ids });
  }
}

const whole = `SELECT symbol FROM klines WHERE closed AND "interval" = '1s' AND quality = 'complete'
  GROUP BY symbol HAVING count(*) >= 2`;

describe('stored bars that stayed gaps', () => {
  it("become the venue's own after the process was killed and begins again", async () => {
    const it = await world();
    await it.begin(OFF, false);
    await it.untilRows(whole, (rows) => rows === 2);
    for (const symbol of ['BTCUSDT', 'ETHUSDT']) {
      it.simulator.fault({ kind: 'dropped-trades', venue: 'binance', symbol, count: 30 });
    }
    await it.untilRows(`SELECT DISTINCT symbol FROM klines WHERE closed AND quality = 'gap'`, (rows) => rows === 2);
    await it.kill();
    const before = await it.bars(`quality = 'gap'`);
    expect(before.length).toBeGreaterThan(1);

    await it.begin(ON, true);
    await it.untilRows(GAPS, (rows) => rows === 0);
    const keyOf = ({ symbol, bar }: (typeof before)[number]) => `${symbol} ${bar.interval} ${bar.openUs}`;
    await it.kill();
    const healed = await it.bars(`quality = 'repaired' AND first_id = 0`);
    const revisions = new Map(healed.map((named) => [keyOf(named), named.bar.revision]));
    for (const named of before) expect(revisions.get(keyOf(named)), keyOf(named)).toBeGreaterThan(named.bar.revision);
    expectTruth(it.simulator, healed);
    expect(it.journal.complaints).toEqual([]);
  }, 90_000);

  it.each([
    ['are healed', ON],
    ['are replaced by another process', OFF],
  ])(
    'are told to subscribers where they %s',
    async (_, heal) => {
      const it = await world();
      await it.begin(heal, false);
      await it.untilRows(whole, (rows) => rows === 2);
      const [first] = await it.bars(`symbol = 'BTCUSDT' AND "interval" = '1s' AND quality = 'complete'`);
      const { openUs, revision } = first!.bar;
      const states = () => it.journal.closed.get(`binance BTCUSDT 1s ${openUs / 1000n}`) ?? [];
      await until(() => it.journal.closed.size > 0, 'a subscriber');
      await it.query(`UPDATE klines SET quality = 'gap' WHERE symbol = 'BTCUSDT' AND "interval" = '1s'
      AND open_time = '${timeText(openUs)}'`);
      const from = new Date(Number(openUs / 1000n)).toISOString();
      const rest = it.endpoints.endpoints.binance!.restUrl;
      const args = ['backfill', 'BTCUSDT', '--interval', '1s', '--from', from, '--rest', rest];
      // A page ends before the bar that may still grow, so that a later one proves this one.
      await it.untilRows(
        `SELECT 1 FROM klines WHERE closed AND open_time > '${timeText(openUs)}' AND "interval" = '1s'`,
        (rows) => rows >= 4,
      );
      if (heal === OFF) {
        const env = { DATABASE_URL: it.endpoints.postgresUrl };
        expect(await tapeworks(args, { cwd: root, env })).toMatchObject({ code: 0, err: '' });
      }
      await until(
        () => states().at(-1)?.revision === revision + 1,
        () => JSON.stringify(states().map((state) => [state.revision, state.quality])),
      );
      expect(states().at(-1)).toMatchObject({ quality: 'repaired', trades: first!.bar.trades });
      expect(it.journal.complaints).toEqual([]);
    },
    90_000,
  );

  it('wait in health while the venue fails, one that it does not know for ever, and hold up no other', async () => {
    const it = await world();
    await it.begin(OFF, false);
    await it.untilRows(whole, (rows) => rows === 2);
    await it.kill();
    const [first] = (await it.bars(`symbol = 'BTCUSDT' AND "interval" = '1s' AND quality = 'complete'`)).slice(-1);
    await it.query(`UPDATE klines SET quality = 'gap', volume = 0 WHERE symbol = 'BTCUSDT' AND "interval" = '1s'
      AND open_time = '${timeText(first!.bar.openUs)}'`);
    await it.query(`INSERT INTO klines SELECT venue, 'GONEUSDT', "interval", open_time, close_time, open, high, low, close,
      volume, quote_volume, taker_volume, taker_quote_volume, trades, first_id, last_id, closed, quality, revision
      FROM klines WHERE quality = 'gap'`);
    it.simulator.fault({ kind: 'http-500', venue: 'binance', durationMs: 6_000 });
    await it.begin(ON, true);
    await until(
      () => /2 gap bars being healed \(.*500/.test(it.healthReason()),
      () => it.healthReason(),
    );
    await it.untilRows(`${GAPS} AND symbol = 'BTCUSDT'`, (rows) => rows === 0);
    expectTruth(
      it.simulator,
      await it.bars(`open_time = '${timeText(first!.bar.openUs)}' AND symbol = 'BTCUSDT'
      AND "interval" = '1s'`),
    );
    await until(
      () => /1 gap bars being healed \(GONEUSDT 1s: 400/.test(it.healthReason()),
      () => it.healthReason(),
    );
  }, 90_000);
});

/** Trades that were held back are older than those that bars remember one by one, and then the feed or the program ends. */
async function heldBack(it: Awaited<ReturnType<typeof world>>): Promise<string> {
  await it.untilRows(whole, (rows) => rows === 1);
  it.simulator.fault({ kind: 'late-trades', venue: 'bitstamp', symbol: 'btcusd', count: 3, value: 600_000 });
  const struck = () => (it.simulator.status() as Status).venues.bitstamp.struck['late-trades'] ?? 0;
  await until(() => struck() === 3, 'trades to be held back');
  const time = timeText(BigInt(Math.round(it.simulator.truth.nowMs('bitstamp') * 1000)));
  const after = `SELECT sum(trades) FROM klines WHERE "interval" = '1s' AND open_time > '${time}'`;
  await it.untilRows(`${after} HAVING sum(trades) > ${2 * REMEMBERED}`, (rows) => rows === 1);
  const before = `closed AND "interval" = '1s' AND open_time <= '${time}'`;
  await it.untilRows(`SELECT 1 FROM klines WHERE ${before} AND quality = 'repaired'`, (rows) => rows === 0);
  return before;
}

describe('stored bars that lack trades which nothing shows to be missing', () => {
  it("are compared with the venue's trades after a loss, and healed", async () => {
    const it = await world(BITSTAMP, 5);
    await it.begin(ON, true);
    const before = await heldBack(it);
    it.simulator.fault({ kind: 'disconnect', venue: 'bitstamp' });
    await it.untilRows(`SELECT 1 FROM klines WHERE ${before} AND quality = 'repaired'`, (rows) => rows > 0);
    await it.untilRows(`${GAPS} AND "interval" = '1s'`, (rows) => rows === 0);
    expectTruth(it.simulator, await it.bars(`${before} AND quality <> 'partial-first'`));
  }, 90_000);

  it('are compared after a start, although nothing is lost any more', async () => {
    const it = await world(BITSTAMP, 5);
    await it.begin(ON, true);
    const before = await heldBack(it);
    await it.kill();
    await it.begin(ON, true);
    await it.untilRows(`SELECT 1 FROM klines WHERE ${before} AND quality = 'repaired'`, (rows) => rows > 0);
    await it.untilRows(`${GAPS} AND "interval" = '1s'`, (rows) => rows === 0);
    expectTruth(it.simulator, await it.bars(`${before} AND quality <> 'partial-first'`));
  }, 90_000);
});
