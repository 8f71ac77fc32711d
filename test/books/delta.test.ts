import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { ExchangeStatus } from '../../src/protocols/exchange.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { type ClientSummary, firstSummary, startBooks } from './harness.ts';

let simulator: Simulator;
let program: Program;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, seed: 3, rate: 20 });
  ({ program, port } = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park }, feeds: { kind: loop } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, kraken: BTC/USD, coinbase: BTC-USD } }
feeds:
  binance: { book: delta, thread: feeds }
  kraken: { thread: feeds, reconnect: { min: 10ms, max: 100ms } }
  coinbase: { thread: feeds, reconnect: { min: 10ms, max: 100ms } }
`,
  ));
});
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
});

const isIn = (summary: ClientSummary, venue: string) => summary.venues.some(({ name, live }) => name === venue && live);
const everyVenueIsIn = (summary: ClientSummary) => summary.venues.every(({ live }) => live);
const statusOf = (venue: string): ExchangeStatus => program.exchanges.all().find((one) => one.venue === venue)!;
const bookOf = (venue: string) => statusOf(venue).streams.find((stream) => stream.kind === 'book-delta')!;

/** Summaries keep coming, so a condition on anything is looked at with each. */
const until = (condition: (summary: ClientSummary) => boolean) => firstSummary(port, {}, condition);

describe('books that come as changes', () => {
  it('are merged: Kraken and Coinbase from their snapshots, Binance from a REST snapshot and its diffs', async () => {
    const summary = await until(everyVenueIsIn);
    expect(summary.venues.map(({ name }) => name)).toEqual(['binance', 'kraken', 'coinbase']);
    expect(summary.bids).toHaveLength(10);
  });

  it('of Kraken go out when a checksum differs, and come back from a new snapshot', async () => {
    await until(everyVenueIsIn);
    const before = bookOf('kraken').gaps;
    simulator.fault({ kind: 'corrupt-checksum', venue: 'kraken', count: 1 });
    await until(() => bookOf('kraken').gaps > before);
    await until((summary) => isIn(summary, 'kraken'));
    expect(statusOf('kraken').counters.reconnections).toBe(0);
  });

  it('of Coinbase go out when a frame is missing, and come back on a new connection', async () => {
    await until(everyVenueIsIn);
    const before = statusOf('coinbase').counters.reconnections;
    simulator.fault({ kind: 'gap', venue: 'coinbase', count: 1 });
    await until(() => statusOf('coinbase').counters.reconnections > before);
    await until((summary) => isIn(summary, 'coinbase'));
  });

  it('of Binance are built anew from another snapshot when diffs are missing', async () => {
    await until(everyVenueIsIn);
    const before = bookOf('binance').gaps;
    simulator.fault({ kind: 'gap', venue: 'binance', count: 1 });
    await until(() => bookOf('binance').gaps > before);
    await until((summary) => isIn(summary, 'binance'));
  });

  it('change over to a successor that has built its own', async () => {
    await until(everyVenueIsIn);
    for (const venue of ['kraken', 'coinbase', 'binance']) {
      const before = statusOf(venue).counters.rotations;
      program.books.exchanges.get(`/feeds/${venue}`)!.ref.tell({ kind: 'rotate', reason: 'a test wants it' });
      await until(() => statusOf(venue).counters.rotations > before);
      await until((summary) => isIn(summary, venue));
      expect(bookOf(venue).lost).toBe(0);
    }
  });
});
