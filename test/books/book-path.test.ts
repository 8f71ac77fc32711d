import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { firstSummary, startBooks } from './harness.ts';

let simulator: Simulator;
let program: Program;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, seed: 1, rate: 20 });
  ({ program, port } = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
feeds: { binance: {}, bitstamp: {} }
`,
  ));
});
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
});

const venuesOf = (levels: readonly { readonly exchange: string }[]) => new Set(levels.map((level) => level.exchange));

describe('the order-book path', () => {
  it('brings frames of two venues as one summary to a gRPC subscriber, best first', async () => {
    const summary = await firstSummary(port, { symbols: ['BTC-USD'] }, ({ bids }) => venuesOf(bids).size === 2);
    expect(summary.bids).toHaveLength(10);
    expect(summary.asks).toHaveLength(10);
    const bids = summary.bids.map((level) => level.price);
    const asks = summary.asks.map((level) => level.price);
    expect(bids).toEqual([...bids].sort((a, b) => b - a));
    expect(asks).toEqual([...asks].sort((a, b) => a - b));
    expect(summary.spread).toBeCloseTo(asks[0]! - bids[0]!, 6);
    expect(summary.venues.map(({ name, live }) => [name, live])).toEqual([
      ['binance', true],
      ['bitstamp', true],
    ]);
  });

  it('streams the default symbol for an empty request', async () => {
    expect((await firstSummary(port, {}, () => true)).symbol).toBe('BTC-USD');
  });
});
