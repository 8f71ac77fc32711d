// Bars under a feed that fails in every way the simulated venues can: after repair each stored bar is the venue's own.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import type { FaultRequest } from '../../src/venues/simulation/faults.ts';
import { FLAWLESS, KlineWorld } from './world.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const FAULTS_MS = LONG ? 240_000 : 12_000;
const LISTINGS_MOST = LONG ? 6 : 1;
/** Minutes of the market that pass in a minute: venues and program have clocks that go that fast. */
const SPEED = 5;
const INTERVALS = LONG ? (['1s', '1m', '3m', '5m', '15m'] as const) : (['1s', '1m', '3m'] as const);
const seed = testSeed();
const random = new Random(seed);
const label = `TAPEWORKS_SEED=${seed}`;
const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
  SOL-USD: { venues: { binance: SOLUSDT, bitstamp: solusd } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines:
  workers: 2
  intervals: [${INTERVALS.join(', ')}]
  grace: 1500ms
  persistEvery: 300ms
  symbols: { include: ["BTC*", "ETH*", "SOL*", "btc*", "eth*", "sol*", "NEW*"] }
  discovery: { venues: [binance] }
  heal: { every: 5s, after: 20s }
ingest: { enabled: false }
`;
const SYMBOLS = ['BTCUSDT', 'ETHUSDT', 'SOLUSDT']
  .map((name) => `binance:${name}`)
  .concat(['btcusd', 'ethusd', 'solusd'].map((name) => `bitstamp:${name}`));
const STALL_MS = 1_500;
const LATE_MS = 2_500;
/** A trade that is held back with nothing after it cannot be known of: a bar may be short that long, and the road. */
const EXCUSED_MS = (STALL_MS + LATE_MS + 4_000) * SPEED;

let world: KlineWorld;
beforeAll(async () => {
  process.stdout.write(`bars under faults: ${label}\n`);
  world = await KlineWorld.open({ topology: TOPOLOGY, simulator: { seed, rate: 50, speed: SPEED } });
}, 120_000);
afterAll(() => world?.close());

const venue = () => random.pick(['binance', 'bitstamp']);
const listed: string[] = [];

function randomFault(): FaultRequest {
  const symbol = random.pick(['BTCUSDT', 'ETHUSDT', 'SOLUSDT']);
  const kind = random.below(8);
  if (kind === 0) return { kind: 'disconnect', venue: venue() };
  if (kind === 1) return { kind: 'stall', venue: venue(), durationMs: 200 + random.below(STALL_MS - 200) };
  if (kind <= 3) return { kind: 'dropped-trades', venue: 'binance', symbol, count: 1 + random.below(20) };
  if (kind === 4)
    return { kind: 'late-trades', venue: venue(), count: 1 + random.below(10), value: random.below(LATE_MS) };
  if (kind === 5) return { kind: 'duplicate', venue: venue(), count: 1 + random.below(10) };
  if (kind === 6) return { kind: 'out-of-order', venue: venue(), count: 1 + random.below(5) };
  if (listed.length < LISTINGS_MOST) {
    const name = `NEW${listed.length}`;
    listed.push(`binance:${name}USDT`);
    return { kind: 'new-listing', venue: 'binance', symbol: `${name}-USD` };
  }
  return { kind: random.pick(['http-429', 'http-500'] as const), venue: 'binance', count: 1 + random.below(3) };
}

describe('stored bars', () => {
  it('equal the venue’s own in every figure once faults have been repaired, and were gaps until then', {
    timeout: FAULTS_MS + 240_000,
  }, async () => {
    await sleep(3_000);
    const struck = new Map<string, number>();
    for (const end = performance.now() + FAULTS_MS; performance.now() < end; ) {
      const fault = randomFault();
      struck.set(fault.kind, (struck.get(fault.kind) ?? 0) + 1);
      world.simulator.fault(fault);
      await sleep(100 + random.below(900));
    }
    world.simulator.clearFaults();
    await sleep(3_000);
    const verdict = await world.judge([...SYMBOLS, ...listed], INTERVALS, EXCUSED_MS);
    expect(verdict, `${label} ${JSON.stringify([...struck])} ${JSON.stringify(world.program.report)}`).toEqual(
      FLAWLESS,
    );
    expect(world.program.symbols).toEqual(expect.arrayContaining(listed));
    const rows = await world.rows();
    expect(rows.filter(({ quality }) => quality === 'repaired').length).toBeGreaterThan(0);
    // Subscribers heard of repairs too, once these were stored.
    const revised = [...world.journal.closed.values()].flat().filter(({ revision }) => revision > 1);
    expect(revised.length).toBeGreaterThan(0);
  });
});
