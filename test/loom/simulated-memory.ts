import type { Memory, WaitResult } from '../../src/supervision/threads/memory.ts';

/**
 * Memory as a set of threads sees it, with everything the race detector must know, in one flat array that is cheap to
 * copy: the explorer keeps one copy for each point at which it may choose another thread.
 *
 * Happens-before is tracked by vector clocks. Atomics of JavaScript are sequentially consistent: an atomic store or
 * read-modify-write releases the thread's clock into the word, an atomic load or read-modify-write acquires it. Two
 * accesses of one word of which at least one writes and at least one is plain are a race unless a clock orders them.
 * For a program without races, sequentially consistent interleavings of its atomic operations are all there is
 * (ECMA-262, memory model), so trying those is enough.
 */
const PLAIN_READ = 0;
const PLAIN_WRITE = 1;
const ATOMIC_READ = 2;
const ATOMIC_WRITE = 3;
const KINDS = 4;
const NAMES = ['plain read', 'plain write', 'atomic read', 'atomic write'];

export type Operation =
  | { readonly kind: 'load' | 'notify'; readonly word: number }
  | { readonly kind: 'store' | 'exchange' | 'add' | 'wait'; readonly word: number; readonly value: number }
  | { readonly kind: 'compare'; readonly word: number; readonly expected: number; readonly value: number }
  | { readonly kind: 'get'; readonly word: number }
  | { readonly kind: 'set'; readonly word: number; readonly value: number }
  | { readonly kind: 'join'; readonly word: number };

/** A mailbox that must not be overrun is placed so that it ends where the memory ends. */
export const SIMULATED_BYTES = 1 << 20;

export class Race extends Error {}

/** Words that a scenario may touch; the real addresses are mapped onto as many cells as are used. */
const WORDS_MAX = 96;

export class SimulatedState {
  readonly #threads: number;
  readonly #cellOf: Map<number, number>;
  readonly #data: Int32Array;

  constructor(threads: number, from?: SimulatedState) {
    this.#threads = threads;
    this.#cellOf = from === undefined ? new Map() : from.#cellOf;
    const perWord = 1 + threads + threads * KINDS;
    this.#data = from === undefined ? new Int32Array(WORDS_MAX * perWord + threads * threads) : from.#data.slice();
    if (from === undefined)
      for (let thread = 0; thread < threads; thread++) this.#data[this.#clockAt(thread) + thread] = 1;
  }

  copy(): SimulatedState {
    return new SimulatedState(this.#threads, this);
  }

  peek(word: number): number {
    return this.#data[this.#cell(word)]!;
  }

  poke(word: number, value: number): void {
    this.#data[this.#cell(word)] = value;
  }

  /** Carries out an operation of a thread at once and returns its result; waiting and joining are the explorer's. */
  perform(thread: number, operation: Operation): number {
    const { word } = operation;
    const before = this.peek(word);
    switch (operation.kind) {
      case 'get':
        this.#access(thread, word, PLAIN_READ);
        return before;
      case 'set':
        this.#access(thread, word, PLAIN_WRITE);
        this.poke(word, operation.value | 0);
        return 0;
      case 'load':
      case 'wait':
        this.#access(thread, word, ATOMIC_READ);
        this.#acquire(thread, word);
        return before;
      case 'store':
        this.#access(thread, word, ATOMIC_WRITE);
        this.#release(thread, word, false);
        this.poke(word, operation.value | 0);
        return 0;
      case 'compare':
        // One that fails is a load: it acquires what it saw and publishes nothing.
        if (before !== operation.expected) return this.perform(thread, { kind: 'load', word });
        return this.perform(thread, { kind: 'exchange', word, value: operation.value });
      case 'exchange':
      case 'add':
        this.#access(thread, word, ATOMIC_WRITE);
        this.#acquire(thread, word);
        this.#release(thread, word, true);
        this.poke(word, operation.kind === 'add' ? (before + operation.value) | 0 : operation.value | 0);
        return before;
      default:
        throw new Error(`${operation.kind} is not a memory access`);
    }
  }

  /** Everything `from` has done so far happens before what `to` does next. */
  order(from: number, to: number): void {
    this.#join(this.#clockAt(to), this.#clockAt(from));
    this.#tick(from);
  }

  #cell(word: number): number {
    let cell = this.#cellOf.get(word);
    if (cell === undefined) {
      cell = this.#cellOf.size;
      if (cell >= WORDS_MAX) throw new Error(`a scenario touches more than ${WORDS_MAX} words`);
      this.#cellOf.set(word, cell);
    }
    return cell;
  }

  #clockAt(thread: number): number {
    return WORDS_MAX * (1 + this.#threads + this.#threads * KINDS) + thread * this.#threads;
  }

  #releaseAt(word: number): number {
    return WORDS_MAX + this.#cell(word) * this.#threads;
  }

  #accessAt(word: number, thread: number): number {
    return WORDS_MAX * (1 + this.#threads) + (this.#cell(word) * this.#threads + thread) * KINDS;
  }

  #tick(thread: number): void {
    this.#data[this.#clockAt(thread) + thread]!++;
  }

  #join(target: number, source: number): void {
    for (let each = 0; each < this.#threads; each++) {
      this.#data[target + each] = Math.max(this.#data[target + each]!, this.#data[source + each]!);
    }
  }

  #acquire(thread: number, word: number): void {
    this.#join(this.#clockAt(thread), this.#releaseAt(word));
  }

  #release(thread: number, word: number, keepEarlier: boolean): void {
    const target = this.#releaseAt(word);
    if (!keepEarlier) this.#data.fill(0, target, target + this.#threads);
    this.#join(target, this.#clockAt(thread));
    this.#tick(thread);
  }

  #access(thread: number, word: number, kind: number): void {
    const clock = this.#clockAt(thread);
    for (let other = 0; other < this.#threads; other++) {
      if (other === thread) continue;
      for (let earlier = 0; earlier < KINDS; earlier++) {
        const bothAtomic = kind >= ATOMIC_READ && earlier >= ATOMIC_READ;
        const bothRead = kind % 2 === 0 && earlier % 2 === 0;
        if (bothAtomic || bothRead) continue;
        if (this.#data[this.#accessAt(word, other) + earlier]! > this.#data[clock + other]!) {
          const what = `${NAMES[kind]} by thread ${thread} and ${NAMES[earlier]} by thread ${other}`;
          throw new Race(`race on word ${word}: ${what} are not ordered`);
        }
      }
    }
    this.#data[this.#accessAt(word, thread) + kind] = this.#data[clock + thread]!;
  }
}

/** What a program's memory asks of the explorer: the result of an operation, or to stop here. */
export type Perform = (operation: Operation) => number;

const WAIT_RESULTS: readonly WaitResult[] = ['ok', 'not-equal', 'timed-out'];
export const WOKEN = 0;
export const NOT_EQUAL = 1;
export const TIMED_OUT = 2;

/** The interface of production code, each call handed on as an operation. */
export class SimulatedMemory implements Memory {
  readonly byteLength = SIMULATED_BYTES;
  readonly #perform: Perform;

  constructor(perform: Perform) {
    this.#perform = (operation) => {
      const { kind, word } = operation;
      const inside = Number.isInteger(word) && word >= 0 && word < SIMULATED_BYTES / 4;
      if (kind !== 'join' && !inside) throw new RangeError(`${kind} of word ${word}, outside of the memory`);
      return perform(operation);
    };
  }

  load(word: number): number {
    return this.#perform({ kind: 'load', word });
  }

  store(word: number, value: number): void {
    this.#perform({ kind: 'store', word, value });
  }

  exchange(word: number, value: number): number {
    return this.#perform({ kind: 'exchange', word, value });
  }

  compareExchange(word: number, expected: number, value: number): number {
    return this.#perform({ kind: 'compare', word, expected, value });
  }

  add(word: number, value: number): number {
    return this.#perform({ kind: 'add', word, value });
  }

  wait(word: number, expected: number, _timeoutMs: number): WaitResult {
    return WAIT_RESULTS[this.#perform({ kind: 'wait', word, value: expected })]!;
  }

  notify(word: number): number {
    return this.#perform({ kind: 'notify', word });
  }

  get(word: number): number {
    return this.#perform({ kind: 'get', word });
  }

  set(word: number, value: number): void {
    this.#perform({ kind: 'set', word, value });
  }

  write(byte: number, source: Uint8Array): void {
    const words = new Int32Array(source.slice().buffer);
    for (let index = 0; index < words.length; index++) this.set(byte / 4 + index, words[index]!);
  }

  read(byte: number, target: Uint8Array): void {
    const words = new Int32Array(target.length / 4);
    for (let index = 0; index < words.length; index++) words[index] = this.get(byte / 4 + index);
    target.set(new Uint8Array(words.buffer));
  }
}
