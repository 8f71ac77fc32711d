import { invariant } from '../../protocols/errors/index.ts';

export interface MetricFacts {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
  readonly help: string;
}

/** Counts of what was up to each bound, not cumulative; the last is of what is above all bounds. */
export interface Distribution {
  readonly bounds: readonly number[];
  readonly counts: readonly number[];
  readonly sum: number;
}

type Labels = Readonly<Record<string, string>>;

/** Writes numbers that someone else counted as Prometheus text. Only metrics of its list can be written, as it has them. */
export class Exposition {
  readonly #metrics: Readonly<Record<string, MetricFacts>>;
  readonly #lines = new Map<string, string[]>();

  constructor(metrics: Readonly<Record<string, MetricFacts>>) {
    this.#metrics = metrics;
  }

  add(name: string, labels: Labels, value: number): void {
    this.#linesOf(name, labels).push(`${name}${labelText(labels)} ${value}`);
  }

  histogram(name: string, labels: Labels, { bounds, counts, sum }: Distribution): void {
    invariant(this.#metrics[name]?.type === 'histogram', `${name} is a histogram`);
    const lines = this.#linesOf(name, labels);
    let below = 0;
    counts.forEach((count, at) => {
      below += count;
      const le = at < bounds.length ? String(bounds[at]) : '+Inf';
      lines.push(`${name}_bucket${labelText({ ...labels, le })} ${below}`);
    });
    lines.push(`${name}_sum${labelText(labels)} ${sum}`, `${name}_count${labelText(labels)} ${below}`);
  }

  get text(): string {
    const groups = [...this.#lines].map(([name, lines]) => {
      const { help, type } = this.#metrics[name]!;
      return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
    });
    return groups.length === 0 ? '' : `${groups.join('\n')}\n`;
  }

  #linesOf(name: string, labels: Labels): string[] {
    const listed = this.#metrics[name]?.labels;
    const isListed = listed?.length === Object.keys(labels).length && listed.every((label) => label in labels);
    invariant(isListed, `${name} is written as it is listed`, { labels: Object.keys(labels), listed });
    let lines = this.#lines.get(name);
    if (lines === undefined) {
      lines = [];
      this.#lines.set(name, lines);
    }
    return lines;
  }
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}
