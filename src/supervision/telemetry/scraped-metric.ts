import { Gauge, type MetricObjectWithValues, type MetricType, type MetricValue } from 'prom-client';

export type Sample = MetricValue<string> & { readonly metricName?: string };

/**
 * A metric whose samples are made when they are asked for. prom-client's own counters and histograms hold their numbers
 * themselves and cannot be set to what shared memory says, so this answers in their place.
 */
export class ScrapedMetric extends Gauge<string> {
  readonly #kind: 'counter' | 'histogram';
  readonly #name: string;
  readonly #help: string;
  readonly #samplers: (() => Sample[])[] = [];

  constructor(kind: 'counter' | 'histogram', name: string, help: string) {
    super({ name, help, registers: [] });
    this.#kind = kind;
    this.#name = name;
    this.#help = help;
  }

  add(sampler: () => Sample[]): void {
    this.#samplers.push(sampler);
  }

  override async get(): Promise<MetricObjectWithValues<MetricValue<string>>> {
    return {
      name: this.#name,
      help: this.#help,
      // The library declares numbers here and uses strings.
      type: this.#kind as unknown as MetricType,
      aggregator: 'sum',
      collect: () => {},
      values: this.#samplers.flatMap((sampler) => sampler()),
    };
  }
}
