import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { VENUES } from '../../src/venues/index.ts';
import { closeAll, simulator } from '../../src/venues/simulation/rig.ts';
import { eventsIn, RedisRig, until } from './harness.ts';

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const redis = new RedisRig();

afterEach(async () => {
  await closeAll();
  await redis.erase();
});

describe('tapeworks collect', () => {
  it('says one line when ready, appends, and ends cleanly on SIGTERM with a last status', async () => {
    const url = await redis.start();
    const sim = await simulator({ manual: false });
    const venues = Object.fromEntries(VENUES.map(({ facts }) => [facts.id, sim.endpoints(facts.id)]));
    const endpoints = JSON.stringify({ venues });
    const args = ['--json', '--venues', 'binance,bitstamp', '--symbols', 'BTC-USD', '--endpoints', endpoints];
    const child = spawn(process.execPath, [main, 'collect', ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, REDIS_URL: url },
    });
    try {
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      expect(JSON.parse(line.toString())).toEqual({
        ready: true,
        streams: ['events'],
        connections: ['binance-0', 'bitstamp-0'],
      });
      const types = async () => new Set((await eventsIn(url)).map(({ type }) => type));
      await until('events of each type', async () => (await types()).size === 5);
      child.kill('SIGTERM');
      expect((await once(child, 'exit'))[0]).toBe(0);
      const last = (await eventsIn(url)).at(-1)!;
      expect(last).toMatchObject({ type: 'status', source: 'collector', payload: { state: 'stopping' } });
    } finally {
      child.kill('SIGKILL');
    }
  });
});
