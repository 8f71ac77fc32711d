import type { EventRow } from '../../protocols/ingest.ts';
import type { SinkSettings } from '../../protocols/topology.ts';
import { Republisher } from '../republish/republisher.ts';
import { type EventStore, EventWriter, type WritePoint } from './event-writer.ts';

export interface WritersOptions {
  readonly settings: SinkSettings;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly connectTimeoutMs: number;
  reached(point: WritePoint): void;
  warn(text: string): void;
}

/** The connections to Postgres that lanes share, and the way out for stored events where that is on. */
export class Writers {
  readonly settings: SinkSettings;
  readonly #writers: readonly EventWriter[];
  readonly #republisher: Republisher | undefined;
  #handedOut = 0;

  constructor(options: WritersOptions) {
    const { settings, postgresUrl: url, connectTimeoutMs, reached, warn } = options;
    this.settings = settings;
    this.#writers = Array.from(
      { length: settings.connections },
      () => new EventWriter({ url, connectTimeoutMs, settings, reached, warn }),
    );
    this.#republisher = settings.republish === null ? undefined : new Republisher(options.redisUrl, settings.republish);
  }

  /** A writer for the next lane. A lane keeps its writer, so that its batches stay in order. */
  next(): EventStore {
    return this.#writers[this.#handedOut++ % this.#writers.length]!;
  }

  republish(rows: readonly EventRow[]): void {
    this.#republisher?.offer(rows);
  }

  get republished(): { readonly published: number; readonly dropped: number; readonly waiting: number } {
    const { published = 0, dropped = 0, waiting = 0 } = this.#republisher ?? {};
    return { published, dropped, waiting };
  }

  async close(): Promise<void> {
    this.#republisher?.close();
    await Promise.all(this.#writers.map((writer) => writer.close()));
  }
}
