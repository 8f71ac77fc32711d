import type { Memory } from './memory.ts';

/** The beating side: one atomic store a beat. */
export class Heartbeat {
  readonly #memory: Memory;
  readonly #word: number;
  #beats: number;

  constructor(memory: Memory, word: number) {
    this.#memory = memory;
    this.#word = word;
    this.#beats = memory.load(word);
  }

  beat(): void {
    this.#beats = (this.#beats + 1) | 0;
    this.#memory.store(this.#word, this.#beats);
  }
}

/** Looks in a row without a beat between them that mean a hang. */
export const LOOKS_TO_HANG = 4;

/**
 * The watching side. It counts its own looks instead of reading a clock, so a machine that was suspended, or a watcher
 * that was itself late, does not take a healthy thread for a hung one.
 */
export class HeartbeatWatch {
  readonly #memory: Memory;
  readonly #word: number;
  #last: number;
  #silentLooks = 0;

  constructor(memory: Memory, word: number) {
    this.#memory = memory;
    this.#word = word;
    this.#last = memory.load(word);
  }

  /** True when the last LOOKS_TO_HANG looks, this one included, saw no beat. */
  hasStopped(): boolean {
    const beats = this.#memory.load(this.#word);
    this.#silentLooks = beats === this.#last ? this.#silentLooks + 1 : 0;
    this.#last = beats;
    return this.#silentLooks >= LOOKS_TO_HANG;
  }
}
