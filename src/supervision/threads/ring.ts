import type { Memory } from './memory.ts';
import { ConsumingEnd, ProducingEnd } from './ring-ends.ts';
import { RING } from './ring-layout.ts';

/**
 * The one thread that fills a ring of fixed-size records.
 *
 *   const offset = producer.claim();        // a byte offset, NO_ROOM or FENCED
 *   if (offset >= 0) { ...fill there...; producer.publish(); }
 *
 * Several claims may be made before one publish: they become visible together.
 */
export class RingProducer extends ProducingEnd {
  readonly #mask: number;

  constructor(memory: Memory, at: number, life: number) {
    super(memory, at, life, false);
    this.#mask = this.capacity - 1;
  }

  claim(): number {
    const refusal = this.refusal(1);
    if (refusal < 0) return refusal;
    const place = this.next & this.#mask;
    this.next = (this.next + 1) | 0;
    return this.units + place * this.unitBytes;
  }

  /** Claims, copies and publishes one record: 0, NO_ROOM or FENCED. */
  offer(record: Uint8Array): number {
    const offset = this.claim();
    if (offset < 0) return offset;
    this.memory.write(offset, record);
    this.publish();
    return 0;
  }
}

/** The one thread that reads a ring of fixed-size records, in place. */
export class RingConsumer extends ConsumingEnd {
  readonly #mask: number;

  constructor(memory: Memory, at: number, life: number) {
    super(memory, at, life, false);
    this.#mask = this.capacity - 1;
  }

  /**
   * Hands up to `limit` records to the handler by byte offset, valid during the call only. Their room is given back in
   * one store at the end, also when the handler throws; the record that it threw on is gone.
   */
  drain(handler: (offset: number) => void, limit: number): number {
    const count = Math.min(this.available(), limit);
    if (count <= 0) return 0;
    const first = this.head;
    let handled = 0;
    try {
      while (handled < count) {
        const place = (first + handled) & this.#mask;
        handled++;
        this.memory.set(this.base + RING.CURSOR, (first + handled) | 0);
        handler(this.units + place * this.unitBytes);
      }
    } finally {
      this.release((first + handled) | 0);
    }
    return handled;
  }

  /**
   * Hands out up to `limit` records that lie side by side, for a kernel that works through them in one call. Returns how
   * many; they begin at `runOffset` and stay valid until `finishRun`. A consumer killed in between loses the whole run.
   */
  takeRun(limit: number): number {
    const place = this.head & this.#mask;
    const count = Math.max(0, Math.min(this.available(), limit, this.capacity - place));
    if (count > 0) this.memory.set(this.base + RING.CURSOR, (this.head + count) | 0);
    return count;
  }

  get runOffset(): number {
    return this.units + (this.head & this.#mask) * this.unitBytes;
  }

  finishRun(count: number): void {
    this.release((this.head + count) | 0);
  }
}
