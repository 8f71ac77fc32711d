// Ctrl-C at any stage of a start: what was started is stopped, and nothing else is said.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { probePort } from '../../src/cli/doctor/probe-places.ts';
import { Running, Workplace } from './harness.ts';

let place: Workplace;
beforeEach(async () => {
  place = await Workplace.make();
});
afterEach(() => place.remove());

/** The process of an embedded server, once it has been started. */
async function serverPid(name: string): Promise<number> {
  const note = join(place.data, `${name}.owner.json`);
  for (;;) {
    if (existsSync(note)) {
      const text = readFileSync(note, 'utf8');
      if (text.includes('"server"')) return (JSON.parse(text) as { server: { pid: number } }).server.pid;
    }
    await sleep(5);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe('a process of ours that ends by itself', () => {
  it.skipIf(process.platform !== 'linux')(
    'is named in the log, and its venues with their reason in health',
    async () => {
      const program = new Running(place);
      await program.ready;
      try {
        const facts = await probePort('venues', '127.0.0.1', place.ports.simulation, undefined);
        const simulator = Number(/process (\d+)/.exec(facts?.holder ?? '')?.[1]);
        process.kill(simulator, 'SIGKILL');
        while (!program.err.includes(`the simulator of the venues, process ${simulator}, ended by itself`))
          await sleep(20);
        for (;;) {
          const { code, out } = await place.run(['status']);
          if (code === 1 && /no venue sends books: binance is out \(.+\)/.test(out)) break;
        }
      } finally {
        expect(await program.stop()).toBe(0);
      }
    },
  );
});

describe('Ctrl-C', () => {
  it('while servers and venues start stops all of them, and is no failure', async () => {
    const program = new Running(place);
    const pids = [await serverPid('postgres')];
    const code = await program.stop();
    expect([code, program.err]).toEqual([0, '']);
    expect(pids.filter(isAlive)).toEqual([]);
    expect(existsSync(join(place.data, 'redis.owner.json'))).toBe(false);
  });

  it('a second time at once ends the program, and its servers with it', async () => {
    const program = new Running(place);
    await program.ready;
    const pids = [await serverPid('postgres'), await serverPid('redis')];
    // Both are there before the first is heard.
    process.kill(program.child.pid!, 'SIGSTOP');
    process.kill(program.child.pid!, 'SIGINT');
    process.kill(program.child.pid!, 'SIGTERM');
    process.kill(program.child.pid!, 'SIGCONT');
    expect([130, 143]).toContain(await program.ended);
    while (pids.some(isAlive)) await sleep(20);
  });

  it('has the same effect as a terminal that is closed', async () => {
    const program = new Running(place);
    await program.ready;
    const pids = [await serverPid('postgres'), await serverPid('redis')];
    // The terminal sends it, and the shell hands it on.
    for (let count = 0; count < 2; count++) program.child.kill('SIGHUP');
    expect(await program.ended).toBe(0);
    expect(existsSync(join(place.data, 'redis.owner.json'))).toBe(false);
    expect(pids.filter(isAlive)).toEqual([]);
  });
});
