import { requireOffset, SEPARATION_BYTES, WORD_BYTES } from './layout.ts';
import type { Memory, WaitResult } from './memory.ts';

/**
 * A doorbell: what a sleeping thread sleeps on. One thread waits at it, any number of threads ring it after they have
 * published something for that thread, into whichever ring or slot.
 *
 *   byte     0        4        8                                                                     128
 *            +--------+--------+---------------------------------------------------------------------+
 *       0    | RINGS  |WAITING |       rings so far, modulo 2^32 / 1 while its owner may be asleep   |
 *            +--------+--------+---------------------------------------------------------------------+
 *
 * Both words share a line on purpose: while the owner is awake nobody writes here, so a producer's look at WAITING costs
 * a read of its own cache. Zeros are a doorbell at rest, so there is nothing to format.
 *
 * No wake-up is lost, because of the order on each side:
 *
 *   owner:     WAITING = 1, then look at all inputs again, then sleep while RINGS is as it was before
 *   producer:  publish, then look at WAITING; if set, clear it, count up RINGS, and notify
 *
 * Either the producer sees WAITING, or its publishing came before the owner's second look. Clearing WAITING makes one
 * notify serve a burst. A producer killed between clearing and counting rings nothing: that is why waits have a timeout.
 */
const DOORBELL = { RINGS: 0, WAITING: 1 } as const;
export const DOORBELL_BYTES = SEPARATION_BYTES;

export class Doorbell {
  readonly #memory: Memory;
  readonly #rings: number;
  readonly #waiting: number;
  #seen = 0;

  constructor(memory: Memory, at: number) {
    requireOffset(at);
    this.#memory = memory;
    this.#rings = at / WORD_BYTES + DOORBELL.RINGS;
    this.#waiting = at / WORD_BYTES + DOORBELL.WAITING;
  }

  /** For producers: wakes the owner if it sleeps or is about to. */
  ring(): void {
    if (this.#memory.load(this.#waiting) === 0) return;
    if (this.#memory.exchange(this.#waiting, 0) === 0) return;
    this.#memory.add(this.#rings, 1);
    this.#memory.notify(this.#rings);
  }

  /** For the owner: from here on producers will ring. Look at all inputs once more before `wait`. */
  arm(): void {
    this.#seen = this.#memory.load(this.#rings);
    this.#memory.store(this.#waiting, 1);
  }

  /** For the owner: the second look found something; no need to ring. */
  disarm(): void {
    this.#memory.store(this.#waiting, 0);
  }

  /** For the owner, after `arm` and the second look: sleeps until rung or until the time is up. */
  wait(timeoutMs: number): WaitResult {
    const result = this.#memory.wait(this.#rings, this.#seen, timeoutMs);
    this.disarm();
    return result;
  }

  /** The word and the value to sleep on, for an owner that must not block its thread (see loop-consumer.ts). */
  get sleepsOn(): { readonly word: number; readonly value: number } {
    return { word: this.#rings, value: this.#seen };
  }
}
