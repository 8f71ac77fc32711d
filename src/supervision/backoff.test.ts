import { describe, expect, it } from 'vitest';
import { backoffDelayMs } from './backoff.ts';
import { addRestart, isExceeded } from './intensity.ts';
import { Stage } from './testing/stage.ts';
import { toldActor } from './testing/told.ts';

const series = (backoff: Parameters<typeof backoffDelayMs>[0], count: number, random = () => 0) =>
  Array.from({ length: count }, (_, index) => backoffDelayMs(backoff, index + 1, random));

describe('backoff', () => {
  it('doubles from min to max: 3, 6, 12, 24, 30, 30 seconds', () => {
    const backoff = { minMs: 3000, maxMs: 30_000, jitter: 0, resetAfterMs: 0 };
    expect(series(backoff, 6)).toEqual([3000, 6000, 12_000, 24_000, 30_000, 30_000]);
    expect(backoffDelayMs(backoff, 1e9, () => 0)).toBe(30_000);
  });

  it('adds a random share up to the jitter', () => {
    const backoff = { minMs: 100, maxMs: 30_000, jitter: 0.2, resetAfterMs: 0 };
    expect(series(backoff, 4)).toEqual([100, 200, 400, 800]);
    expect(series(backoff, 4, () => 1).map(Math.round)).toEqual([120, 240, 480, 960]);
  });

  const failing = async () => {
    const backoff = { minMs: 100, maxMs: 1000, jitter: 0, resetAfterMs: 5000 };
    const { spec } = toldActor('a', { backoff });
    const stage = await Stage.started({ children: [spec] });
    const fail = async () => {
      spec.ref.tell(() => {
        throw new Error('fails');
      });
      await stage.settle();
      const last = stage.events.filter((event) => event.kind === 'restarting').at(-1)!;
      await stage.advance(last.delayMs);
      return last.delayMs;
    };
    return { stage, fail };
  };

  it('grows with each failure in a row and starts again after health', async () => {
    const { stage, fail } = await failing();
    expect([await fail(), await fail(), await fail()]).toEqual([100, 200, 400]);
    await stage.advance(4999);
    expect(await fail()).toBe(800);
    await stage.advance(5000);
    expect(await fail()).toBe(100);
    await stage.stop();
  });

  it('starts again when an operator restarts the actor', async () => {
    const { stage, fail } = await failing();
    expect([await fail(), await fail()]).toEqual([100, 200]);
    stage.system.restart('/a');
    await stage.settle();
    expect(await fail()).toBe(100);
    await stage.stop();
  });
});

describe('intensity', () => {
  it('of 3 in 5000 ms lets three restarts pass and not the fourth', () => {
    const intensity = { restarts: 3, periodMs: 5000 };
    let recent: readonly number[] = [];
    const verdicts = [0, 1000, 2000, 4999].map((atMs) => {
      recent = addRestart(recent, atMs, intensity);
      return isExceeded(recent, intensity);
    });
    expect(verdicts).toEqual([false, false, false, true]);
  });

  it('forgets restarts that are a period old, and keeps no more than it needs', () => {
    const intensity = { restarts: 3, periodMs: 5000 };
    let recent: readonly number[] = [];
    for (let atMs = 0; atMs <= 100_000; atMs += 2000) {
      recent = addRestart(recent, atMs, intensity);
      expect(isExceeded(recent, intensity)).toBe(false);
      expect(recent.length).toBeLessThanOrEqual(4);
    }
  });

  it('of 0 lets none pass', () => {
    const intensity = { restarts: 0, periodMs: 5000 };
    expect(isExceeded(addRestart([], 0, intensity), intensity)).toBe(true);
  });
});
