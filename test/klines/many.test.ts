// Hundreds of symbols found while trades flow and a worker is killed: each is served once, and no trade that came after
// the worker had the symbol is missing from its bars.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Random, testSeed } from '../../src/kernels/oracle/random.ts';
import { binance } from '../../src/venues/binance/index.ts';
import { FLAWLESS, KlineWorld } from './world.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const SYMBOLS = LONG ? 500 : 60;
const WORKERS = 2;
const BURST = 20;
const FOUND_MS = 120_000;
const seed = testSeed();
const random = new Random(seed);
const label = `TAPEWORKS_SEED=${seed}`;
const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT } }
feeds: { binance: {} }
book: { enabled: false }
klines:
  workers: ${WORKERS}
  intervals: [1s, 1m]
  grace: 1s
  persistEvery: 500ms
  symbols: { include: ["BTCUSDT", "N*USDT"] }
  discovery: { venues: [binance] }
ingest: { enabled: false }
supervision: { klines: { intensity: 100 } }
`;
const EXCUSED_MS = 10_000;

let world: KlineWorld;
beforeAll(async () => {
  process.stdout.write(`${SYMBOLS} new symbols: ${label}\n`);
  const simulator = { seed, rate: 10, venues: [binance], symbols: ['BTC-USD'], retainTrades: 20_000 };
  world = await KlineWorld.open({ topology: TOPOLOGY, simulator });
}, 120_000);
afterAll(() => world?.close());

async function untilServed(names: readonly string[]): Promise<void> {
  const deadline = performance.now() + FOUND_MS;
  while (!names.every((name) => world.program.symbols.includes(name)) && performance.now() < deadline) await sleep(200);
}

describe('symbols that are listed while the program runs', () => {
  it('are all served, none twice, and miss no trade, although workers are killed meanwhile', {
    timeout: 600_000,
  }, async () => {
    const names = Array.from({ length: SYMBOLS }, (_, at) => `N${at}X`);
    const killAt = new Set([Math.floor(SYMBOLS * 0.3), Math.floor(SYMBOLS * 0.7)]);
    for (const [at, name] of names.entries()) {
      world.simulator.fault({ kind: 'new-listing', venue: 'binance', symbol: `${name}-USD` });
      if (killAt.has(at)) world.program.tell({ kind: 'end-worker', worker: random.below(WORKERS) });
      if (at % BURST === BURST - 1) await sleep(200 + random.below(300));
    }
    const wanted = names.map((name) => `binance:${name}USDT`);
    await untilServed(wanted);
    const { symbols } = world.program;
    expect(
      wanted.filter((name) => !symbols.includes(name)),
      label,
    ).toEqual([]);
    expect(symbols.length, label).toBe(new Set(symbols).size);
    world.program.tell({ kind: 'end-worker', worker: random.below(WORKERS) });
    await sleep(8_000);
    const verdict = await world.judge(['binance:BTCUSDT', ...wanted], ['1s', '1m'], EXCUSED_MS);
    expect(verdict, `${label} ${JSON.stringify(world.program.report)} ${world.program.log}`).toEqual(FLAWLESS);
  });
});
