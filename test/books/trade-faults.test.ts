// Trades that come late or not at all: the hole is seen where the venue's numbers show it, and no book suffers.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { BTC, FaultRig } from './fault-rig.ts';

const FEED = 'reconnect: { min: 10ms, max: 50ms }';

let rig: FaultRig;

beforeAll(async () => {
  rig = await FaultRig.start({
    seed: 29,
    // Sixty market seconds a second: every step brings trades.
    speed: 60,
    instruments: [BTC],
    topology: `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd, kraken: BTC/USD, coinbase: BTC-USD } } }
feeds: { binance: { ${FEED} }, bitstamp: { ${FEED} }, kraken: { ${FEED} }, coinbase: { ${FEED} } }
`,
  });
});
afterAll(() => rig?.stop());
const tradesFlow = (venue: string) => rig.until(() => rig.tradesOf(venue)?.phase === 'live', `trades of ${venue}`);
beforeEach(async () => {
  await rig.untilRight();
  for (const venue of rig.venues) await tradesFlow(venue);
});
afterEach(async ({ task }) => {
  expect(await rig.settle(task)).toEqual([]);
  for (const venue of rig.venues) await tradesFlow(venue);
});

/** How a venue lets a missing trade be seen. */
const SEEN: Readonly<Record<string, 'gap' | 'new connection' | 'nowhere'>> = {
  binance: 'gap',
  bitstamp: 'nowhere', // its ids grow with holes
  kraken: 'gap',
  coinbase: 'new connection', // one counter runs over all frames of a connection
};

describe.each(Object.entries(SEEN))('trades of %s', (venue, seen) => {
  it.each([{ kind: 'dropped-trades', count: 2 } as const, { kind: 'late-trades', count: 2, value: 200 } as const])(
    `that are $kind show as: ${seen}`,
    async (fault) => {
      const { gaps, frames } = rig.tradesOf(venue)!;
      const book = rig.feedOf(venue)!;
      const { reconnections, errors } = rig.countersOf(venue);
      await rig.strike({ ...fault, venue });
      if (seen === 'gap') await rig.until(() => rig.tradesOf(venue)!.gaps > gaps, 'the hole to be seen');
      if (seen === 'new connection')
        await rig.until(() => rig.countersOf(venue).reconnections > reconnections, 'a new connection');
      await rig.until(() => rig.tradesOf(venue)!.frames > frames + 20, 'trades to go on');
      expect(rig.countersOf(venue).errors).toBe(errors);
      if (seen === 'new connection') return;
      expect(rig.countersOf(venue).reconnections).toBe(reconnections);
      expect(rig.feedOf(venue)!.gaps).toBe(book.gaps);
      expect(rig.isIn(venue)).toBe(true);
    },
  );

  it('that are duplicated are passed on once', async () => {
    const { duplicates, gaps } = rig.tradesOf(venue)!;
    await rig.strike({ kind: 'duplicate', venue, count: 8 });
    await rig.until(() => rig.tradesOf(venue)!.duplicates > duplicates || SEEN[venue] === 'new connection', 'doubles');
    expect(rig.tradesOf(venue)!.gaps).toBe(gaps);
  });
});
