import { once } from 'node:events';
import { afterEach, describe, expect, it } from 'vitest';
import { LoopThread, type LoopThreadOptions } from './loop-thread.ts';
import type { ThreadEnd } from './thread-handle.ts';

const module = new URL('./threads.fixture.js', import.meta.url);
const threads: LoopThread[] = [];
afterEach(async () => {
  for (const thread of threads.splice(0)) await thread.kill();
});

async function started(args: unknown, options: Partial<LoopThreadOptions> = {}) {
  const prepare = () => ({ args });
  const thread = new LoopThread({ name: 'io', module, exportName: 'host', beatMs: 20, prepare, ...options });
  threads.push(thread);
  const end = new Promise<ThreadEnd>((resolve) => thread.onExit(resolve));
  await thread.start();
  return { thread, end };
}

describe('a loop thread', () => {
  it('talks over its port, stops when asked, and begins the next life with a new port', async () => {
    const { thread } = await started('prepared');
    for (let life = 1; life <= 2; life++) {
      thread.port!.postMessage('hello');
      const [answer] = await once(thread.port!, 'message');
      expect(answer).toEqual({ message: 'hello', life, args: 'prepared' });
      expect(await thread.stop(10_000)).toMatchObject({ reason: 'stopped', life });
      if (life === 1) await thread.start();
    }
  });

  it('that could not be prepared can be started later', async () => {
    const prepare = (life: number) => {
      if (life === 1) throw new Error('not yet');
      return { args: undefined };
    };
    const thread = new LoopThread({ name: 'io', module, exportName: 'host', prepare });
    threads.push(thread);
    await expect(thread.start()).rejects.toThrow('not yet');
    expect(thread.state).toBe('resting');
    await thread.start();
    expect(thread.state).toBe('running');
  });

  it('reports a throw in a callback as a crash', async () => {
    const { thread, end } = await started(undefined);
    thread.port!.postMessage('throw');
    expect(await end).toMatchObject({ reason: 'failed', life: 1 });
    expect((await end).error?.message).toBe('told to');
  });

  it('is ended as hung when its loop is blocked', async () => {
    const { thread, end } = await started(undefined, { hangMs: 300 });
    thread.port!.postMessage('block');
    expect(await end).toMatchObject({ reason: 'hung' });
  });

  it('is killed at the deadline when what it hosts does not stop', async () => {
    const { thread } = await started('stubborn');
    expect(await thread.stop(50)).toMatchObject({ reason: 'killed' });
  });

  it('shows how busy and how late its loop is, and how full its heap', async () => {
    const { thread } = await started(undefined);
    while (thread.health.busy === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const { delayMaxUs, delayMeanUs, heapUsedBytes, heapLimitBytes } = thread.health;
    expect(delayMaxUs).toBeGreaterThanOrEqual(delayMeanUs);
    expect(heapUsedBytes).toBeGreaterThan(1e6);
    expect(heapLimitBytes).toBeGreaterThan(heapUsedBytes);
  });
});
