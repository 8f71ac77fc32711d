import {
  ENTRY_BODY,
  ENTRY_BODY_END,
  ENTRY_BYTES,
  ENTRY_COPY_END,
  ENTRY_ID,
  ENTRY_ID_END,
  ENTRY_KIND,
  ENTRY_SENDER,
  ENTRY_TYPE,
} from './assembly/lib/envelope-contract.ts';
import { KERNEL_ENV, kernelModule } from './load.ts';

interface EnvelopeExports {
  readonly memory: WebAssembly.Memory;
  initialize(inputBytes: number, entryCapacity: number): void;
  configure(bytesMax: number, depth: number): void;
  inputAddress(): number;
  outputAddress(): number;
  entriesAddress(): number;
  entryCount(): number;
  expectedCount(): number;
  consumed(): number;
  begin(ns: bigint): void;
  rewind(): void;
  advance(length: number): number;
}

export interface EnvelopeLimits {
  readonly bytesMax: number;
  readonly depthMax: number;
}

/** The event types whose envelopes can be plain, in the order in which the kernel numbers them. */
export const PLAIN_TYPES = ['quote', 'trade', 'orderbook', 'ohlc'] as const;

const INPUT_BYTES = 2 * 1024 * 1024;
const ENTRIES = 8_192;

/**
 * Reads replies of XREADGROUP and makes rows of plain envelopes; assembly/envelopes.ts says how. The input is bounded: what
 * was read is taken out, and the rest moved to its start, before it is full.
 */
export class EnvelopeKernel {
  readonly #kernel: EnvelopeExports;
  readonly #input: Buffer;
  readonly #output: Buffer;
  readonly #entries: DataView;
  #filled = 0;

  constructor({ bytesMax, depthMax }: EnvelopeLimits, inputBytes = INPUT_BYTES, entryCapacity = ENTRIES) {
    const instance = new WebAssembly.Instance(kernelModule('envelopes'), { env: KERNEL_ENV });
    this.#kernel = instance.exports as unknown as EnvelopeExports;
    this.#kernel.initialize(inputBytes, entryCapacity);
    this.#kernel.configure(Math.min(bytesMax, inputBytes), depthMax);
    const { memory } = this.#kernel;
    const output = this.#kernel.outputAddress();
    this.#input = Buffer.from(memory.buffer, this.#kernel.inputAddress(), inputBytes);
    this.#output = Buffer.from(memory.buffer, output, memory.buffer.byteLength - output);
    this.#entries = new DataView(memory.buffer, this.#kernel.entriesAddress(), entryCapacity * ENTRY_BYTES);
  }

  /** Starts a new reply, read at this time. */
  begin(ns: bigint): void {
    this.#filled = 0;
    this.#kernel.begin(ns);
  }

  /** Appends as many of the bytes as there is room for; answers how many. */
  append(bytes: Buffer, from: number): number {
    const taken = Math.min(bytes.length - from, this.#input.length - this.#filled);
    bytes.copy(this.#input, this.#filled, from, from + taken);
    this.#filled += taken;
    return taken;
  }

  /** Reads on; answers one of REPLY_... */
  advance(): number {
    return this.#kernel.advance(this.#filled);
  }

  get count(): number {
    return this.#kernel.entryCount();
  }

  /** Entries of the reply that are still to come; -1 before its head is read. */
  get expected(): number {
    return this.#kernel.expectedCount();
  }

  kind(entry: number): number {
    return this.#entries.getUint8(entry * ENTRY_BYTES + ENTRY_KIND);
  }
  type(entry: number): number {
    return this.#entries.getUint8(entry * ENTRY_BYTES + ENTRY_TYPE);
  }
  sender(entry: number): number {
    return this.#entries.getUint16(entry * ENTRY_BYTES + ENTRY_SENDER, true);
  }
  idStart(entry: number): number {
    return this.#entries.getUint32(entry * ENTRY_BYTES + ENTRY_ID, true);
  }
  idEnd(entry: number): number {
    return this.#entries.getUint32(entry * ENTRY_BYTES + ENTRY_ID_END, true);
  }
  bodyStart(entry: number): number {
    return this.#entries.getUint32(entry * ENTRY_BYTES + ENTRY_BODY, true);
  }
  bodyEnd(entry: number): number {
    return this.#entries.getUint32(entry * ENTRY_BYTES + ENTRY_BODY_END, true);
  }
  copyEnd(entry: number): number {
    return this.#entries.getUint32(entry * ENTRY_BYTES + ENTRY_COPY_END, true);
  }

  /** A copy of the input that was read so far, and of the rows made of it; places in entries are places in these. */
  takeOut(): { readonly bytes: Buffer; readonly rows: Buffer } {
    const { count } = this;
    const rows = count === 0 ? 0 : this.copyEnd(count - 1);
    return { bytes: copied(this.#input, this.#kernel.consumed()), rows: copied(this.#output, rows) };
  }

  /** Everything that has arrived and was not read. */
  rest(): Buffer {
    return Buffer.from(this.#input.subarray(this.#kernel.consumed(), this.#filled));
  }

  /** Forgets what was read and makes room. */
  rewind(): void {
    const from = this.#kernel.consumed();
    this.#input.copyWithin(0, from, this.#filled);
    this.#filled -= from;
    this.#kernel.rewind();
  }
}

function copied(bytes: Buffer, length: number): Buffer {
  // Not from the pool: a few rows that live long would hold on to all of it.
  const copy = Buffer.allocUnsafeSlow(length);
  bytes.copy(copy, 0, 0, length);
  return copy;
}
