import type { Registry } from 'prom-client';
import { invariant } from '../../protocols/errors/index.ts';
import { SharedMemory } from '../threads/memory.ts';
import type { Buckets } from './buckets.ts';
import { CountReader, SharedCounter } from './counter.ts';
import { HistogramReader, SharedHistogram } from './histogram.ts';
import { COUNTER_BYTES, type FigurePlace, histogramBytes } from './layout.ts';
import { type Sample, ScrapedMetric } from './scraped-metric.ts';

/**
 * The figures of the process. They are made here, on the main thread, and written by any thread that was sent their place:
 *
 *   const trades = telemetry.counter('trades_total', 'Trades decoded.', ['venue']);
 *   const place = trades.place({ venue: 'binance' });            // send it to the worker, in its args
 *   openCounter(place).add(12);                                  // there, on the hot path
 *
 * Nothing is read until Prometheus asks. A series, once made, stays: an actor that is restarted goes on counting in it.
 */
export interface Metric {
  /** The place of the series with these labels; that of the series `other` once there are too many. */
  place(labels?: Labels): FigurePlace;
}

export type Labels = Readonly<Record<string, string>>;

export function openCounter({ buffer, at }: FigurePlace): SharedCounter {
  return new SharedCounter(new SharedMemory(buffer), at);
}

export function openHistogram({ buffer, at }: FigurePlace, buckets: Buckets): SharedHistogram {
  return new SharedHistogram(new SharedMemory(buffer), at, buckets);
}

/** Label values that come from outside must not grow the process: past so many series, all further ones share one. */
const SERIES_MAX = 1000;
const OTHER = 'other';
const CHUNK_BYTES = 64 * 1024;

type Kind = 'counter' | 'histogram';

export class Telemetry {
  readonly #names = new Set<string>();
  readonly #registry: Registry;
  readonly #seriesMax: number;
  #chunk = new SharedArrayBuffer(CHUNK_BYTES);
  #used = 0;

  constructor(registry: Registry, seriesMax = SERIES_MAX) {
    this.#registry = registry;
    this.#seriesMax = seriesMax;
  }

  counter(name: string, help: string, labelNames: readonly string[] = []): Metric {
    return this.#metric('counter', name, help, labelNames, COUNTER_BYTES, ({ buffer, at }, labels) => {
      const reader = new CountReader(new SharedMemory(buffer), at);
      return () => [{ labels, value: reader.read() }];
    });
  }

  /** For Prometheus it is in seconds, whatever it is recorded in here. */
  histogram(name: string, help: string, buckets: Buckets, labelNames: readonly string[] = []): Metric {
    const bytes = histogramBytes(buckets.boundsNs.length);
    return this.#metric('histogram', name, help, labelNames, bytes, ({ buffer, at }, labels) => {
      const reader = new HistogramReader(new SharedMemory(buffer), at, buckets);
      return () => histogramSamples(name, labels, reader);
    });
  }

  #metric(
    kind: Kind,
    name: string,
    help: string,
    labelNames: readonly string[],
    bytes: number,
    open: (place: FigurePlace, labels: Labels) => () => Sample[],
  ): Metric {
    invariant(!this.#names.has(name), `a metric is named once: ${name}`);
    this.#names.add(name);
    const scraped = new ScrapedMetric(kind, name, help);
    this.#registry.registerMetric(scraped);
    const places = new Map<string, FigurePlace>();
    const placeOf = (values: readonly string[]): FigurePlace => {
      const key = values.join('\0');
      const known = places.get(key);
      if (known !== undefined) return known;
      const isOther = values.every((value) => value === OTHER);
      if (!isOther && places.size >= this.#seriesMax) return placeOf(values.map(() => OTHER));
      const place = this.#allocate(bytes);
      places.set(key, place);
      scraped.add(open(place, Object.fromEntries(labelNames.map((label, index) => [label, values[index]!]))));
      return place;
    };
    return { place: (labels = {}) => placeOf(labelNames.map((label) => labels[label] ?? '')) };
  }

  /** Room for a figure, in chunks that never move. */
  #allocate(bytes: number): FigurePlace {
    if (this.#used + bytes > this.#chunk.byteLength) {
      this.#chunk = new SharedArrayBuffer(Math.max(CHUNK_BYTES, bytes));
      this.#used = 0;
    }
    const place = { buffer: this.#chunk, at: this.#used };
    this.#used += bytes;
    return place;
  }
}

const secondsOf = (ns: number) => (ns === Infinity ? '+Inf' : String(ns / 1e9));

function histogramSamples(name: string, labels: Labels, reader: HistogramReader): Sample[] {
  const { boundsNs, counts, count, sumNs } = reader.read();
  let below = 0;
  const samples: Sample[] = boundsNs.map((bound, index) => {
    below += counts[index]!;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: secondsOf(bound) }, value: below };
  });
  if (boundsNs.at(-1) !== Infinity) {
    samples.push({ metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count });
  }
  samples.push({ metricName: `${name}_sum`, labels, value: sumNs / 1e9 });
  samples.push({ metricName: `${name}_count`, labels, value: count });
  return samples;
}
