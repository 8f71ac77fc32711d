import { afterEach, describe, expect, it } from 'vitest';
import type { ActorInfo, ThreadInfo } from '../../supervision/inspect.ts';
import { ThreadSampler } from './thread-sampler.ts';
import { threadTimes } from './thread-times.ts';

const info = (threadInfo: Partial<ThreadInfo>) => [{ path: '/t', threadInfo: { tid: 7, ...threadInfo } } as ActorInfo];
const LOOP = { busy: 0.5, delayMeanUs: 10, delayMaxUs: 90, heapUsedBytes: 5, heapLimitBytes: 9 };

describe('the load of a thread', () => {
  const samplers: ThreadSampler[] = [];
  afterEach(() => {
    for (const sampler of samplers.splice(0)) sampler.close();
  });
  const sampler = (times = threadTimes) => {
    const made = new ThreadSampler(times);
    samplers.push(made);
    return made;
  };

  it('is what its counts rose by in a second', () => {
    let onCoreNs = 4e9;
    const it = sampler(() => ({ onCoreNs, waitingNs: 1e9 + onCoreNs / 10 }));
    it.sample(info({ loop: { ...LOOP, collections: 10, collectedUs: 7000 } }), 1000);
    onCoreNs += 0.25e9;
    it.sample(info({ loop: { ...LOOP, collections: 14, collectedUs: 13_000 } }), 2000);
    expect(it.of('/t')).toEqual({
      ...LOOP,
      onCore: 0.25,
      waitingForCore: expect.closeTo(0.025) as number,
      collectionsPerSecond: 4,
      gcMsPerSecond: 6,
    });
  });

  it('counts a new life from zero', () => {
    const it = sampler(() => undefined);
    it.sample(info({ loop: { ...LOOP, collections: 100, collectedUs: 9000 } }), 1000);
    it.sample(info({ loop: { ...LOOP, collections: 2, collectedUs: 1000 } }), 2000);
    expect(it.of('/t')).toMatchObject({ collectionsPerSecond: 2, gcMsPerSecond: 1, onCore: null });
  });

  it('estimates what a duty cycle works from the cycles that it timed', () => {
    const it = sampler(() => undefined);
    it.sample(info({ duty: { handled: 1000, samples: 10, sampledNs: 10_000 } }), 1000);
    it.sample(info({ duty: { handled: 101_000, samples: 20, sampledNs: 30_000 } }), 2000);
    expect(it.of('/t')).toMatchObject({ busy: 0.2, delayMeanUs: null, heapUsedBytes: null });
  });

  it('knows the main thread, and nothing of one that is not there', () => {
    const it = sampler();
    it.sample([], 1000);
    it.sample([], 2000);
    expect(it.main().heapUsedBytes).toBeGreaterThan(1e6);
    expect(it.of('/gone').busy).toBeNull();
  });
});
