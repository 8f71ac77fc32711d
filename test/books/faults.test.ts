// Each fault of the simulated venues: what the feed says of itself, that it comes right again, and that meanwhile every
// level of every published summary was one that the venue really had.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { ExchangeStatus } from '../../src/protocols/exchange.ts';
import type { FaultRequest } from '../../src/venues/simulation/faults.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, startBooks, until } from './harness.ts';
import { TrueMarket } from './truth.ts';

const SYMBOL = 'BTC-USD';
const STREAMS: Readonly<Record<string, string>> = {
  binance: 'btcusdt@depth20@100ms',
  bitstamp: 'order_book_btcusd',
};
const STEP_MS = 10;
const FEED = '{ staleAfter: 1s, maxFrame: 64KiB, trades: false, reconnect: { min: 10ms, max: 50ms } }';

let simulator: Simulator;
let market: TrueMarket;
let program: Program;
let watch: BookWatch;

beforeAll(async () => {
  simulator = await startSimulator({ manual: true, seed: 11, rate: 1000 / STEP_MS, startMs: 1_770_000_000_000 });
  market = new TrueMarket(simulator, [{ name: SYMBOL, symbols: { binance: 'BTCUSDT', bitstamp: 'btcusd' } }]);
  const started = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } } }
feeds: { binance: ${FEED}, bitstamp: ${FEED} }
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

const statusOf = (venue: string): ExchangeStatus | undefined =>
  program.exchanges.all().find((status) => status.venue === venue);
const feedOf = (venue: string) => statusOf(venue)?.streams.find(({ name }) => name === STREAMS[venue]);
const countersOf = (venue: string) => statusOf(venue)!.counters;
const isIn = (venue: string) => watch.venues(SYMBOL).includes(venue);
const report = () =>
  JSON.stringify(program.exchanges.all().map(({ venue, connection, streams }) => ({ venue, connection, streams })));

async function untilRight(): Promise<void> {
  await until(
    () => ['binance', 'bitstamp'].every((venue) => isIn(venue) && feedOf(venue)?.phase === 'live'),
    () => `both venues to be right: ${report()}`,
  );
  // A few more summaries, so that what came in late is seen too.
  const enough = watch.received + 20;
  await until(() => watch.received >= enough, 'summaries to go on');
}

async function untilFeed(
  venue: string,
  isWanted: (feed: NonNullable<ReturnType<typeof feedOf>>) => boolean,
  what: string,
) {
  await until(
    () => {
      const feed = feedOf(venue);
      return feed !== undefined && isWanted(feed);
    },
    () => `${venue} to be ${what}: ${report()}`,
  );
}

const struck = (venue: string, kind: string): number =>
  (simulator.status() as { venues: Record<string, { struck: Record<string, number> }> }).venues[venue]?.struck[kind] ??
  0;

async function strike(request: FaultRequest & { venue: string }): Promise<void> {
  const before = struck(request.venue, request.kind);
  simulator.fault(request);
  const strikes = before + (request.count ?? 1);
  await until(() => struck(request.venue, request.kind) >= strikes, `${request.kind} to strike`);
}

beforeEach(async () => {
  market.run(STEP_MS);
  await untilRight();
});
afterEach(async () => {
  simulator.clearFaults();
  market.run(STEP_MS);
  await untilRight();
  expect(market.complaints).toEqual([]);
});

describe.each(['binance', 'bitstamp'])('%s', (venue) => {
  const other = venue === 'binance' ? 'bitstamp' : 'binance';

  it.each([undefined, 1001])(
    'that disconnects (close code %s) is out at once, and back after a reconnect',
    async (value) => {
      const before = countersOf(venue).reconnections;
      simulator.fault({ kind: 'refuse-connections', venue, durationMs: 60_000 });
      simulator.fault({ kind: 'disconnect', venue, ...(value !== undefined && { value }) });
      await untilFeed(venue, (feed) => feed.phase === 'down', 'down');
      await until(() => !isIn(venue), `the levels of ${venue} to go`);
      expect(isIn(other)).toBe(true);
      simulator.clearFaults();
      await untilRight();
      expect(countersOf(venue).reconnections).toBeGreaterThan(before);
    },
  );

  it('that duplicates frames counts them once', async () => {
    const before = feedOf(venue)!.duplicates;
    await strike({ kind: 'duplicate', venue, count: 5 });
    await untilFeed(venue, (feed) => feed.duplicates >= before + 5, 'sending duplicates');
    expect(['live', 'quiet']).toContain(feedOf(venue)!.phase);
  });

  it('that sends frames out of order never takes the book back', async () => {
    const before = feedOf(venue)!.duplicates;
    const { reconnections } = countersOf(venue);
    await strike({ kind: 'out-of-order', venue, count: 3 });
    await untilFeed(venue, (feed) => feed.duplicates > before, 'overtaken');
    expect(countersOf(venue).reconnections).toBe(reconnections);
  });

  it('that leaves frames out goes on with the next snapshot', async () => {
    const before = countersOf(venue).reconnections;
    await strike({ kind: 'gap', venue, count: 5 });
    await untilRight();
    expect(countersOf(venue).reconnections).toBe(before);
  });

  it('that sends garbage is counted and sampled, and stays connected', async () => {
    const before = countersOf(venue);
    simulator.fault({ kind: 'garbage', venue, count: 3 });
    await until(() => countersOf(venue).errors >= before.errors + 3, 'the garbage to be counted');
    expect(statusOf(venue)!.refused.at(-1)).toMatchObject({
      code: 'TW_FRAME_JSON',
      start: expect.stringContaining('garbage'),
    });
    expect(countersOf(venue).reconnections).toBe(before.reconnections);
    expect(['live', 'quiet']).toContain(feedOf(venue)!.phase);
  });

  it('that sends a frame beyond the limit is counted, and connected to anew', async () => {
    const before = countersOf(venue);
    simulator.fault({ kind: 'oversized', venue, value: 100_000 });
    await until(() => countersOf(venue).reconnections > before.reconnections, 'a reconnection');
    expect(countersOf(venue).errorsByCode['TW_FRAME_SIZE']).toBeGreaterThan(before.errorsByCode['TW_FRAME_SIZE'] ?? 0);
  });

  it('that sends fragments and drips is read as ever', async () => {
    const before = countersOf(venue);
    await strike({ kind: 'fragmented', venue, count: 5 });
    simulator.fault({ kind: 'slow-drip', venue, durationMs: 300, value: 200 });
    const frames = feedOf(venue)!.frames;
    await untilFeed(venue, (feed) => feed.frames > frames + 20, 'flowing');
    expect(countersOf(venue).errors).toBe(before.errors);
    expect(countersOf(venue).reconnections).toBe(before.reconnections);
  });

  it('that announces its end is changed over to a new connection without losing anything', async () => {
    const before = countersOf(venue);
    simulator.fault({ kind: 'shutdown-notice', venue, durationMs: 5_000 });
    await until(
      () => countersOf(venue).rotations > before.rotations,
      () => `a rotation: ${report()}`,
    );
    expect(countersOf(venue).reconnections).toBe(before.reconnections);
    expect(feedOf(venue)!.lost).toBe(0);
  });

  it('that acks and then sends nothing is out, says so, and is asked again', async () => {
    simulator.fault({ kind: 'ack-then-silence', venue, count: 1 });
    simulator.fault({ kind: 'disconnect', venue });
    await untilFeed(venue, (feed) => feed.reason === 'acked-then-silent', 'acked, then silent');
    expect(isIn(venue)).toBe(false);
    await untilRight();
  });

  it('that refuses connections is waited for', async () => {
    const before = countersOf(venue).reconnections;
    simulator.fault({ kind: 'refuse-connections', venue, count: 3 });
    simulator.fault({ kind: 'disconnect', venue });
    await until(() => countersOf(venue).reconnections >= before + 4, 'three refusals');
    expect(isIn(other)).toBe(true);
  });
});

describe('silence', () => {
  it('takes a timer-driven venue out after its time, and its connection is replaced', async () => {
    const before = countersOf('binance').reconnections;
    simulator.fault({ kind: 'stall', venue: 'binance', durationMs: 60_000 });
    await untilFeed('binance', (feed) => feed.phase === 'stale' && feed.reason === 'timer-missed', 'stale');
    await until(() => !isIn('binance'), 'the levels of binance to go');
    expect(isIn('bitstamp')).toBe(true);
    await until(() => countersOf('binance').reconnections > before, 'a new connection');
    simulator.clearFaults();
  });

  it('leaves a change-driven venue in while its connection shows life', async () => {
    market.pause();
    await untilFeed('bitstamp', (feed) => feed.phase === 'quiet' && feed.reason === 'no-change-but-alive', 'quiet');
    await until(() => !isIn('binance'), 'the levels of binance to go');
    expect(isIn('bitstamp')).toBe(true);
    expect(watch.latest.get(SYMBOL)!.bids.every(({ exchange }) => exchange === 'bitstamp')).toBe(true);
  });

  it('of pings does not matter while frames flow', async () => {
    const before = countersOf('binance').reconnections;
    simulator.fault({ kind: 'ping-silence', venue: 'binance', durationMs: 60_000 });
    const { frames } = feedOf('binance')!;
    await untilFeed('binance', (feed) => feed.frames > frames + 50, 'flowing');
    expect(['live', 'quiet']).toContain(feedOf('binance')!.phase);
    expect(countersOf('binance').reconnections).toBe(before);
  });

  it('after a delisting takes the symbol out', async () => {
    simulator.fault({ kind: 'delisting', venue: 'binance', symbol: SYMBOL });
    await untilFeed('binance', (feed) => feed.phase === 'stale', 'stale');
    await until(() => !isIn('binance'), 'the levels of binance to go');
    simulator.fault({ kind: 'new-listing', venue: 'binance', symbol: SYMBOL });
  });
});

describe('a clock', () => {
  it('that is set back is followed when the venue keeps to it', async () => {
    const { gaps } = feedOf('bitstamp')!;
    simulator.fault({ kind: 'clock-offset', venue: 'bitstamp', value: -3_600_000 });
    market.renumbered('bitstamp');
    await untilFeed('bitstamp', (feed) => feed.gaps > gaps, 'renumbered');
  });
});
