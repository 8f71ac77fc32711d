import { afterEach, describe, expect, it, vi } from 'vitest';
import { command } from './collect.ts';

afterEach(() => vi.unstubAllEnvs());

describe('tapeworks collect', () => {
  it.each([
    [['--redis', 'localhost:6379'], 'no Redis is named'],
    [['--venues', 'nowhere'], '"nowhere" is not configured'],
    [['--symbols', 'BTCUSD'], '"BTCUSD" is not configured'],
    [['--rate', '11'], '--rate: expected 0.1 to 10'],
    [['--live', '--endpoints', '{}'], 'exclude each other'],
    [['--endpoints', '{"venues":{}}'], 'needs wsUrl'],
    [['--endpoints', '[oops'], '--endpoints:'],
    [['--no-such-option'], 'no-such-option'],
  ])('refuses %j', async (args, said) => {
    vi.stubEnv('REDIS_URL', 'redis://127.0.0.1:1');
    await expect(command.run(args)).rejects.toMatchObject({
      code: 'TW_BAD_USAGE',
      message: expect.stringContaining(said) as string,
    });
  });
});
