// Incremental books under faults: they are right after every update, out while they cannot be, and right again by a snapshot.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { FaultRequest } from '../../src/venues/simulation/faults.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, startBooks, until } from './harness.ts';
import { TrueMarket } from './truth.ts';

const SYMBOL = 'BTC-USD';
const STEP_MS = 10;
const FEED = 'maxFrame: 256KiB, trades: false, reconnect: { min: 10ms, max: 50ms }';
const VENUES = ['binance', 'kraken', 'coinbase'];

let simulator: Simulator;
let market: TrueMarket;
let program: Program;
let watch: BookWatch;

beforeAll(async () => {
  simulator = await startSimulator({ manual: true, seed: 17, rate: 1000 / STEP_MS, startMs: 1_770_000_000_000 });
  const symbols = { binance: 'BTCUSDT', kraken: 'BTC/USD', coinbase: 'BTC-USD' };
  market = new TrueMarket(simulator, [{ name: SYMBOL, symbols }]);
  market.run(STEP_MS);
  const started = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, kraken: BTC/USD, coinbase: BTC-USD } } }
feeds: { binance: { book: delta, ${FEED} }, kraken: { ${FEED} }, coinbase: { ${FEED} } }
`,
  );
  program = started.program;
  watch = new BookWatch(started.port, [SYMBOL], (summary) => market.check(summary));
});
afterAll(async () => {
  watch?.close();
  market?.pause();
  await program?.stop();
  await simulator?.stop();
});

const statusOf = (venue: string) => program.exchanges.all().find((status) => status.venue === venue);
const feedOf = (venue: string) => statusOf(venue)?.streams[0];
const countersOf = (venue: string) => statusOf(venue)!.counters;
const isIn = (venue: string) => watch.venues(SYMBOL).includes(venue);
const report = () => JSON.stringify({ complaints: market.complaints, exchanges: program.exchanges.all() });

async function untilRight(): Promise<void> {
  await until(
    () => VENUES.every((venue) => isIn(venue) && feedOf(venue)?.phase === 'live'),
    () => `all venues to be right: ${report()}`,
  );
  const enough = watch.received + 20;
  await until(() => watch.received >= enough, 'summaries to go on');
}

const struck = (venue: string, kind: string): number =>
  (simulator.status() as { venues: Record<string, { struck: Record<string, number> }> }).venues[venue]!.struck[kind] ??
  0;

async function strike(request: FaultRequest & { venue: string }): Promise<void> {
  const strikes = struck(request.venue, request.kind) + (request.count ?? 1);
  simulator.fault(request);
  await until(() => struck(request.venue, request.kind) >= strikes, `${request.kind} to strike`);
}

beforeEach(untilRight);
afterEach(async () => {
  simulator.clearFaults();
  await untilRight();
  expect(market.complaints).toEqual([]);
});

describe.each(VENUES)('the incremental book of %s', (venue) => {
  it('is rebuilt after a lost connection', async () => {
    const { reconnections } = countersOf(venue);
    simulator.fault({ kind: 'disconnect', venue });
    await until(() => countersOf(venue).reconnections > reconnections, 'a reconnection');
  });

  it('is out after a missing update until it stands on a new snapshot', async () => {
    const { gaps } = feedOf(venue)!;
    const { reconnections } = countersOf(venue);
    // Kraken's checksum is over the top ten levels: one missing update may lie below them, many do not.
    await strike({ kind: 'gap', venue, count: venue === 'kraken' ? 40 : 1 });
    await until(
      () => feedOf(venue)!.gaps > gaps || countersOf(venue).reconnections > reconnections,
      () => `the gap to be seen: ${report()}`,
    );
    // One counter runs over all frames of a Coinbase connection: there nothing but a new connection helps.
    expect(countersOf(venue).reconnections > reconnections).toBe(venue === 'coinbase');
  });

  it('takes duplicates once', async () => {
    const { reconnections } = countersOf(venue);
    await strike({ kind: 'duplicate', venue, count: 5 });
    await untilRight();
    expect(countersOf(venue).reconnections).toBe(reconnections);
  });

  it('is never taken apart by frames out of order', async () => {
    await strike({ kind: 'out-of-order', venue, count: 2 });
    await untilRight();
  });

  it('passes to a successor that has a whole book of its own', async () => {
    const { rotations, reconnections } = countersOf(venue);
    const [, exchange] = [...program.books.exchanges].find(([path]) => path.includes(venue))!;
    exchange.ref.tell({ kind: 'rotate', reason: 'the test wants it' });
    await until(
      () => countersOf(venue).rotations > rotations,
      () => `a rotation: ${report()}`,
    );
    expect(countersOf(venue).reconnections).toBe(reconnections);
    expect(feedOf(venue)!.lost).toBe(0);
  });

  it('goes on through garbage', async () => {
    const { errors, reconnections } = countersOf(venue);
    simulator.fault({ kind: 'garbage', venue, count: 2 });
    await until(() => countersOf(venue).errors >= errors + 2, 'the garbage to be counted');
    expect(countersOf(venue).reconnections).toBe(reconnections);
  });
});

describe('a checksum that does not fit', () => {
  it('takes the book out and joins that stream anew, on the same connection', async () => {
    const { reconnections } = countersOf('kraken');
    const { gaps } = feedOf('kraken')!;
    await strike({ kind: 'corrupt-checksum', venue: 'kraken', count: 1 });
    await until(
      () => feedOf('kraken')!.gaps > gaps,
      () => `the checksum to be doubted: ${report()}`,
    );
    await untilRight();
    expect(countersOf('kraken').reconnections).toBe(reconnections);
  });
});

describe('a snapshot that cannot be fetched', () => {
  it.each(['http-429', 'http-418', 'http-500'] as const)('because of %s is tried again', async (kind) => {
    const before = countersOf('binance').errorsByCode['TW_VENUE_SNAPSHOT'] ?? 0;
    simulator.fault({ kind, venue: 'binance', count: 1, value: 1 });
    await strike({ kind: 'gap', venue: 'binance', count: 1 });
    await until(
      () => (countersOf('binance').errorsByCode['TW_VENUE_SNAPSHOT'] ?? 0) > before,
      () => `the failure to be counted: ${report()}`,
    );
  });
});
