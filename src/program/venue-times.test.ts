import { afterEach, describe, expect, it } from 'vitest';
import { type Simulator, startSimulator } from '../venues/simulation/simulator.ts';
import { VenueTimes, wallUs } from './venue-times.ts';

const AHEAD_MS = 7_300;

let simulator: Simulator | undefined;
afterEach(async () => {
  await simulator?.stop();
});

describe("a venue's time", () => {
  it.each(['binance', 'bitstamp'])('is learnt from %s by what it tells', async (venue) => {
    simulator = await startSimulator({ port: 0, seed: 3, rate: 5 });
    simulator.fault({ kind: 'clock-offset', venue, value: AHEAD_MS });
    const times = new VenueTimes({ endpoints: (name) => simulator!.endpoints(name) });
    await times.measure(venue);
    await times.measure(venue);
    const { offsetUs, boundsUs } = times.clock(venue);
    const [leastUs, mostUs] = boundsUs === undefined ? [offsetUs!, offsetUs!] : [boundsUs.leastUs, boundsUs.mostUs];
    // The simulator's clock stands still between its steps.
    expect(leastUs / 1000).toBeLessThanOrEqual(AHEAD_MS);
    expect(mostUs / 1000).toBeGreaterThan(AHEAD_MS - 1_000);
    expect(mostUs - leastUs).toBeLessThan(600_000);
  });

  it('is ours where it tells none, and as it was where it does not answer', async () => {
    const times = new VenueTimes({ endpoints: () => ({ restUrl: 'http://127.0.0.1:1' }) });
    for (const venue of ['kraken', 'binance', 'bitstamp']) {
      await times.measure(venue);
      const before = wallUs();
      const told = Number(times.nowUs(venue));
      expect(told).toBeGreaterThanOrEqual(before);
      expect(told).toBeLessThanOrEqual(wallUs());
    }
  });
});
