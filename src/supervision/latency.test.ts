import { describe, expect, it } from 'vitest';
import { LatencyRecorder } from './latency.ts';

describe('latencies', () => {
  it('are told by percentiles that are at most a fifth too high', () => {
    const recorder = new LatencyRecorder();
    expect(recorder.info(0)).toBeUndefined();
    for (let ms = 1; ms <= 1000; ms++) recorder.record(ms);
    const { count, p50, p99, max } = recorder.info(1)!;
    expect({ count, max }).toEqual({ count: 1000, max: 1000 });
    for (const [value, truth] of [
      [p50, 500],
      [p99, 990],
    ] as const) {
      expect(value).toBeGreaterThanOrEqual(truth);
      expect(value).toBeLessThanOrEqual(truth * 1.2);
    }
  });

  it('are those of the last minute: a slow start is forgotten, and so is everything when nothing comes any more', () => {
    const recorder = new LatencyRecorder();
    recorder.record(5000);
    for (let second = 0; second <= 90; second++) {
      if (second > 0) recorder.record(1);
      recorder.info(second * 1000);
    }
    expect(recorder.info(91_000)!.max).toBeLessThan(1.2);
    for (let second = 92; second <= 180; second++) recorder.info(second * 1000);
    expect(recorder.info(181_000)).toBeUndefined();
  });
});
