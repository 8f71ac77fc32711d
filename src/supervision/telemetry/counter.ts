import { WORD_BYTES } from '../threads/layout.ts';
import type { Memory } from '../threads/memory.ts';

const WRAP = 0x1_0000_0000;

/** Adds to the count at a word: one atomic add, and one more each time its lower half wraps. */
export function addToCount(memory: Memory, word: number, amount: number): void {
  const before = memory.add(word, amount) >>> 0;
  if (before + amount >= WRAP) memory.add(word + 1, 1);
}

/** The count at a word. Between a wrap and its note in the upper half it is short by 2^32; see `CountReader`. */
export function readCount(memory: Memory, word: number): number {
  const high = memory.load(word + 1) >>> 0;
  return high * WRAP + (memory.load(word) >>> 0);
}

/** A count that any thread adds to. Amounts are whole and from 0 to 2^31 - 1. */
export class SharedCounter {
  readonly #memory: Memory;
  readonly #word: number;

  constructor(memory: Memory, at: number) {
    this.#memory = memory;
    this.#word = at / WORD_BYTES;
  }

  add(amount = 1): void {
    addToCount(this.#memory, this.#word, amount);
  }
}

/** Reads a count so that it never goes back: a look in the middle of a wrap shows what was shown before. */
export class CountReader {
  readonly #memory: Memory;
  readonly #word: number;
  #highest = 0;

  constructor(memory: Memory, at: number) {
    this.#memory = memory;
    this.#word = at / WORD_BYTES;
  }

  read(): number {
    this.#highest = Math.max(this.#highest, readCount(this.#memory, this.#word));
    return this.#highest;
  }
}
