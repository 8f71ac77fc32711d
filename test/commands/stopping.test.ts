// Ctrl-C at any stage of a start: what was started is stopped, and nothing else is said.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
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

/** A command that the program runs in a process of its own. */
function childOf(program: Running, command: string): number | undefined {
  const { pid } = program.child;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
  return children.find((child) => {
    try {
      return readFileSync(`/proc/${child}/cmdline`, 'utf8').split('\0').includes(command);
    } catch {
      return false;
    }
  });
}

describe('a process of ours that ends by itself', () => {
  it.skipIf(process.platform !== 'linux')('is named in the log and started again where it was', async () => {
    const program = new Running(place);
    await program.ready;
    try {
      for (const [command, title] of [
        ['sim', 'the simulator of the venues'],
        ['collect', 'the collector'],
      ] as const) {
        const before = childOf(program, command)!;
        process.kill(before, 'SIGKILL');
        while (!program.err.includes(`${title}, process ${before}, ended by itself`)) await sleep(20);
        while ([undefined, before].includes(childOf(program, command))) await sleep(20);
      }
      const status = `http://127.0.0.1:${place.ports.simulation}/_sim/status`;
      while (
        !(await fetch(status).then(
          (answer) => answer.ok,
          () => false,
        ))
      )
        await sleep(20);
      while ((await place.run(['status'])).code !== 0) await sleep(20);
    } finally {
      expect(await program.stop()).toBe(0);
    }
  });
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
