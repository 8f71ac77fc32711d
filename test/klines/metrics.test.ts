import { afterEach, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { programOn, until } from '../books/harness.ts';

const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines: { workers: 2, intervals: [1s], grace: 300ms, discovery: { enabled: false } }
ingest: { enabled: false }
`;

let simulator: Simulator;
let program: Program;
afterEach(async () => {
  await program.stop();
  await simulator.stop();
});

/** Samples by `name{labels}`. */
function samplesOf(text: string): ReadonlyMap<string, number> {
  return new Map([...text.matchAll(/^(kline_\S+) (\S+)$/gm)].map(([, name, value]) => [name!, Number(value)] as const));
}

describe('what Prometheus is told of the bars', () => {
  it('are figures of workers, repairs, feeds and clocks, with labels that cannot grow with the symbols', async () => {
    simulator = await startSimulator({ port: 0, seed: 41, rate: 50 });
    program = programOn(simulator, TOPOLOGY);
    await program.start();
    let samples: ReadonlyMap<string, number> = new Map();
    const look = () => {
      void program.klines.metrics().then((text) => {
        samples = samplesOf(text);
      });
    };
    const stop = program.klines.live.listen(look);
    const value = (name: string) => samples.get(name) ?? 0;
    await until(() => value('kline_bars_closed_total{quality="complete"}') > 0, 'a whole bar');
    simulator.fault({ kind: 'dropped-trades', venue: 'binance', symbol: 'BTCUSDT', count: 5 });
    await until(
      () =>
        value('kline_repairs_done_total{venue="binance"}') > 0 &&
        value('kline_bars_closed_total{quality="repaired"}') > 0,
      () => JSON.stringify([...samples]),
    );
    stop();
    expect(value('kline_trades_total{worker="0",outcome="applied"}')).toBeGreaterThan(0);
    expect(value('kline_repaired_trades_total{venue="binance"}')).toBeGreaterThanOrEqual(5);
    expect(value('kline_repair_weight{venue="binance"}')).toBeGreaterThanOrEqual(4);
    expect(value('kline_feeds{venue="binance",verdict="live"}')).toBe(1);
    const named = [...samples.keys()].map((sample) => sample.replace(/\{.*/, ''));
    for (const name of [
      'worker_busy_ratio',
      'worker_ring_depth',
      'worker_ring_high_water',
      'holes_open',
      'holes_total',
    ]) {
      expect(named).toContain(`kline_${name}`);
    }
    expect(value('kline_worker_snapshot_age_seconds{worker="1"}')).toBeLessThan(60);
    expect(Math.abs(value('kline_venue_clock_offset_seconds{venue="bitstamp"}'))).toBeLessThan(2);
    expect([...samples.keys()].filter((sample) => /usd/i.test(sample))).toEqual([]);
  }, 60_000);
});
