/** One line of a benchmark's output. `ratio` is value / reference, both measured in the same run. */
export interface Measurement {
  readonly bench: string;
  readonly metric: string;
  readonly value: number;
  readonly unit: string;
  readonly reference?: number;
  readonly reference_name?: string;
  readonly ratio?: number;
}

export interface BenchOptions {
  readonly json: boolean;
  /** Path of a native reference program, where the benchmark has one. */
  readonly yardstick: string | undefined;
  /** The parts to run, where a benchmark has several; all of them when undefined. */
  readonly only: readonly string[] | undefined;
  report(
    metric: string,
    value: number,
    unit: string,
    reference?: { readonly value: number; readonly name: string },
  ): void;
}

export interface Bench {
  readonly summary: string;
  run(options: BenchOptions): Promise<void>;
}

export const ROUNDS = 15;

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** A measured value and what it is compared with. */
export type Pair = readonly [value: number, reference: number];

/**
 * Of two sides that were measured by turns, the turn whose ratio is the median. The sides of a turn are measured one right after the
 * other, so what the machine's neighbours do in that moment is done to both; two medians can stem from different moments.
 */
export function medianTurn(turns: readonly Pair[]): Pair {
  return turns.toSorted(([a, b], [c, d]) => a / b - c / d)[turns.length >> 1]!;
}

/** The value below which the given share of the values lies; the input need not be sorted. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

let sink = 0;
/** Keeps a result alive, so that the optimizer cannot remove the work that made it. */
export function consume(value: number): void {
  sink = (sink + value) | 0;
  if (sink === 0x7fffffff) process.stderr.write('');
}

/** Median nanoseconds of one call of `work(iterations)` divided by its iterations, over ROUNDS rounds after a warm-up. */
export function nanosecondsPer(iterations: number, work: (iterations: number) => number, rounds = ROUNDS): number {
  consume(work(iterations));
  const samples: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint();
    consume(work(iterations));
    samples.push(Number(process.hrtime.bigint() - start) / iterations);
  }
  return median(samples);
}
