// A connection that is to take over and does not serve: the old one stays meanwhile, no book is out or goes back, and the
// next one that serves takes over.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ROTATION } from '../../src/venues/rotation.ts';
import { BTC, FaultRig } from './fault-rig.ts';

const FEED = 'thread: feeds, maxFrame: 256KiB, trades: false, reconnect: { min: 10ms, max: 50ms }';
const VENUES = Object.keys(BTC.symbols);
/** How far behind a successor is: no book may stand still for as long. */
const BEHIND_MS = 2_000;

let rig: FaultRig;

beforeAll(async () => {
  rig = await FaultRig.start({
    seed: 23,
    instruments: [BTC],
    topology: `
threads: { merger: { kind: pinned, cpu: last, idle: park }, feeds: { kind: loop } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd, kraken: BTC/USD, coinbase: BTC-USD } } }
feeds: { binance: { book: delta, ${FEED} }, bitstamp: { ${FEED} }, kraken: { ${FEED} }, coinbase: { ${FEED} } }
`,
  });
});
afterAll(() => rig?.stop());

let before: Map<string, ReturnType<FaultRig['countersOf']>>;
beforeEach(async () => {
  await rig.untilRight();
  rig.forgetAges();
  before = new Map(VENUES.map((venue) => [venue, rig.countersOf(venue)]));
});
afterEach(async ({ task }) => {
  expect([...rig.missed]).toEqual([]);
  expect(VENUES.filter((venue) => rig.oldestMs(venue) >= BEHIND_MS)).toEqual([]);
  for (const venue of VENUES)
    expect(rig.countersOf(venue)).toMatchObject({ reconnections: before.get(venue)!.reconnections });
  expect(await rig.settle(task)).toEqual([]);
});

const rotateAll = () => {
  for (const venue of VENUES) rig.rotate(venue);
};
const since = (venue: string, counter: 'rotations' | 'rotationsFailed') =>
  rig.countersOf(venue)[counter] - before.get(venue)![counter];
const untilAll = (counter: 'rotations' | 'rotationsFailed', venues = VENUES) =>
  rig.until(() => venues.every((venue) => since(venue, counter) > 0), `${counter} of ${venues.join()}`);
const states = () => VENUES.map((venue) => rig.statusOf(venue)!.connection.state);

/** Rotations have begun and stay where they are, for longer than silence is waited for. */
async function expectNobodyTakesOver(): Promise<void> {
  await rig.until(() => states().every((state) => state === 'rotating'), 'successors to be open');
  const untilMs = performance.now() + ROTATION.silentGraceMs + 1_500;
  await rig.until(() => performance.now() > untilMs, 'the time of grace to pass');
  expect(VENUES.filter((venue) => since(venue, 'rotations') > 0)).toEqual([]);
  expect(states()).toEqual(VENUES.map(() => 'rotating'));
}

describe('a successor', () => {
  it('that is refused is tried again', async () => {
    for (const venue of VENUES) rig.fault({ kind: 'successor-refused', venue });
    rotateAll();
    await untilAll('rotationsFailed');
    expect(VENUES.filter((venue) => since(venue, 'rotations') > 0)).toEqual([]);
    rotateAll();
    await untilAll('rotations');
  });

  it('that is acked and silent does not take over, and the next one does', async () => {
    for (const venue of VENUES) rig.fault({ kind: 'successor-silence', venue, durationMs: 60_000 });
    rotateAll();
    await expectNobodyTakesOver();
    rig.simulator.clearFaults();
    await untilAll('rotationsFailed');
    rotateAll();
    await untilAll('rotations');
  });

  it('that is behind takes over when it has caught up', async () => {
    for (const venue of VENUES) rig.fault({ kind: 'successor-behind', venue, durationMs: 60_000, value: BEHIND_MS });
    rotateAll();
    await expectNobodyTakesOver();
    rig.simulator.clearFaults();
    await untilAll('rotations');
    expect(VENUES.filter((venue) => since(venue, 'rotationsFailed') > 0)).toEqual([]);
  });

  it('that gets no snapshot asks again, and takes over with one', async () => {
    const failed = () => rig.countersOf('binance').errorsByCode['TW_VENUE_SNAPSHOT'] ?? 0;
    const failedBefore = failed();
    rig.fault({ kind: 'successor-no-snapshot', venue: 'binance', count: 2 });
    rig.rotate('binance');
    await untilAll('rotations', ['binance']);
    expect(failed() - failedBefore).toBe(2);
  });
});
