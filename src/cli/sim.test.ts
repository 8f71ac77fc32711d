import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXIT } from './command.ts';

const main = fileURLToPath(new URL('./main.js', import.meta.url));

describe('tapeworks sim', () => {
  it('says where it listens, serves, and ends cleanly on SIGTERM', async () => {
    const child = spawn(process.execPath, [main, 'sim', '--port', '0', '--json', '--symbols', '2'], { stdio: 'pipe' });
    try {
      const [line] = (await once(child.stdout, 'data')) as [Buffer];
      const { url } = JSON.parse(line.toString()) as { url: string };
      const status = await fetch(`${url}/_sim/status`);
      expect(await status.json()).toMatchObject({ seed: 1, venues: { binance: { symbols: 2 } } });
      child.kill('SIGTERM');
      expect((await once(child, 'exit'))[0]).toBe(EXIT.ok);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it.each([['--rate', 'fast'], ['--symbols', 'BTC'], ['--no-such-option']])('refuses %s %s', (...args) => {
    const { status, stderr } = spawnSync(process.execPath, [main, 'sim', ...args], { encoding: 'utf8' });
    expect([status, stderr.split(':')[0]]).toEqual([EXIT.usage, 'TW_BAD_USAGE']);
  });
});
