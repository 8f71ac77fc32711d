// kill -9 of the program, of a worker's thread, of Postgres, at random: no closed bar is lost, none is wrong, and no
// revision goes backwards, neither in the table nor for whoever listened all the time.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import { FLAWLESS, KlineWorld } from './world.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const KILLS = LONG ? 20 : 4;
const WORKERS = 2;
const seed = testSeed();
const random = new Random(seed);
const label = `TAPEWORKS_SEED=${seed}`;
const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT } }
  SOL-USD: { venues: { binance: SOLUSDT } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines:
  workers: ${WORKERS}
  intervals: [1s, 1m, 3m]
  grace: 300ms
  persistEvery: 300ms
  discovery: { enabled: false }
  heal: { every: 1s, after: 5s }
ingest: { enabled: false }
supervision: { klines: { intensity: 100 } }
`;
const SYMBOLS = ['binance:BTCUSDT', 'binance:ETHUSDT', 'binance:SOLUSDT', 'bitstamp:btcusd'];
const EXCUSED_MS = 4_000;

let world: KlineWorld;
beforeAll(async () => {
  process.stdout.write(`bars under kill -9: ${label}\n`);
  world = await KlineWorld.open({ topology: TOPOLOGY, simulator: { seed, rate: 50 } });
}, 120_000);
afterAll(() => world?.close());

const kills = {
  program: async () => {
    await world.program.kill();
    await sleep(random.below(2_000));
    await world.start();
  },
  worker: async () => world.program.tell({ kind: 'end-worker', worker: random.below(WORKERS) }),
  postgres: async () => {
    await world.killPostgres();
    await sleep(random.below(4_000));
    await world.restartPostgres();
  },
  'program while postgres is out': async () => {
    await world.killPostgres();
    await sleep(random.below(3_000));
    await world.program.kill();
    await world.restartPostgres();
    await world.start();
  },
};

describe('no closed bar is lost, none is wrong and no revision falls', () => {
  it(`when programs, threads and the database are killed ${KILLS} times`, { timeout: 900_000 }, async () => {
    await sleep(3_000);
    // Each kind comes at least once; the rest is left to chance.
    const kinds = Object.keys(kills) as (keyof typeof kills)[];
    const order = random.shuffle(Array.from({ length: KILLS }, (_, at) => kinds[at] ?? random.pick(kinds)));
    for (const kind of order) {
      await sleep(500 + random.below(3_000));
      await kills[kind]();
    }
    await sleep(3_000);
    const verdict = await world.judge(SYMBOLS, ['1s', '1m', '3m'], EXCUSED_MS);
    expect(
      verdict,
      `${label} ${order.join(', ')} ${JSON.stringify(world.program.report)} ${world.program.log}`,
    ).toEqual(FLAWLESS);
  });
});
