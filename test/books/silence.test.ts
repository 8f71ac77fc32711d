// Silence: a venue that dies without a word is out in the time promised; one at which nothing happens stays.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BTC, FaultRig, STEP_MS } from './fault-rig.ts';

const STALE_AFTER_MS = 1_000;
const ALIVE_WITHIN_MS = 2_000;
const FEED = `trades: false, staleAfter: ${STALE_AFTER_MS}ms, aliveWithin: ${ALIVE_WITHIN_MS}ms, reconnect: { min: 10ms, max: 50ms }`;
/** Signs of life come in between frames, so the last one may be this much younger than the last book. */
const HEARTBEAT_MS = 1_000;

const promisedMs = (venue: string, book: string) =>
  venue === 'binance' && book === 'snapshot' ? STALE_AFTER_MS : ALIVE_WITHIN_MS + HEARTBEAT_MS;

describe.each(['snapshot', 'delta'])('where Binance sends a %s', (book) => {
  let rig: FaultRig;

  beforeAll(async () => {
    rig = await FaultRig.start({
      seed: 23,
      // A market second passes in half a second, so that heartbeats come twice as often.
      rate: 500 / STEP_MS,
      instruments: [BTC],
      topology: `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd, kraken: BTC/USD, coinbase: BTC-USD } } }
feeds: { binance: { book: ${book}, ${FEED} }, bitstamp: { ${FEED} }, kraken: { ${FEED} }, coinbase: { ${FEED} } }
`,
    });
  });
  afterAll(() => rig?.stop());
  beforeEach(() => rig.untilRight());
  afterEach(async ({ task }) => expect(await rig.settle(task)).toEqual([]));

  const venues = book === 'snapshot' ? ['binance', 'bitstamp', 'kraken', 'coinbase'] : ['binance'];

  it.each(venues)('%s, dead without a word, is out in the time promised, and connected to anew', async (venue) => {
    const { reconnections } = rig.countersOf(venue);
    rig.forgetAges();
    rig.fault({ kind: 'ping-silence', venue, durationMs: 60_000 });
    rig.fault({ kind: 'stall', venue, durationMs: 60_000 });
    await rig.untilOut(venue);
    expect(rig.oldestMs(venue)).toBeLessThanOrEqual(promisedMs(venue, book));
    await rig.until(() => rig.countersOf(venue).reconnections > reconnections, 'a new connection');
    expect(rig.isIn(venue)).toBe(false);
    for (const other of rig.venues) expect(rig.isIn(other)).toBe(other !== venue);
  });

  // Binance has no heartbeat of its own: with its diffs held back and pings that go on, it looks like a quiet market.
  const provable = venues.filter((venue) => venue !== 'binance' || book === 'snapshot');
  it.runIf(provable.length > 0).each(provable)(
    '%s, hung behind a front that answers pings, is out too',
    async (venue) => {
      if (venue !== 'binance') {
        await rig.until(() => rig.statusOf(venue)?.connection.provenBy === 'heartbeat', 'a heartbeat');
      }
      rig.forgetAges();
      rig.fault({ kind: 'stall', venue, durationMs: 60_000 });
      await rig.untilOut(venue);
      expect(rig.oldestMs(venue)).toBeLessThanOrEqual(promisedMs(venue, book));
    },
  );

  const stillOnes =
    book === 'snapshot'
      ? [
          ['binance', 'kraken'],
          ['bitstamp', 'coinbase'],
        ]
      : [['binance']];
  it.each(stillOnes.map((names) => [names.join(' and '), names] as const))(
    '%s, where nobody trades, stay in with their old books',
    async (_, names) => {
      const reconnections = names.map((venue) => rig.countersOf(venue).reconnections);
      rig.forgetAges();
      for (const venue of names) rig.fault({ kind: 'still-market', venue, durationMs: 60_000 });
      const longMs = 1.5 * (ALIVE_WITHIN_MS + HEARTBEAT_MS);
      await rig.until(() => names.every((venue) => rig.oldestMs(venue) > longMs), 'old books');
      for (const venue of names) {
        expect(rig.isIn(venue)).toBe(true);
        expect(['live', 'quiet']).toContain(rig.feedOf(venue)!.phase);
      }
      expect(names.map((venue) => rig.countersOf(venue).reconnections)).toEqual(reconnections);
    },
  );

  it('a venue without pings and heartbeats does not matter while its frames flow', async () => {
    const reconnections = venues.map((venue) => rig.countersOf(venue).reconnections);
    for (const venue of venues) rig.fault({ kind: 'ping-silence', venue, durationMs: 60_000 });
    const enough = venues.map((venue) => rig.feedOf(venue)!.frames + 1.5 * (ALIVE_WITHIN_MS / STEP_MS));
    await rig.until(() => venues.every((venue, at) => rig.feedOf(venue)!.frames > enough[at]!), 'frames to flow');
    for (const venue of venues) expect(rig.isIn(venue)).toBe(true);
    expect(venues.map((venue) => rig.countersOf(venue).reconnections)).toEqual(reconnections);
  });
});
