import { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { SharedMemory } from '../threads/memory.ts';
import { BOOK_BUCKETS, FINE_BUCKETS } from './buckets.ts';
import { CountReader, SharedCounter } from './counter.ts';
import { HistogramReader, percentileNs, SharedHistogram } from './histogram.ts';
import { histogramBytes } from './layout.ts';
import { openCounter, openHistogram, Telemetry } from './telemetry.ts';

describe('a counter in shared memory', () => {
  it('goes on past 2^32', () => {
    const memory = new SharedMemory(new SharedArrayBuffer(128));
    const counter = new SharedCounter(memory, 0);
    const reader = new CountReader(memory, 0);
    for (let index = 0; index < 5; index++) counter.add(0x7fff_ffff);
    counter.add();
    expect(reader.read()).toBe(5 * 0x7fff_ffff + 1);
  });

  it('never goes back when it is read between a wrap and its note', () => {
    const memory = new SharedMemory(new SharedArrayBuffer(128));
    const reader = new CountReader(memory, 0);
    memory.store(0, -1);
    expect(reader.read()).toBe(0xffff_ffff);
    memory.store(0, 3);
    expect(reader.read()).toBe(0xffff_ffff);
    memory.store(1, 1);
    expect(reader.read()).toBe(0x1_0000_0003);
  });

  it('loses nothing when two threads add at once', async () => {
    const telemetry = new Telemetry(new Registry());
    const place = telemetry.counter('adds_total', 'Adds.').place();
    const source = `
      const { workerData } = require('node:worker_threads');
      import(workerData.module).then(({ openCounter }) => {
        const counter = openCounter(workerData.place);
        for (let index = 0; index < 200000; index++) counter.add();
      });`;
    const workerData = { module: new URL('./telemetry.js', import.meta.url).href, place };
    const worker = new Worker(source, { eval: true, workerData });
    const exit = new Promise((resolve) => worker.once('exit', resolve));
    const counter = openCounter(place);
    for (let index = 0; index < 200_000; index++) counter.add();
    expect(await exit).toBe(0);
    expect(new CountReader(new SharedMemory(place.buffer), place.at).read()).toBe(400_000);
  });
});

describe('a histogram in shared memory', () => {
  it.each([
    ['of the order book', BOOK_BUCKETS],
    ['for percentiles', FINE_BUCKETS],
  ])('puts each value into the first bucket whose bound is not below it: %s', (_, buckets) => {
    const value = fc.oneof(fc.integer({ min: 0, max: 0x7fff_fffe }), fc.integer({ min: 0, max: 5000 }));
    fc.assert(
      fc.property(value, (ns) => {
        const bucket = buckets.bucketOf(ns);
        expect(ns).toBeLessThanOrEqual(buckets.boundsNs[bucket]!);
        if (bucket > 0) expect(ns).toBeGreaterThan(buckets.boundsNs[bucket - 1]!);
      }),
    );
  });

  it('has the 16 bounds of the order book, from 100 ns to 100 ms', () => {
    expect(BOOK_BUCKETS.boundsNs.filter(Number.isFinite)).toHaveLength(16);
    expect([BOOK_BUCKETS.boundsNs[0], BOOK_BUCKETS.boundsNs[15]]).toEqual([100, 100e6]);
  });

  it('gives percentiles that are at most an eighth too high', () => {
    const memory = new SharedMemory(new SharedArrayBuffer(histogramBytes(FINE_BUCKETS.boundsNs.length)));
    const histogram = new SharedHistogram(memory, 0, FINE_BUCKETS);
    const reader = new HistogramReader(memory, 0, FINE_BUCKETS);
    expect(percentileNs(reader.read(), 0.5)).toBeUndefined();
    for (let ns = 1; ns <= 10_000; ns++) histogram.record(ns);
    const view = reader.read();
    expect(view).toMatchObject({ count: 10_000, sumNs: 50_005_000 });
    for (const share of [0.01, 0.5, 0.99, 1]) {
      const percentile = percentileNs(view, share)!;
      expect(percentile).toBeGreaterThanOrEqual(10_000 * share);
      expect(percentile).toBeLessThanOrEqual(10_000 * share * 1.125);
    }
    histogram.record(1e12);
    histogram.record(-5);
    expect(reader.read().count).toBe(10_002);
  });
});

describe('telemetry', () => {
  it('renders counters and histograms for Prometheus when it is scraped', async () => {
    const registry = new Registry();
    const telemetry = new Telemetry(registry);
    const trades = telemetry.counter('trades_total', 'Trades decoded.', ['venue']);
    openCounter(trades.place({ venue: 'binance' })).add(3);
    openCounter(trades.place({ venue: 'binance' })).add(4);
    const latency = telemetry.histogram('merge_seconds', 'Time to merge.', BOOK_BUCKETS);
    const histogram = openHistogram(latency.place(), BOOK_BUCKETS);
    for (const ns of [80, 700, 200e6]) histogram.record(ns);
    const text = await registry.metrics();
    expect(text).toContain('# TYPE trades_total counter\ntrades_total{venue="binance"} 7\n');
    expect(text).toContain('# TYPE merge_seconds histogram\n');
    expect(text).toContain('merge_seconds_bucket{le="1e-7"} 1\n');
    expect(text).toContain('merge_seconds_bucket{le="0.000001"} 2\n');
    expect(text).toContain('merge_seconds_bucket{le="+Inf"} 3\n');
    expect(text).toContain('merge_seconds_sum 0.20000078\nmerge_seconds_count 3\n');
  });

  it('counts under `other` what has too many labels, and loses none of it', async () => {
    const registry = new Registry();
    const telemetry = new Telemetry(registry, 2);
    const metric = telemetry.counter('symbols_total', 'By symbol.', ['symbol']);
    for (let symbol = 0; symbol < 50; symbol++) openCounter(metric.place({ symbol: `s${symbol}` })).add();
    const text = await registry.metrics();
    expect(text.match(/^symbols_total\{.*$/gm)).toEqual([
      'symbols_total{symbol="s0"} 1',
      'symbols_total{symbol="s1"} 1',
      'symbols_total{symbol="other"} 48',
    ]);
  });

  it('refuses a second metric of the same name', () => {
    const telemetry = new Telemetry(new Registry());
    telemetry.counter('a_total', 'A.');
    expect(() => telemetry.counter('a_total', 'A.')).toThrow('a metric is named once: a_total');
  });
});
