// One gRPC stream of summaries. It holds at most the latest summary of each of its symbols, so a subscriber that stalls
// costs a bounded number of buffers and nobody else's time.
//
//   ready --WRITES_MAX unconfirmed writes--> busy --a write is confirmed--> ready
//                                              |
//                                              +-- busy for `cutSlowAfterMs` --> cut
import { systemClock } from '../../supervision/clock.ts';
import { ProtoWriter, VARINT } from './proto-writer.ts';

/** What a subscriber writes to; a gRPC call is one. */
export interface SummarySink {
  write(bytes: Buffer, confirmed: () => void): void;
}

/** Writes that may be on their way; enough to keep the connection busy, few enough to stay fresh. */
export const WRITES_MAX = 4;

interface Waiting {
  bytes: Buffer;
  skipped: number;
  /** Not before this time: the subscriber asked for a minimum interval. */
  dueMs: number;
}

export class Subscriber {
  readonly depth: number;
  readonly minIntervalMs: number;
  readonly #sink: SummarySink;
  readonly #now: () => number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #sentMs = new Map<number, number>();
  /** Sizes of the writes on their way, in their order; they are confirmed in that order. */
  readonly #sizes = new Uint32Array(WRITES_MAX);
  #firstSize = 0;
  #unconfirmed = 0;
  #unconfirmedBytes = 0;
  #busySinceMs: number | undefined;
  #cancelFlush: (() => void) | undefined;
  /** When the flush that is planned is due. */
  #flushMs = 0;
  #isClosed = false;
  delivered = 0;
  skipped = 0;

  constructor(sink: SummarySink, options: { depth: number; minIntervalMs: number; now: () => number }) {
    this.depth = options.depth;
    this.minIntervalMs = options.minIntervalMs;
    this.#sink = sink;
    this.#now = options.now;
  }

  /** The latest summary of a symbol. Same bytes for every subscriber. */
  offer(symbol: number, bytes: Buffer): void {
    const waiting = this.#waiting.get(symbol);
    if (waiting !== undefined) {
      waiting.bytes = bytes;
      // Within the interval that it asked for, a subscriber misses nothing that it wanted.
      if (this.#unconfirmed >= WRITES_MAX) waiting.skipped++;
      return;
    }
    const dueMs = this.minIntervalMs === 0 ? 0 : (this.#sentMs.get(symbol) ?? -Infinity) + this.minIntervalMs;
    if (this.#unconfirmed < WRITES_MAX && (dueMs === 0 || dueMs <= this.#now())) this.#write(symbol, bytes, 0);
    else {
      this.#waiting.set(symbol, { bytes, skipped: 0, dueMs });
      this.#flushLater(dueMs);
    }
  }

  /** How long it has not taken a single summary, in milliseconds; 0 while it takes them. */
  busyForMs(nowMs: number): number {
    return this.#busySinceMs === undefined ? 0 : nowMs - this.#busySinceMs;
  }

  /** What is held for it: summaries that wait for their turn, and those that it has not taken off our hands. */
  get heldBytes(): number {
    let bytes = this.#unconfirmedBytes;
    for (const waiting of this.#waiting.values()) bytes += waiting.bytes.length;
    return bytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#cancelFlush?.();
  }

  #write(symbol: number, bytes: Buffer, skipped: number): void {
    if (this.minIntervalMs > 0) this.#sentMs.set(symbol, this.#now());
    this.delivered++;
    this.skipped += skipped;
    const message = skipped === 0 ? bytes : withSkipped(bytes, skipped);
    this.#sizes[(this.#firstSize + this.#unconfirmed) % WRITES_MAX] = message.length;
    this.#unconfirmedBytes += message.length;
    this.#unconfirmed++;
    if (this.#unconfirmed === WRITES_MAX) this.#busySinceMs = this.#now();
    this.#sink.write(message, this.#confirmed);
  }

  readonly #confirmed = (): void => {
    if (this.#isClosed) return;
    this.#unconfirmedBytes -= this.#sizes[this.#firstSize]!;
    this.#firstSize = (this.#firstSize + 1) % WRITES_MAX;
    this.#unconfirmed--;
    this.#busySinceMs = undefined;
    this.#flush();
  };

  /** Symbols that waited longest go first: a map keeps the order of insertion. */
  #flush(): void {
    const nowMs = this.#waiting.size > 0 && this.minIntervalMs > 0 ? this.#now() : Infinity;
    for (const [symbol, { bytes, skipped, dueMs }] of this.#waiting) {
      if (this.#unconfirmed >= WRITES_MAX) return;
      if (dueMs > nowMs) {
        this.#flushLater(dueMs);
        continue;
      }
      this.#waiting.delete(symbol);
      this.#write(symbol, bytes, skipped);
    }
  }

  #flushLater(dueMs: number): void {
    if (dueMs === 0 || (this.#cancelFlush !== undefined && this.#flushMs <= dueMs)) return;
    this.#cancelFlush?.();
    this.#flushMs = dueMs;
    const flush = () => {
      this.#cancelFlush = undefined;
      if (!this.#isClosed) this.#flush();
    };
    this.#cancelFlush = systemClock.after(Math.max(0, Math.ceil(dueMs - this.#now())), flush);
  }
}

/** Protobuf takes fields in any order, so what is a subscriber's own goes behind what is everyone's. */
function withSkipped(bytes: Buffer, skipped: number): Buffer {
  const suffix = new ProtoWriter(16);
  suffix.tag(16, VARINT);
  suffix.varint(skipped);
  return Buffer.concat([bytes, suffix.bytes.subarray(0, suffix.length)]);
}
