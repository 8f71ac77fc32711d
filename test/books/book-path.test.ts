import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bookLayout } from '../../src/actors/merger/book-memory.ts';
import type { Program } from '../../src/program/program.ts';
import { MERGE_CONTROL, MERGER_TURN } from '../../src/protocols/merge-layout.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { type ClientSummary, firstSummary, startBooks } from './harness.ts';

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

  it.each([
    ['the merger', MERGER_TURN, ['/book/merger']],
    ['a feed', MERGER_TURN + 1, ['/threads/feed-binance', '/threads/feed-bitstamp']],
    ['the other feed', MERGER_TURN + 2, ['/threads/feed-binance', '/threads/feed-bitstamp']],
  ])('goes on when the thread of %s ends while it merges', { timeout: 60_000 }, async (_, holder, paths) => {
    const { memory, plan } = program.books.books!;
    const words = new Int32Array(memory.buffer);
    const turn = (bookLayout(plan).control + MERGE_CONTROL.turn) / 4;
    const before = await firstSummary(port, { symbols: ['BTC-USD'] }, () => true);
    // As if it stopped there for ever: from now on nobody can merge.
    for (let tries = 0; Atomics.compareExchange(words, turn, 0, holder) !== 0; tries++) expect(tries).toBeLessThan(1e6);
    for (const path of paths) program.system.restart(path);
    const isLater = ({ sequence, venues }: ClientSummary) =>
      BigInt(sequence) > BigInt(before.sequence) + 10n && venues.every(({ live }) => live);
    expect(isLater(await firstSummary(port, { symbols: ['BTC-USD'] }, isLater))).toBe(true);
  });
});
