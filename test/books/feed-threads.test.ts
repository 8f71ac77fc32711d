// Root may; others need a limit that lets them (ulimit -e 25).
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, it } from 'vitest';
import { HURRIED_NICE } from '../../src/supervision/threads/pin.ts';
import { closeAll, simulator } from '../../src/venues/simulation/rig.ts';
import { startBooks } from './harness.ts';

it.runIf(process.getuid?.() === 0)("feeds' threads go before others, which stay as they were", async () => {
  const sim = await simulator({ symbols: ['BTC-USD'] });
  const before = getPriority();
  const { program } = await startBooks(
    sim,
    'instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } } }',
  );
  try {
    const nices = new Map<string, number>();
    for (const tid of readdirSync('/proc/self/task')) {
      nices.set(readFileSync(`/proc/self/task/${tid}/comm`, 'utf8').trim(), getPriority(Number(tid)));
    }
    const feeds = [...nices].filter(([name]) => name.startsWith('feed-'));
    expect(new Set(feeds.map(([, nice]) => nice))).toEqual(new Set([HURRIED_NICE]));
    expect([nices.get('merger'), getPriority()]).toEqual([before, before]);
  } finally {
    await program.stop();
    await closeAll();
  }
});
