import { readFileSync } from 'node:fs';
import { availableParallelism, getPriority } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { SharedMemory } from './memory.ts';
import { HURRIED_NICE } from './pin.ts';
import { PinnedThread, type PinnedThreadOptions } from './pinned-thread.ts';
import { RingConsumer, RingProducer } from './ring.ts';
import { admitToRing, formatRing } from './ring-ends.ts';
import { recordRing, ringBytes } from './ring-layout.ts';
import { nowNs } from './thread-clock.ts';
import type { ThreadEnd } from './thread-handle.ts';
import type { EchoArgs } from './threads.fixture.ts';

const module = new URL('./threads.fixture.js', import.meta.url);
const threads: PinnedThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.kill();
});

function thread(exportName: string, options: Partial<PinnedThreadOptions> = {}): PinnedThread {
  const idle = { kind: 'spin-then-park', spins: 100, parkMs: 50 } as const;
  const made = new PinnedThread({
    name: exportName,
    module,
    exportName,
    idle,
    prepare: () => ({ args: null }),
    ...options,
  });
  threads.push(made);
  return made;
}

const nextEnd = (of: PinnedThread) => new Promise<ThreadEnd>((resolve) => of.onExit(resolve));

function echoThread(idle: PinnedThreadOptions['idle']) {
  const shape = recordRing(16, 8);
  const outAt = Math.ceil(ringBytes(shape) / 128) * 128;
  const memory = new SharedMemory(new SharedArrayBuffer(outAt + ringBytes(shape)));
  formatRing(memory, 0, shape);
  formatRing(memory, outAt, shape);
  const toThread = new RingProducer(memory, 0, admitToRing(memory, 0, 'producer'));
  const fromThread = new RingConsumer(memory, outAt, admitToRing(memory, outAt, 'consumer'));
  const echo = thread('echo', {
    idle,
    prepare: () => ({
      args: {
        buffer: memory.buffer,
        inAt: 0,
        inLife: admitToRing(memory, 0, 'consumer'),
        outAt,
        outLife: admitToRing(memory, outAt, 'producer'),
      } satisfies EchoArgs,
    }),
  });
  const tell = (value: number) => {
    const offset = toThread.claim();
    memory.set(offset / 4, value);
    toThread.publish();
    echo.doorbell.ring();
  };
  const answer = async () => {
    let value: number | undefined;
    const take = (offset: number) => {
      value = memory.get(offset / 4);
    };
    while (fromThread.drain(take, 1) === 0) await new Promise((resolve) => setImmediate(resolve));
    return value;
  };
  return { echo, tell, answer };
}

describe('a pinned thread', () => {
  it.each([
    { kind: 'spin' },
    { kind: 'spin-then-park', spins: 10, parkMs: 60_000 },
    { kind: 'park', parkMs: 60_000 },
  ] as const)('handles what its ring brings while idling by $kind, and stops when asked', async (idle) => {
    const { echo, tell, answer } = echoThread(idle);
    await echo.start();
    for (let value = 0; value < 50; value++) {
      tell(value);
      expect(await answer()).toBe(value + 1000);
    }
    expect(await echo.stop(10_000)).toMatchObject({ reason: 'stopped', exitCode: 0, life: 1 });
    expect(echo.state).toBe('resting');
  });

  it('reports a throw as a crash; its next life goes on with the same mailboxes, the failing message gone', async () => {
    const { echo, tell, answer } = echoThread({ kind: 'park', parkMs: 1000 });
    await echo.start();
    const end = nextEnd(echo);
    tell(-1);
    tell(5);
    expect(await end).toMatchObject({ reason: 'failed', life: 1, exitCode: 1 });
    expect((await end).error?.message).toBe('cannot echo -1');
    await echo.start();
    expect(await answer()).toBe(2005);
  });

  it('reports a hang, an exit and too much memory, and outlives them', async () => {
    for (const [act, reason] of [
      ['hang', 'hung'],
      ['exit', 'exited'],
      ['hoard', 'out-of-memory'],
    ] as const) {
      const bad = thread('misbehaves', {
        hangMs: act === 'hang' ? 200 : 10_000,
        resourceLimits: { maxOldGenerationSizeMb: 32 },
        prepare: () => ({ args: act }),
      });
      const end = nextEnd(bad);
      await bad.start();
      expect(await end).toMatchObject({ reason });
    }
  });

  it('rejects a start that fails or takes too long, names the cause, and can be started again', async () => {
    const failing = thread('failsToStart');
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(failing.start()).rejects.toMatchObject({
        code: 'TW_THREAD_START',
        message: 'thread failsToStart did not start: no database here, main thread false',
      });
    }
    expect(failing.life).toBe(2);
    await expect(thread('missing').start()).rejects.toThrow('has no export missing');
    await expect(thread('neverReady', { readyDeadlineMs: 300 }).start()).rejects.toThrow('it was not ready in time');
  });

  it('is killed at the deadline when it does not stop, and at once by kill', async () => {
    const hanging = thread('neverStops', { hangMs: 60_000 });
    await hanging.start();
    expect(await hanging.stop(20)).toMatchObject({ reason: 'killed' });
    await hanging.start();
    expect(await hanging.kill()).toMatchObject({ reason: 'killed', life: 2 });
    expect(await hanging.kill()).toMatchObject({ reason: 'stopped' });
  });

  it('shares one clock with every other thread and runs its last duty on stop', async () => {
    const buffer = new SharedArrayBuffer(16);
    const cell = new Float64Array(buffer);
    const clock = thread('clock', { prepare: () => ({ args: buffer }), idle: { kind: 'spin' } });
    await clock.start();
    const before = nowNs();
    while (cell[0]! <= before) await new Promise((resolve) => setImmediate(resolve));
    expect(cell[0]!).toBeLessThanOrEqual(nowNs() + 1000);
    await clock.stop(10_000);
    expect(cell[1]).toBe(1);
  });

  it.runIf(process.platform === 'linux')('runs where the kernel says and under its own name', async () => {
    const cpu = availableParallelism() - 1;
    const clock = thread('clock', { name: 'merger', cpu, prepare: () => ({ args: new SharedArrayBuffer(16) }) });
    const placement = await clock.start();
    expect(placement).toMatchObject({ how: 'sched_setaffinity', observed: String(cpu), warning: undefined });
    expect(readFileSync(`/proc/self/task/${placement.tid}/comm`, 'utf8')).toBe('merger\n');
  });

  // Root may; others need a limit that lets them (ulimit -e 25).
  it.runIf(process.getuid?.() === 0)('keeps its core from neighbours while it spins, and only then', async () => {
    const cpu = availableParallelism() - 1;
    const prepare = () => ({ args: new SharedArrayBuffer(16) });
    const spinning = await thread('clock', { cpu, prepare, idle: { kind: 'spin' } }).start();
    const parked = await thread('clock', { cpu, prepare }).start();
    const unpinned = await thread('clock', { prepare, idle: { kind: 'spin' } }).start();
    const nices = [spinning, parked, unpinned].map(({ tid }) => getPriority(tid));
    expect(nices).toEqual([HURRIED_NICE, getPriority(), getPriority()]);
  });

  it('runs unpinned with one warning where it cannot be pinned', async () => {
    const warnings: string[] = [];
    const onWarning = (warning: string) => warnings.push(warning);
    const clock = thread('clock', { cpu: 1000, onWarning, prepare: () => ({ args: new SharedArrayBuffer(16) }) });
    expect(await clock.start()).toMatchObject({ how: 'unpinned' });
    expect(warnings).toEqual(['thread clock: cannot pin to CPU 1000 on this system; running unpinned']);
  });
});
