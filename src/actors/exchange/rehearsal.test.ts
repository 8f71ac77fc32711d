import { afterEach, describe, expect, it } from 'vitest';
import type { ExchangeSettings } from '../../protocols/topology.ts';
import { VENUES } from '../../venues/index.ts';
import { closeAll, simulator } from '../../venues/simulation/rig.ts';
import { Exchange } from './exchange.ts';
import { Rehearsal } from './rehearsal.ts';
import { wantedStreams } from './wanted-streams.ts';

afterEach(closeAll);

/** Enough for the first frames of any venue. */
const STEPS = 10;
const PATIENCE_MS = 20_000;

describe.each(VENUES.map((venue) => [venue.facts.title, venue] as const))('a rehearsal of %s', (_title, venue) => {
  it('reads its first frames thousands of times, and nobody else sees more than what came', async () => {
    const sim = await simulator({ symbols: ['BTC-USD'] });
    const symbol = sim.truth.symbols(venue.facts.id)[0]!;
    const settings: ExchangeSettings = {
      ...{ venue: venue.facts.id, connection: 0, wsUrl: null, restUrl: null, book: 'venue-default', trades: true },
      ...{ symbols: [{ instrument: 'BTC-USD', symbol, scale: 8 }], depth: 10, maxFrameBytes: 1 << 20 },
      ...{ staleAfterMs: 5_000, aliveWithinMs: null, handshakeTimeoutMs: 5_000, rotateAfterMs: null },
      reconnect: { minMs: 10, maxMs: 100, jitter: 0, resetAfterMs: 1_000 },
    };
    const own = wantedStreams(venue, settings, () => 0);
    const rehearsal = new Rehearsal({ venue, streams: own, frameBytes: settings.maxFrameBytes, depth: 10 });
    let published = 0;
    let trades = 0;
    const exchange = new Exchange({
      ...{ path: '/feeds/venue', venue, settings, ...sim.endpoints(venue.facts.id), bookIndex: () => 0, rehearsal },
      books: {
        depth: 10,
        publish: () => void published++,
        finish: () => {},
        countUntil: () => {},
        leaveOut: () => {},
        release: () => {},
      },
      trades: { write: () => ++trades > 0, lose: () => true },
      random: Math.random,
    });
    const deadline = performance.now() + PATIENCE_MS;
    for (let step = 0; !rehearsal.isOver; step++) {
      expect(performance.now()).toBeLessThan(deadline);
      const isSubscribed = exchange.status().streams.every(({ phase }) => phase === 'acked' || phase === 'live');
      if (isSubscribed && step < STEPS) sim.advance(100);
      exchange.tick();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    exchange.close();

    const read = [...own.values()].map(({ frames }) => frames).reduce((all, each) => all + each, 0);
    expect(read).toBeGreaterThan(8_000);
    const { streams, counters } = exchange.status();
    expect(published).toBeGreaterThan(0);
    expect(published).toBeLessThanOrEqual(counters.messages);
    expect(streams.map(({ gaps, duplicates }) => gaps + duplicates)).toEqual(streams.map(() => 0));
    const heard = streams.map(({ frames }) => frames).reduce((all, each) => all + each, 0);
    expect(heard).toBe(published + trades);
  });
});

describe('a rehearsal that cannot be held', () => {
  it('is given up, and nothing else', async () => {
    const [venue] = VENUES;
    const rehearsal = new Rehearsal({ venue: venue!, streams: new Map(), frameBytes: 1024, depth: -1 });
    const source = { role: 'current', heardNs: 0, dataNs: 0, frameSequence: undefined, reading: undefined } as const;
    for (let frame = 0; frame < 8; frame++) rehearsal.see(Buffer.from('{}'), source);
    expect(rehearsal.isOver).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(rehearsal.isOver).toBe(true);
  });
});
