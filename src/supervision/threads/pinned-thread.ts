import type { IdleSpec } from './idle-strategy.ts';
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

  constructor(options: PinnedThreadOptions) {
    super(options, new URL('./pinned-entry.js', import.meta.url));
    this.#idle = options.idle;
  }

  protected override entryData(): EntryAddition {
    return { data: { idle: this.#idle } satisfies PinnedData, transfer: [] };
  }
}
