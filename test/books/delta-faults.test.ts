// Incremental books under faults: they are right after every update, out while they cannot be, and right again by a snapshot.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BTC, FaultRig, onVenues } from './fault-rig.ts';

const FEED = 'thread: feeds, maxFrame: 256KiB, trades: false, reconnect: { min: 10ms, max: 50ms }';
const VENUES = ['binance', 'kraken', 'coinbase'];

let rig: FaultRig;

beforeAll(async () => {
  rig = await FaultRig.start({
    seed: 17,
    instruments: [onVenues(BTC, VENUES)],
    topology: `
threads: { merger: { kind: pinned, cpu: last, idle: park }, feeds: { kind: loop } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, kraken: BTC/USD, coinbase: BTC-USD } } }
feeds: { binance: { book: delta, ${FEED} }, kraken: { ${FEED} }, coinbase: { ${FEED} } }
`,
  });
});
afterAll(() => rig?.stop());
beforeEach(() => rig.untilRight());
afterEach(async ({ task }) => expect(await rig.settle(task)).toEqual([]));

describe.each(VENUES)('the incremental book of %s', (venue) => {
  it('is rebuilt after a lost connection', async () => {
    const { reconnections } = rig.countersOf(venue);
    rig.fault({ kind: 'disconnect', venue });
    await rig.until(() => rig.countersOf(venue).reconnections > reconnections, 'a reconnection');
  });

  it('is out after a missing update until it stands on a new snapshot', async () => {
    const { gaps } = rig.feedOf(venue)!;
    const { reconnections } = rig.countersOf(venue);
    // Kraken's checksum is over the top ten levels: one missing update may lie below them, many do not.
    await rig.strike({ kind: 'gap', venue, count: venue === 'kraken' ? 40 : 1 });
    await rig.until(
      () => rig.feedOf(venue)!.gaps > gaps || rig.countersOf(venue).reconnections > reconnections,
      'the gap to be seen',
    );
    // One counter runs over all frames of a Coinbase connection: there nothing but a new connection helps.
    expect(rig.countersOf(venue).reconnections > reconnections).toBe(venue === 'coinbase');
  });

  it('takes duplicates once', async () => {
    const { reconnections } = rig.countersOf(venue);
    await rig.strike({ kind: 'duplicate', venue, count: 5 });
    await rig.untilRight();
    expect(rig.countersOf(venue).reconnections).toBe(reconnections);
  });

  it('is never taken apart by frames out of order', async () => {
    await rig.strike({ kind: 'out-of-order', venue, count: 2 });
    await rig.untilRight();
  });

  it('passes to a successor that has a whole book of its own', async () => {
    const { rotations, reconnections } = rig.countersOf(venue);
    rig.rotate(venue);
    await rig.until(() => rig.countersOf(venue).rotations > rotations, 'a rotation');
    expect(rig.countersOf(venue).reconnections).toBe(reconnections);
    expect(rig.feedOf(venue)!.lost).toBe(0);
  });

  it('is read as ever in fragments and drips', async () => {
    const { errors, reconnections } = rig.countersOf(venue);
    await rig.strike({ kind: 'fragmented', venue, count: 5 });
    rig.fault({ kind: 'slow-drip', venue, durationMs: 300, value: 200 });
    const { frames } = rig.feedOf(venue)!;
    await rig.untilFeed(venue, (feed) => feed.frames > frames + 20, 'flowing');
    expect(rig.countersOf(venue)).toMatchObject({ errors, reconnections });
  });

  it('is built anew after a frame beyond the limit', async () => {
    const before = rig.countersOf(venue);
    rig.fault({ kind: 'oversized', venue, value: 300_000 });
    await rig.until(() => rig.countersOf(venue).reconnections > before.reconnections, 'a reconnection');
    const oversized = (counters: typeof before) => counters.errorsByCode['TW_FRAME_SIZE'] ?? 0;
    expect(oversized(rig.countersOf(venue))).toBeGreaterThan(oversized(before));
  });

  it('is out after an ack that nothing follows, says so, and is asked for again', async () => {
    // It is asked for again at once: silent until told otherwise, or the book may be back before we look.
    rig.fault({ kind: 'ack-then-silence', venue, durationMs: 60_000, symbol: BTC.symbols[venue]! });
    rig.fault({ kind: 'disconnect', venue });
    await rig.untilFeed(venue, (feed) => feed.reason === 'acked-then-silent', 'acked, then silent');
    expect(rig.isIn(venue)).toBe(false);
    rig.simulator.clearFaults();
    await rig.untilRight();
  });

  it('is out while connections are refused', async () => {
    const before = rig.countersOf(venue).reconnections;
    rig.fault({ kind: 'refuse-connections', venue, count: 3 });
    rig.fault({ kind: 'disconnect', venue });
    await rig.untilOut(venue);
    await rig.until(() => rig.countersOf(venue).reconnections >= before + 4, 'three refusals');
  });

  it("follows the venue's clock when it is set", async () => {
    const { reconnections } = rig.countersOf(venue);
    for (const value of [3_600_000, 0]) {
      rig.market.renumbered(venue);
      rig.fault({ kind: 'clock-offset', venue, value });
      const { frames } = rig.feedOf(venue)!;
      await rig.untilFeed(venue, (feed) => feed.frames > frames + 10, 'flowing');
    }
    expect(rig.countersOf(venue).reconnections).toBe(reconnections);
  });

  it('goes on through garbage', async () => {
    const { errors, reconnections } = rig.countersOf(venue);
    rig.fault({ kind: 'garbage', venue, count: 2 });
    await rig.until(() => rig.countersOf(venue).errors >= errors + 2, 'the garbage to be counted');
    expect(rig.countersOf(venue).reconnections).toBe(reconnections);
  });
});

describe('a checksum that does not fit', () => {
  it('takes the book out and joins that stream anew, on the same connection', async () => {
    const { reconnections } = rig.countersOf('kraken');
    const { gaps } = rig.feedOf('kraken')!;
    await rig.strike({ kind: 'corrupt-checksum', venue: 'kraken', count: 1 });
    await rig.until(() => rig.feedOf('kraken')!.gaps > gaps, 'the checksum to be doubted');
    await rig.untilRight();
    expect(rig.countersOf('kraken').reconnections).toBe(reconnections);
  });
});

describe('a snapshot that cannot be fetched', () => {
  it.each(['http-429', 'http-418', 'http-500'] as const)('because of %s is tried again', async (kind) => {
    const before = rig.countersOf('binance').errorsByCode['TW_VENUE_SNAPSHOT'] ?? 0;
    rig.fault({ kind, venue: 'binance', count: 1, value: 1 });
    await rig.strike({ kind: 'gap', venue: 'binance', count: 1 });
    await rig.until(
      () => (rig.countersOf('binance').errorsByCode['TW_VENUE_SNAPSHOT'] ?? 0) > before,
      'the failure to be counted',
    );
  });
});

describe('a shutdown notice', () => {
  it('moves incremental books to a successor before the venue closes', async () => {
    const { rotations, reconnections } = rig.countersOf('binance');
    rig.fault({ kind: 'shutdown-notice', venue: 'binance', durationMs: 20_000 });
    await rig.until(() => rig.countersOf('binance').rotations > rotations, 'a rotation');
    expect(rig.countersOf('binance').reconnections).toBe(reconnections);
    expect(rig.feedOf('binance')!.lost).toBe(0);
  });
});
