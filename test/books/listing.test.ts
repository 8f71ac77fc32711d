// A venue lists a symbol, or ends trading in one, while the program runs.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BTC, FaultRig } from './fault-rig.ts';
import { BookWatch } from './harness.ts';
import type { Instrument } from './truth.ts';

const NEW: Instrument = {
  name: 'PEPE-USD',
  symbols: { binance: 'PEPEUSDT', bitstamp: 'pepeusd', kraken: 'PEPE/USD', coinbase: 'PEPE-USD' },
};
const FEED = '{ staleAfter: 1s, trades: false, reconnect: { min: 10ms, max: 50ms } }';
const TOPOLOGY = `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd, kraken: BTC/USD, coinbase: BTC-USD } }
feeds: { binance: ${FEED}, bitstamp: ${FEED}, kraken: ${FEED}, coinbase: ${FEED} }
`;
const WITH_NEW = TOPOLOGY.replace(
  'feeds:',
  '  PEPE-USD: { venues: { binance: PEPEUSDT, bitstamp: pepeusd, kraken: PEPE/USD, coinbase: PEPE-USD } }\nfeeds:',
);

let rig: FaultRig;
let newcomer: BookWatch | undefined;

beforeAll(async () => {
  rig = await FaultRig.start({ seed: 31, instruments: [BTC], topology: TOPOLOGY });
});
afterAll(async () => {
  newcomer?.close();
  await rig?.stop();
});
afterEach(() => expect(rig.market.complaints).toEqual([]));

const apply = (topology: string) => {
  const files = {
    'kernel.yaml': 'grpc: { port: 0 }\nhttp: { port: 0 }\ntopology: { healthDeadline: 5s, stableFor: 200ms }\n',
    'topology.yaml': `${topology}\nklines: { enabled: false }\ningest: { enabled: false }\n`,
  };
  return rig.program.control.apply({ files });
};
const isMerged = () => newcomer?.venues(NEW.name).length === 4;

describe('a symbol', () => {
  it('that is asked for before a venue lists it is out, and says why', async () => {
    await rig.untilRight();
    expect(await apply(WITH_NEW)).toMatchObject({ kind: 'applied' });
    const phases = () => rig.venues.map((venue) => rig.feedOf(venue, NEW.name));
    await rig.until(
      () => phases().every((feed) => feed !== undefined && feed.phase !== 'subscribing' && feed.phase !== 'live'),
      'all venues to have answered',
    );
    // Two venues say that there is no such symbol; two ack what they do not have.
    for (const venue of ['kraken', 'coinbase']) {
      expect(rig.feedOf(venue, NEW.name)).toMatchObject({ phase: 'down', downReason: expect.stringContaining('PEPE') });
    }
    for (const venue of ['binance', 'bitstamp']) expect(rig.feedOf(venue, NEW.name)!.reason).not.toBe('frames-flow');
  });

  it('is served from the moment at which it is listed, on every venue', async () => {
    rig.fault({ kind: 'new-listing', symbol: NEW.name });
    rig.market.follow(NEW);
    // A venue that has said no is asked again on its next connection.
    for (const venue of ['kraken', 'coinbase']) rig.fault({ kind: 'disconnect', venue });
    const { port } = (await rig.program.system.summary('/serving/publisher')) as { port: number };
    newcomer = new BookWatch(port, [NEW.name], (summary) => rig.market.check(summary));
    await rig.until(isMerged, 'the new symbol to be merged of all venues');
    const { received } = newcomer;
    await rig.until(() => newcomer!.received > received + 50, 'its summaries to go on');
  });

  it('that a timer-driven venue delists is out there, and stays elsewhere', async () => {
    rig.fault({ kind: 'delisting', venue: 'binance', symbol: NEW.name });
    await rig.until(() => newcomer!.venues(NEW.name).join() === 'bitstamp,kraken,coinbase', 'binance to be out');
    await rig.until(() => rig.feedOf('binance', NEW.name)!.phase === 'stale', 'binance to say so');
    rig.fault({ kind: 'new-listing', venue: 'binance', symbol: NEW.name });
    await rig.until(isMerged, 'binance to be back');
  });
});
