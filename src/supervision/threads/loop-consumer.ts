import { Doorbell } from './doorbell.ts';
import type { SharedMemory } from './memory.ts';

/** Atomics.waitAsync is in every Node that we run on and not yet in the type library that we compile with. */
interface AsyncWait {
  waitAsync(
    words: Int32Array<SharedArrayBuffer>,
    word: number,
    expected: number,
    timeoutMs: number,
  ): { async: false; value: 'not-equal' | 'timed-out' } | { async: true; value: Promise<'ok' | 'timed-out'> };
}
const { waitAsync } = Atomics as unknown as AsyncWait;

export interface LoopConsumerOptions {
  /**
   * For how long after the last work the loop is polled, once a turn, before it waits for the doorbell. Waking an event
   * loop that sleeps in the kernel takes 7-40 us by any means there is (waitAsync and MessagePort measure the same);
   * a loop that is being polled sees a publication in about 2 us, at the price of one busy core. 0 never polls.
   */
  readonly pollMs: number;
  /** Longest sleep; bounds what a producer that died while ringing can delay. */
  readonly parkMs: number;
  readonly onError: (error: unknown) => void;
  /** Does not keep a thread going that has nothing else left to do. */
  readonly isBackground?: boolean;
}

/**
 * Drains rings and slots on a thread with an event loop, without blocking it.
 *
 *            work              pollMs without work           nothing at the second look
 *   polling ------> polling --------------------------> armed --------------------------> asleep
 *      ^                                                  |                                 |
 *      +----------------------- work ---------------------+-------- rung, or parkMs --------+
 *
 * `drain` handles what is waiting, within a bound, and returns how much that was. Between two calls the loop always
 * runs its other events, so a flood cannot starve sockets and timers.
 */
export class LoopConsumer {
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #doorbell: Doorbell;
  readonly #drain: () => number;
  readonly #options: LoopConsumerOptions;
  // A pending waitAsync does not keep an event loop alive; a timer does.
  readonly #keepAlive = setInterval(() => {}, 0x7fff_ffff);
  #quietSinceMs = performance.now();
  #closed = false;

  constructor(memory: SharedMemory, doorbellAt: number, drain: () => number, options: LoopConsumerOptions) {
    this.#words = memory.words;
    this.#doorbell = new Doorbell(memory, doorbellAt);
    this.#drain = drain;
    this.#options = options;
    if (options.isBackground) this.#keepAlive.unref();
    setImmediate(this.#turn);
  }

  /** Stops draining. What is still in the mailboxes stays there for the next consumer. */
  close(): void {
    this.#closed = true;
    clearInterval(this.#keepAlive);
    this.#doorbell.arm();
    this.#doorbell.ring();
  }

  readonly #turn = (): void => {
    if (this.#closed) return;
    if (this.#work() > 0) {
      this.#quietSinceMs = performance.now();
      setImmediate(this.#turn);
    } else if (performance.now() - this.#quietSinceMs < this.#options.pollMs) {
      setImmediate(this.#turn);
    } else {
      this.#sleep();
    }
  };

  #work(): number {
    try {
      return this.#drain();
    } catch (error) {
      this.#options.onError(error);
      return 1;
    }
  }

  #sleep(): void {
    this.#doorbell.arm();
    if (this.#work() > 0) {
      this.#doorbell.disarm();
      this.#quietSinceMs = performance.now();
      setImmediate(this.#turn);
      return;
    }
    const { word, value } = this.#doorbell.sleepsOn;
    const wait = waitAsync(this.#words, word, value, this.#options.parkMs);
    if (!wait.async) {
      setImmediate(this.#turn);
      return;
    }
    void wait.value.then(this.#wake);
  }

  readonly #wake = (): void => {
    this.#doorbell.disarm();
    this.#turn();
  };
}
