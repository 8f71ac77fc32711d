import { describe, expect, it } from 'vitest';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { programOn, until } from '../books/harness.ts';
import { stoppedAfterEach } from '../stops.ts';

const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines: { workers: 1, intervals: [1s], grace: 300ms, deadAfter: 1s, discovery: { enabled: false } }
ingest: { enabled: false }
`;

const afterwards = stoppedAfterEach();

async function start(prepare: (simulator: Simulator) => void = () => {}) {
  const simulator = await startSimulator({ port: 0, seed: 11, rate: 50 });
  afterwards(() => simulator.stop());
  prepare(simulator);
  const warnings: string[] = [];
  const program = programOn(simulator, TOPOLOGY, { onWarning: (warning) => warnings.push(warning) });
  afterwards(() => program.stop());
  expect(await program.start()).toMatchObject({ kind: 'applied' });
  const feeds = () => program.klines.bars.catalogue().feeds;
  return { simulator, program, warnings, feeds };
}

describe('the feed of a symbol', () => {
  it('is told apart by the ticker: live, or unknown where the venue has none', async () => {
    const { program, feeds } = await start();
    await until(
      () => feeds()['binance:BTCUSDT'] === 'live' && feeds()['bitstamp:btcusd'] === 'live',
      () => JSON.stringify(feeds()),
    );
    expect(await program.system.summary('/control/watchdog')).toMatchObject({ symbols: 3, dead: [], restarts: 0 });
  }, 60_000);

  it('that is acknowledged and silent is found dead, told in health, and subscribed anew', async () => {
    const { program, warnings, feeds } = await start((simulator) =>
      simulator.fault({ kind: 'ack-then-silence', venue: 'binance', symbol: 'BTCUSDT', count: 1 }),
    );
    let reason = '';
    await until(
      () => {
        reason ||=
          program
            .health()
            .parts.find(({ name }) => name === 'klines')
            ?.reason.match(/trades of .*/)?.[0] ?? '';
        return reason !== '' && feeds()['binance:BTCUSDT'] === 'live';
      },
      () => JSON.stringify(feeds()),
    );
    expect(reason).toContain("trades of binance:BTCUSDT do not come although the venue's ticker shows some");
    expect(warnings.filter((warning) => warning.includes('subscribed anew'))).toHaveLength(1);
    expect(feeds()['binance:ETHUSDT']).toBe('live');
  }, 60_000);

  it('that is dead makes gaps while it lasts, never quiet bars, and what it missed is fetched', async () => {
    const { simulator, program, feeds } = await start();
    await until(() => feeds()['binance:BTCUSDT'] === 'live', 'trades');
    const qualities = new Map<number, string[]>();
    program.klines.bars.listen('binance:BTCUSDT', '1s', ({ openAtMs, quality, closed }) => {
      if (closed) qualities.set(openAtMs, [...(qualities.get(openAtMs) ?? []), quality]);
    });
    simulator.fault({ kind: 'dropped-trades', venue: 'binance', symbol: 'BTCUSDT', durationMs: 10_000 });
    await until(
      () => {
        const wereGaps = [...qualities.values()].filter((seen) => seen.includes('gap'));
        return wereGaps.length >= 2 && wereGaps.every((seen) => seen.at(-1) !== 'gap');
      },
      () => JSON.stringify([...qualities]),
    );
    expect(feeds()['binance:BTCUSDT']).toBe('dead');
  }, 60_000);
});

describe('health', () => {
  it('names what is configured and does not run', async () => {
    const { program } = await start();
    const { parts } = program.health();
    const reason = 'configured, but not running: /klines/persistence';
    expect(parts).toContainEqual({ name: 'topology', status: 'DEGRADED', reason });
  }, 60_000);
});
