import { setTimeout as sleep } from 'node:timers/promises';
import type { Acknowledgement, LedgerTerm, RedisStream } from './redis-stream.ts';

/** Entries whose fate is durable, on their way out of the pending list. */
export interface PendingAck extends Acknowledgement {
  /** All entries that it is about. */
  readonly ids: readonly string[];
  readonly counts: Readonly<Partial<Record<LedgerTerm, number>>>;
  readonly rows: number;
  readonly bytes: number;
}

export interface AcknowledgerEvents {
  acknowledged(ack: PendingAck, missing: number, seconds: number): void;
  reached(point: 'before-ack' | 'after-ack'): void;
}

const RETRY_MIN_MS = 50;
const RETRY_MAX_MS = 2_000;

/**
 * Acknowledges in order, and again until Redis has taken it. Its queue is bounded by the reader's room: entries count as
 * in flight until they are acknowledged.
 */
export class Acknowledger {
  readonly #stream: RedisStream;
  readonly #events: AcknowledgerEvents;
  readonly #queue: PendingAck[] = [];
  #running = false;
  #closed = false;
  #drained: (() => void)[] = [];
  #refused: { readonly sinceMs: number; readonly reason: string } | undefined;

  constructor(stream: RedisStream, events: AcknowledgerEvents) {
    this.#stream = stream;
    this.#events = events;
  }

  /** Why Redis does not take acknowledgements, and since when; undefined while it does. */
  get refused(): { readonly sinceMs: number; readonly reason: string } | undefined {
    return this.#refused;
  }

  /** The entries that wait to be acknowledged. */
  ids(): readonly string[] {
    return this.#queue.flatMap((ack) => ack.ids);
  }

  add(ack: PendingAck): void {
    this.#queue.push(ack);
    if (!this.#running) void this.#run();
  }

  /** Resolves when everything added so far is acknowledged. */
  drained(): Promise<void> {
    return this.#running ? new Promise((resolve) => this.#drained.push(resolve)) : Promise.resolve();
  }

  close(): void {
    this.#closed = true;
  }

  async #run(): Promise<void> {
    this.#running = true;
    while (this.#queue.length > 0 && !this.#closed) await this.#acknowledge(this.#queue[0]!);
    this.#running = false;
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  async #acknowledge(ack: PendingAck): Promise<void> {
    const started = performance.now();
    let missing: number | undefined;
    for (
      let delayMs = RETRY_MIN_MS;
      missing === undefined && !this.#closed;
      delayMs = Math.min(delayMs * 2, RETRY_MAX_MS)
    ) {
      missing = await this.#attempt(ack).catch((error: Error) => {
        this.#refused = { sinceMs: this.#refused?.sinceMs ?? performance.now(), reason: error.message };
        return undefined;
      });
      if (missing !== undefined) break;
      await sleep(delayMs * (1 + Math.random() * 0.25));
    }
    if (missing === undefined) return;
    this.#refused = undefined;
    this.#queue.shift();
    this.#events.acknowledged(ack, missing, (performance.now() - started) / 1_000);
  }

  async #attempt(ack: PendingAck): Promise<number> {
    this.#events.reached('before-ack');
    // After a lost answer it may have happened: then the second attempt acknowledges nothing and counts nothing.
    const acknowledged = await this.#stream.acknowledge(ack);
    this.#events.reached('after-ack');
    return ack.ids.length - acknowledged;
  }
}
