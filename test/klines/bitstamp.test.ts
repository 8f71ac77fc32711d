import { describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { BarView } from '../../src/protocols/console-api.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { programOn, until } from '../books/harness.ts';
import { stoppedAfterEach } from '../stops.ts';
import { closedBars, expectTruth } from './harness.ts';

const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { bitstamp: btcusd } }
feeds: { bitstamp: { reconnect: { min: 100ms, max: 500ms } } }
book: { enabled: false }
klines: { workers: 1, intervals: [1s, 1m], grace: 300ms, discovery: { enabled: false } }
ingest: { enabled: false }
`;
const SYMBOL = 'bitstamp:btcusd';
/** More than the holes that a symbol could once have before it dropped trades. */
const RESTARTS = 10;
/** Trades that a symbol's bars remember one by one. */
const REMEMBERED = 128;

interface Status {
  readonly venues: { readonly bitstamp: { readonly struck: Readonly<Record<string, number>> } };
}

const afterwards = stoppedAfterEach();

async function start(rate = 50) {
  const simulator = await startSimulator({ port: 0, seed: 21, rate });
  afterwards(() => simulator.stop());
  const program = programOn(simulator, TOPOLOGY);
  afterwards(() => program.stop());
  expect(await program.start()).toMatchObject({ kind: 'applied' });
  const seen = new Map<number, string[]>();
  program.klines.bars.listen(SYMBOL, '1s', ({ openAtMs, quality, closed }) => {
    if (closed) seen.set(openAtMs, [...(seen.get(openAtMs) ?? []), quality]);
  });
  return { simulator, program, seen };
}

/** Bars that have closed, once so many whole ones are there and none is a gap. */
async function healed(program: Program, wanted: number): Promise<readonly BarView[]> {
  let bars: readonly BarView[] = [];
  const stop = program.klines.live.listen(() => {
    void closedBars(program, SYMBOL).then((found) => {
      bars = found;
    });
  });
  await until(
    () => bars.length >= wanted && bars.every(({ quality }) => quality !== 'gap'),
    () => JSON.stringify(bars.map(({ openAtMs, quality, trades }) => [openAtMs / 1000, quality, trades])),
  );
  stop();
  return bars;
}

function expectWhole(simulator: Simulator, bars: readonly BarView[]): void {
  expectTruth(simulator, SYMBOL, bars);
  expect(bars.map(({ openAtMs }) => openAtMs - bars[0]!.openAtMs)).toEqual(bars.map((_, at) => at * 1000));
}

describe('bars of a venue whose trade ids leave numbers out', () => {
  it('are gaps while the connection is lost, and whole when the venue has given the trades', async () => {
    const { simulator, program, seen } = await start();
    await healed(program, 2);
    const fromMs = Date.now();
    simulator.fault({ kind: 'refuse-connections', venue: 'bitstamp', durationMs: 3_500 });
    simulator.fault({ kind: 'disconnect', venue: 'bitstamp' });
    const bars = await healed(program, 10);
    expectWhole(simulator, bars);
    const within = [...seen].filter(([openAtMs]) => openAtMs >= fromMs && openAtMs + 1000 <= fromMs + 3_000);
    expect(within.length).toBeGreaterThanOrEqual(2);
    // One that closes when its trades have already been fetched is whole from the beginning.
    for (const [openAtMs, [first]] of within) expect(['gap', 'repaired'], String(openAtMs)).toContain(first);
    expect(within.some(([, qualities]) => qualities.includes('gap'))).toBe(true);
  }, 90_000);

  it('have the trades too that the venue had left out before it was lost', async () => {
    // So few trades that bars remember those of many seconds.
    const { simulator, program } = await start(35);
    let bars = await healed(program, 2);
    while (bars.reduce((sum, { trades }) => sum + trades, 0) <= REMEMBERED)
      bars = await healed(program, bars.length + 1);
    simulator.fault({ kind: 'late-trades', venue: 'bitstamp', symbol: 'btcusd', count: 1, value: 600_000 });
    const struck = () => (simulator.status() as Status).venues.bitstamp.struck['late-trades'] ?? 0;
    await until(() => struck() === 1, 'a trade to be held back');
    const closed = (await closedBars(program, SYMBOL)).length;
    await healed(program, closed + 1);
    simulator.fault({ kind: 'disconnect', venue: 'bitstamp' });
    expectWhole(simulator, await healed(program, closed + 6));
  }, 90_000);

  it('lose no trade however often their worker begins anew', async () => {
    const { simulator, program } = await start();
    let wanted = (await healed(program, 2)).length;
    for (let restart = 0; restart < RESTARTS; restart++) {
      program.system.restart('/klines/worker-0');
      wanted = (await healed(program, wanted + 1)).length;
    }
    expectWhole(simulator, await healed(program, wanted + 1));
    expect(program.health().parts.find(({ name }) => name === 'klines')?.reason).not.toContain('wait');
  }, 120_000);
});
