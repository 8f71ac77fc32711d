import { Redis } from 'ioredis';
import { ENVELOPE_FIELD } from '../../protocols/envelope.ts';
import { type EventRow, rawOf } from '../../protocols/ingest.ts';
import type { SinkSettings } from '../../protocols/topology.ts';

// Stored events onto another stream, for readers that want to follow what is durable. It stands beside the way to
// Postgres, never in it: its queue is bounded, what does not fit is dropped and counted, and no acknowledgement waits
// for it. What it takes it delivers at least once; the envelope's id tells repeats.

type Settings = NonNullable<SinkSettings['republish']>;

const BATCH = 500;
const RETRY_MS = 500;

export class Republisher {
  readonly #settings: Settings;
  readonly #redis: Redis;
  #queue: Buffer[] = [];
  #running = false;
  #closed = false;
  published = 0;
  dropped = 0;

  constructor(url: string, settings: Settings) {
    this.#settings = settings;
    this.#redis = new Redis(url, { protocol: 2, maxRetriesPerRequest: 1 });
    this.#redis.on('error', () => undefined);
  }

  get waiting(): number {
    return this.#queue.length;
  }

  offer(rows: readonly EventRow[]): void {
    const room = Math.max(0, this.#settings.capacity - this.#queue.length);
    for (const row of rows.slice(0, room)) this.#queue.push(rawOf(row));
    this.dropped += Math.max(0, rows.length - room);
    if (!this.#running && this.#queue.length > 0) void this.#run();
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#queue.length > 0 && !this.#closed) {
      const batch = this.#queue.slice(0, BATCH);
      try {
        const { stream, maxLength } = this.#settings;
        const pipeline = this.#redis.pipeline();
        for (const raw of batch) pipeline.xadd(stream, 'MAXLEN', '~', maxLength, '*', ENVELOPE_FIELD, raw);
        const answers = (await pipeline.exec()) ?? [];
        for (const [error] of answers) if (error !== null) throw error;
        this.#queue = this.#queue.slice(batch.length);
        this.published += batch.length;
      } catch {
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
    this.#running = false;
  }

  close(): void {
    this.#closed = true;
    this.#redis.disconnect();
  }
}
