/**
 * The books of a stress run, in shared memory, so that they outlive the threads that are killed. The producer writes
 * ATTEMPTS, the consumer the rest; the test reads when both have ended.
 */
export const LIVES_MAX = 2048;

const ATTEMPTS = 0;
const CONSUMED = LIVES_MAX;
const LAST = 2 * LIVES_MAX;
const TORN = 3 * LIVES_MAX;
const DISORDER = TORN + 1;
const LATEST_LIFE = TORN + 2;
export const LEDGER_BYTES = 4 * (TORN + 64);

export class Ledger {
  readonly #words: Int32Array;

  constructor(buffer: SharedArrayBuffer, at: number) {
    this.#words = new Int32Array(buffer, at, LEDGER_BYTES / 4);
  }

  /** By the producer: this many values of this life were offered, each with the next number from 1. */
  offered(life: number, count: number): void {
    Atomics.store(this.#words, ATTEMPTS + life, count);
  }

  /** By the consumer: a value arrived whole. Numbers rise within a life, and lives rise. */
  arrived(life: number, number: number): void {
    const latest = this.#words[LATEST_LIFE]!;
    const inOrder = life >= latest && life < LIVES_MAX && number > this.#words[LAST + life]!;
    if (!inOrder) {
      Atomics.add(this.#words, DISORDER, 1);
      return;
    }
    this.#words[LATEST_LIFE] = life;
    this.#words[LAST + life] = number;
    Atomics.add(this.#words, CONSUMED + life, 1);
  }

  torn(): void {
    Atomics.add(this.#words, TORN, 1);
  }

  /**
   * What the books say. A producer may be killed after it published and before it noted the attempt, so what arrived may
   * be one more than what was noted in a life, never two.
   */
  audit() {
    let offered = 0;
    let consumed = 0;
    let invented = 0;
    for (let life = 0; life < LIVES_MAX; life++) {
      const noted = Atomics.load(this.#words, ATTEMPTS + life);
      const last = this.#words[LAST + life]!;
      if (last > noted + 1) invented++;
      offered += Math.max(noted, last);
      consumed += Atomics.load(this.#words, CONSUMED + life);
    }
    const torn = Atomics.load(this.#words, TORN);
    const disorder = Atomics.load(this.#words, DISORDER);
    return { offered, consumed, missing: offered - consumed, invented, torn, disorder };
  }

  lastOf(life: number): { readonly offered: number; readonly arrived: number } {
    return { offered: Atomics.load(this.#words, ATTEMPTS + life), arrived: this.#words[LAST + life]! };
  }
}
