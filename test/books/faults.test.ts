// Each fault of the simulated venues, on books that come whole: what the feed says of itself, that it comes right again,
// and that meanwhile every level of every published summary was one that the venue really had.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BTC, FaultRig, onVenues } from './fault-rig.ts';

const SYMBOL = BTC.name;
const FEED = '{ staleAfter: 1s, maxFrame: 64KiB, trades: false, reconnect: { min: 10ms, max: 50ms } }';

let rig: FaultRig;

beforeAll(async () => {
  rig = await FaultRig.start({
    seed: 11,
    instruments: [onVenues(BTC, ['binance', 'bitstamp'])],
    topology: `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } } }
feeds: { binance: ${FEED}, bitstamp: ${FEED} }
`,
  });
});
afterAll(() => rig?.stop());
beforeEach(() => rig.untilRight());
afterEach(async ({ task }) => expect(await rig.settle(task)).toEqual([]));

describe.each(['binance', 'bitstamp'])('%s', (venue) => {
  const other = venue === 'binance' ? 'bitstamp' : 'binance';

  it.each([undefined, 1001])(
    'that disconnects (close code %s) is out at once, and back after a reconnect',
    async (value) => {
      const before = rig.countersOf(venue).reconnections;
      rig.fault({ kind: 'refuse-connections', venue, durationMs: 60_000 });
      rig.fault({ kind: 'disconnect', venue, ...(value !== undefined && { value }) });
      await rig.untilFeed(venue, (feed) => feed.phase === 'down', 'down');
      await rig.untilOut(venue);
      expect(rig.isIn(other)).toBe(true);
      rig.simulator.clearFaults();
      await rig.untilRight();
      expect(rig.countersOf(venue).reconnections).toBeGreaterThan(before);
    },
  );

  it('that duplicates frames counts them once', async () => {
    const before = rig.feedOf(venue)!.duplicates;
    await rig.strike({ kind: 'duplicate', venue, count: 5 });
    await rig.untilFeed(venue, (feed) => feed.duplicates >= before + 5, 'sending duplicates');
    expect(['live', 'quiet']).toContain(rig.feedOf(venue)!.phase);
  });

  it('that sends frames out of order never takes the book back', async () => {
    const before = rig.feedOf(venue)!.duplicates;
    const { reconnections } = rig.countersOf(venue);
    await rig.strike({ kind: 'out-of-order', venue, count: 3 });
    await rig.untilFeed(venue, (feed) => feed.duplicates > before, 'overtaken');
    expect(rig.countersOf(venue).reconnections).toBe(reconnections);
  });

  it('that leaves frames out goes on with the next snapshot', async () => {
    const before = rig.countersOf(venue).reconnections;
    await rig.strike({ kind: 'gap', venue, count: 5 });
    await rig.untilRight();
    expect(rig.countersOf(venue).reconnections).toBe(before);
  });

  it('that sends garbage is counted and sampled, and stays connected', async () => {
    const before = rig.countersOf(venue);
    rig.fault({ kind: 'garbage', venue, count: 3 });
    await rig.until(() => rig.countersOf(venue).errors >= before.errors + 3, 'the garbage to be counted');
    expect(rig.statusOf(venue)!.refused.at(-1)).toMatchObject({
      code: 'TW_FRAME_JSON',
      start: expect.stringContaining('garbage'),
    });
    await rig.untilFeed(venue, (feed) => feed.phase === 'live', 'live');
    expect(rig.countersOf(venue).reconnections).toBe(before.reconnections);
  });

  it('that sends a frame beyond the limit is counted, and connected to anew', async () => {
    const before = rig.countersOf(venue);
    rig.fault({ kind: 'oversized', venue, value: 100_000 });
    await rig.until(() => rig.countersOf(venue).reconnections > before.reconnections, 'a reconnection');
    expect(rig.countersOf(venue).errorsByCode['TW_FRAME_SIZE']).toBeGreaterThan(
      before.errorsByCode['TW_FRAME_SIZE'] ?? 0,
    );
  });

  it('that sends fragments and drips is read as ever', async () => {
    const before = rig.countersOf(venue);
    await rig.strike({ kind: 'fragmented', venue, count: 5 });
    rig.fault({ kind: 'slow-drip', venue, durationMs: 300, value: 200 });
    const frames = rig.feedOf(venue)!.frames;
    await rig.untilFeed(venue, (feed) => feed.frames > frames + 20, 'flowing');
    expect(rig.countersOf(venue).errors).toBe(before.errors);
    expect(rig.countersOf(venue).reconnections).toBe(before.reconnections);
  });

  it('that announces its end is changed over to a new connection without losing anything', async () => {
    const before = rig.countersOf(venue);
    rig.fault({ kind: 'shutdown-notice', venue, durationMs: 5_000 });
    await rig.until(() => rig.countersOf(venue).rotations > before.rotations, 'a rotation');
    expect(rig.countersOf(venue).reconnections).toBe(before.reconnections);
    expect(rig.feedOf(venue)!.lost).toBe(0);
  });

  it('that acks and then sends nothing is out, says so, and is asked again', async () => {
    // It is asked again at once: silent until told otherwise, or the book may be back before we look.
    rig.fault({ kind: 'ack-then-silence', venue, durationMs: 60_000 });
    rig.fault({ kind: 'disconnect', venue });
    await rig.untilFeed(venue, (feed) => feed.reason === 'acked-then-silent', 'acked, then silent');
    expect(rig.isIn(venue)).toBe(false);
    rig.simulator.clearFaults();
    await rig.untilRight();
  });

  it('that refuses connections is waited for', async () => {
    const before = rig.countersOf(venue).reconnections;
    rig.fault({ kind: 'refuse-connections', venue, count: 3 });
    rig.fault({ kind: 'disconnect', venue });
    await rig.until(() => rig.countersOf(venue).reconnections >= before + 4, 'three refusals');
    expect(rig.isIn(other)).toBe(true);
  });
});

describe('silence', () => {
  it('takes a timer-driven venue out after its time, and its connection is replaced', async () => {
    const before = rig.countersOf('binance').reconnections;
    rig.fault({ kind: 'stall', venue: 'binance', durationMs: 60_000 });
    await rig.untilFeed('binance', (feed) => feed.phase === 'stale' && feed.reason === 'timer-missed', 'stale');
    await rig.untilOut('binance');
    expect(rig.isIn('bitstamp')).toBe(true);
    await rig.until(() => rig.countersOf('binance').reconnections > before, 'a new connection');
    rig.simulator.clearFaults();
  });

  it('leaves a change-driven venue in while its connection shows life', async () => {
    rig.market.pause();
    await rig.untilFeed('bitstamp', (feed) => feed.phase === 'quiet' && feed.reason === 'no-change-but-alive', 'quiet');
    await rig.untilOut('binance');
    expect(rig.isIn('bitstamp')).toBe(true);
    expect(rig.watch.latest.get(SYMBOL)!.bids.every(({ exchange }) => exchange === 'bitstamp')).toBe(true);
  });

  it('of pings does not matter while frames flow', async () => {
    const before = rig.countersOf('binance').reconnections;
    rig.fault({ kind: 'ping-silence', venue: 'binance', durationMs: 60_000 });
    const { frames } = rig.feedOf('binance')!;
    await rig.untilFeed('binance', (feed) => feed.frames > frames + 50, 'flowing');
    expect(['live', 'quiet']).toContain(rig.feedOf('binance')!.phase);
    expect(rig.countersOf('binance').reconnections).toBe(before);
  });

  it('after a delisting takes the symbol out', async () => {
    rig.fault({ kind: 'delisting', venue: 'binance', symbol: SYMBOL });
    await rig.untilFeed('binance', (feed) => feed.phase === 'stale', 'stale');
    await rig.untilOut('binance');
    rig.fault({ kind: 'new-listing', venue: 'binance', symbol: SYMBOL });
  });
});

describe('a clock', () => {
  it('that is set back is followed when the venue keeps to it', async () => {
    const { gaps } = rig.feedOf('bitstamp')!;
    rig.fault({ kind: 'clock-offset', venue: 'bitstamp', value: -3_600_000 });
    rig.market.renumbered('bitstamp');
    await rig.untilFeed('bitstamp', (feed) => feed.gaps > gaps, 'renumbered');
  });
});
