import type { HistogramSnapshot } from '../../protocols/ingest-snapshot.ts';
import type { PendingAck } from './acknowledger.ts';

class PlainHistogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Array<number>(bounds.length + 1).fill(0);
  }

  observe(value: number): void {
    let slot = 0;
    while (slot < this.#bounds.length && value > this.#bounds[slot]!) slot++;
    this.#counts[slot]!++;
    this.#sum += value;
  }

  snapshot(): HistogramSnapshot {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum };
  }
}

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const ROWS = [1, 10, 50, 100, 250, 500, 1_000, 2_000, 5_000, 10_000];

/** What one lane counted since its kernel started. Only ever grows. */
export class IngestCounters {
  read = 0;
  redelivered = 0;
  claimed = 0;
  acked = 0;
  ackMissing = 0;
  stored = 0;
  duplicates = 0;
  spilled = 0;
  replayed = 0;
  replayDuplicates = 0;
  dropped = 0;
  trimmed = 0;
  commits = 0;
  trimmedByKernel = 0;
  groupRecreations = 0;
  streamResets = 0;
  spillLost = 0;
  spillRecovered = 0;
  tornTails = 0;
  readonly deadLetters = new Map<string, number>();
  readonly batchSeconds = new PlainHistogram(SECONDS);
  readonly ackSeconds = new PlainHistogram(SECONDS);
  readonly writeRows = new PlainHistogram(ROWS);
  readonly writeSeconds = new PlainHistogram(SECONDS);

  wrote(rows: number, seconds: number): void {
    this.commits++;
    this.writeRows.observe(rows);
    this.writeSeconds.observe(seconds);
  }

  acknowledged({ ids, counts }: PendingAck, missing: number, seconds: number): void {
    this.acked += ids.length - missing;
    this.ackMissing += missing;
    this.stored += counts.stored ?? 0;
    this.duplicates += counts.duplicate ?? 0;
    this.spilled += counts.spilled ?? 0;
    this.dropped += counts.dropped ?? 0;
    this.trimmed += counts.trimmed ?? 0;
    this.ackSeconds.observe(seconds);
  }

  deadLetter(stage: string, code: string): void {
    const key = `${stage}/${code}`;
    this.deadLetters.set(key, (this.deadLetters.get(key) ?? 0) + 1);
  }
}
