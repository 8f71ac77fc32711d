// V8 interprets what it has not run some thousand times, and a feed of ten frames a second is read by interpreted code for
// a quarter of an hour: slowly, and with long tails. So the first books and trades of a life are read again and again, into
// memory of their own, a few between real ones, until the path is compiled.

import { MERGER_TURN } from '../../protocols/merge-layout.ts';
import { BOOK_BUCKETS } from '../../supervision/telemetry/buckets.ts';
import { openHistogram } from '../../supervision/telemetry/telemetry.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import type { Venue } from '../../venues/venue.ts';
import { BookWriter, createBooks } from '../merger/book-memory.ts';
import { Counters } from './counters.ts';
import { FrameReader } from './frame-reader.ts';
import { kernelFor } from './kernel.ts';
import type { FrameSource } from './link.ts';
import type { Stream } from './stream.ts';
import { TradeWriter } from './trade-writer.ts';

const FRAMES = 8;
/** After about so many calls V8 has compiled even the small functions. */
const READS = 10_000;
/** It takes at most a tenth of a second: a venue that begins with a book of megabytes sends enough to be compiled without. */
const BYTES = 64 << 20;

export interface RehearsalOptions {
  readonly venue: Venue;
  /** Streams of its own; all their books go to the one place that it has. */
  readonly streams: ReadonlyMap<string, Stream>;
  readonly frameBytes: number;
  readonly depth: number;
}

interface KeptFrame {
  readonly frame: Buffer;
  /** The number that a frame before it would have, where the venue counts them. */
  readonly follows: number | undefined;
}

export class Rehearsal {
  readonly #options: RehearsalOptions;
  #frames: KeptFrame[] = [];
  #readsLeft = READS;
  #bytesLeft = BYTES;

  constructor(options: RehearsalOptions) {
    this.#options = options;
  }

  get isOver(): boolean {
    return this.#readsLeft <= 0 || this.#bytesLeft <= 0;
  }

  /** Shows it a frame of market data that was just read. */
  see(frame: Buffer, { frameSequence }: FrameSource): void {
    if (this.#frames.length === FRAMES || this.isOver) return;
    this.#frames.push({ frame, follows: frameSequence === undefined ? undefined : frameSequence - 1 });
    if (this.#frames.length === FRAMES) this.#then(() => this.#begin());
  }

  #begin(): void {
    const { venue, streams, frameBytes, depth } = this.#options;
    const words = new SharedArrayBuffer(4096);
    const plan = { venues: [venue.facts.id], symbols: [''], depth };
    const reader = new FrameReader<FrameSource>({
      newKernel: () => kernelFor(streams.values(), frameBytes, depth),
      venue: { ...venue, walker: { ...venue.walker, snapshot: undefined } },
      restUrl: '',
      counters: new Counters(),
      decodeTimes: openHistogram({ buffer: words, at: 1024 }, BOOK_BUCKETS),
      rehearsal: undefined,
      // No merger comes here, so each book is merged where it is read: that is rehearsed too.
      books: new BookWriter(createBooks(plan, { buffer: words, at: 0 }, false), venue.facts.id, MERGER_TURN),
      trades: new TradeWriter([]),
      onControl: () => {},
      onCovered: () => {},
      onBroken: () => {},
      onMissing: () => {},
    });
    const source: FrameSource = {
      role: 'current',
      heardNs: 0,
      dataNs: 0,
      frameSequence: undefined,
      reading: undefined,
    };
    reader.attach(source);
    reader.route(streams);
    this.#round(reader, source);
  }

  #round(reader: FrameReader<FrameSource>, source: FrameSource): void {
    for (const stream of this.#options.streams.values()) {
      stream.lastSequence = 0;
      stream.lastTrade = 0n;
    }
    for (const { frame, follows } of this.#frames) {
      source.frameSequence = follows;
      reader.read(source, frame, nowNs());
      this.#readsLeft--;
      this.#bytesLeft -= frame.length;
    }
    if (this.isOver) this.#frames = [];
    else this.#then(() => this.#round(reader, source));
  }

  /** Between real frames. A rehearsal that fails, for want of memory perhaps, is given up: the real thing does not need it. */
  #then(step: () => void): void {
    setImmediate(() => {
      try {
        step();
      } catch {
        this.#readsLeft = 0;
        this.#frames = [];
      }
    });
  }
}
