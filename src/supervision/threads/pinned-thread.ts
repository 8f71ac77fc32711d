import { FINE_BUCKETS } from '../telemetry/buckets.ts';
import { CountReader } from '../telemetry/counter.ts';
import { HistogramReader, type HistogramView } from '../telemetry/histogram.ts';
import type { IdleSpec } from './idle-strategy.ts';
import { THREAD_HANDLED_BYTE, THREAD_PROCESSING_BYTE } from './thread-block.ts';
import { type EntryAddition, WorkerThread, type WorkerThreadOptions } from './worker-life.ts';

export interface PinnedThreadOptions extends WorkerThreadOptions {
  readonly idle: IdleSpec;
}

/** What pinned-entry finds in workerData beside EntryData. */
export interface PinnedData {
  readonly idle: IdleSpec;
}

/**
 * A thread that runs one duty cycle, has no event loop while it runs, and talks through shared memory alone. `exportName`
 * names a MakeDutyCycle in `module`.
 */
export class PinnedThread extends WorkerThread {
  readonly #idle: IdleSpec;
  readonly #handled: CountReader;
  readonly #processing: HistogramReader;

  constructor(options: PinnedThreadOptions) {
    super(options, new URL('./pinned-entry.js', import.meta.url));
    this.#idle = options.idle;
    this.#handled = new CountReader(this.memory, this.blockAt + THREAD_HANDLED_BYTE);
    this.#processing = new HistogramReader(this.memory, this.blockAt + THREAD_PROCESSING_BYTE, FINE_BUCKETS);
  }

  /** Things that the duty cycles of all lives have handled, and how long one took, in nanoseconds. */
  work(): { readonly handled: number; readonly processing: HistogramView } {
    return { handled: this.#handled.read(), processing: this.#processing.read() };
  }

  protected override entryData(): EntryAddition {
    return { data: { idle: this.#idle } satisfies PinnedData, transfer: [] };
  }
}
