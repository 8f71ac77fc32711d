/**
 * The few operations that every shared-memory mailbox is written against. A word is a 32-bit integer, addressed by its
 * index from the start of the buffer; payloads are addressed by byte.
 *
 * In production this is `SharedMemory`: each method is one Atomics call or one typed-array access, which V8 inlines
 * because no other implementation is loaded (`npm run bench -- mailbox` reports the cost beside hand-written Atomics).
 * `test/loom` binds the same mailbox code to a simulated memory, stops it at every atomic operation, and tries all orders.
 */
export interface Memory {
  readonly byteLength: number;

  load(word: number): number;
  store(word: number, value: number): void;
  /** Stores and returns what was there before, in one step. */
  exchange(word: number, value: number): number;
  /** Stores `value` if the word holds `expected`, and returns what was there before, in one step. */
  compareExchange(word: number, expected: number, value: number): number;
  /** Adds and returns what was there before, in one step. */
  add(word: number, value: number): number;
  /** Sleeps while the word holds `expected`, until notified or until the time is up. */
  wait(word: number, expected: number, timeoutMs: number): WaitResult;
  /** Wakes everything that sleeps on the word; the answer is how many that were. */
  notify(word: number): number;

  /** Plain accesses: correct only where an atomic operation orders them (docs/memory-ordering.md says which). */
  get(word: number): number;
  set(word: number, value: number): void;
  write(byte: number, source: Uint8Array): void;
  read(byte: number, target: Uint8Array): void;
}

export type WaitResult = 'ok' | 'not-equal' | 'timed-out';

/** A SharedArrayBuffer, or the buffer of a shared WebAssembly.Memory, as the mailboxes see it. */
export class SharedMemory implements Memory {
  readonly words: Int32Array<SharedArrayBuffer>;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly byteLength: number;

  constructor(buffer: SharedArrayBuffer) {
    this.words = new Int32Array(buffer);
    this.bytes = new Uint8Array(buffer);
    this.byteLength = buffer.byteLength;
  }

  get buffer(): SharedArrayBuffer {
    return this.words.buffer;
  }

  load(word: number): number {
    return Atomics.load(this.words, word);
  }

  store(word: number, value: number): void {
    Atomics.store(this.words, word, value);
  }

  exchange(word: number, value: number): number {
    return Atomics.exchange(this.words, word, value);
  }

  compareExchange(word: number, expected: number, value: number): number {
    return Atomics.compareExchange(this.words, word, expected, value);
  }

  add(word: number, value: number): number {
    return Atomics.add(this.words, word, value);
  }

  wait(word: number, expected: number, timeoutMs: number): WaitResult {
    return Atomics.wait(this.words, word, expected, timeoutMs);
  }

  notify(word: number): number {
    return Atomics.notify(this.words, word);
  }

  get(word: number): number {
    return this.words[word]!;
  }

  set(word: number, value: number): void {
    this.words[word] = value;
  }

  write(byte: number, source: Uint8Array): void {
    this.bytes.set(source, byte);
  }

  read(byte: number, target: Uint8Array): void {
    target.set(this.bytes.subarray(byte, byte + target.length));
  }
}
