import type { TradeEdge } from '../../protocols/exchange.ts';
import { MERGE_CONTROL, MERGER_TURN } from '../../protocols/merge-layout.ts';
import { TRADE_BYTES } from '../../protocols/trade-layout.ts';
import { BOOK_BUCKETS } from '../../supervision/telemetry/buckets.ts';
import { histogramBytes } from '../../supervision/telemetry/layout.ts';
import { openHistogram } from '../../supervision/telemetry/telemetry.ts';
import { DOORBELL_BYTES, Doorbell } from '../../supervision/threads/doorbell.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { RingConsumer } from '../../supervision/threads/ring.ts';
import { admitToRing, formatRing } from '../../supervision/threads/ring-ends.ts';
import { recordRing, ringBytes } from '../../supervision/threads/ring-layout.ts';
import type { Venue } from '../../venues/venue.ts';
import { BookWriter, bookLayout, createBooks } from '../merger/book-memory.ts';
import type { FrameListener } from './connection.ts';
import { Counters } from './counters.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameSource } from './frame-source.ts';
import { kernelFor } from './kernel.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { Stream } from './stream.ts';
import { TradeWriter } from './trade-writer.ts';

export interface StageOptions {
  readonly venue: Venue;
  /** Streams of its own; all their books go to the one place that it has. */
  readonly streams: ReadonlyMap<string, Stream>;
  readonly frameBytes: number;
  readonly depth: number;
}

/** The doorbell, then the histogram. */
const HISTOGRAM_AT = DOORBELL_BYTES;
const TRADES = recordRing(256, TRADE_BYTES);
/** Somebody who has the turn and does not give it back. */
const STRANGER_TURN = 1 << 30;

/** A reader with memory of its own, where frames can be read that nobody else is to see. */
export class RehearsalStage {
  readonly #streams: ReadonlyMap<string, Stream>;
  readonly #source = new FrameSource('current');
  readonly #reader: FrameReader;
  readonly #listener: Required<FrameListener>;
  readonly #trades: RingConsumer;
  readonly #books: SharedMemory;
  readonly #turn: number;
  readonly #bell: Doorbell;

  /** No merger comes to it, so each book is merged where it is read: at once, or after the time that a spinning merger is given. */
  constructor(options: StageOptions, rehearsal: Rehearsal, isSpinning: boolean, onControl: () => void) {
    const { venue, streams, frameBytes, depth } = options;
    const figures = new SharedArrayBuffer(HISTOGRAM_AT + histogramBytes(BOOK_BUCKETS.boundsNs.length));
    const plan = { venues: [venue.facts.id], symbols: [''], depth };
    const books = createBooks(plan, { buffer: figures, at: 0 }, isSpinning);
    const ring = new SharedMemory(new SharedArrayBuffer(ringBytes(TRADES)));
    formatRing(ring, 0, TRADES);
    const writer = new BookWriter(books, venue.facts.id, MERGER_TURN);
    const reader = new FrameReader({
      newKernel: () => kernelFor(streams.values(), frameBytes, writer),
      venue,
      restUrl: undefined,
      counters: new Counters(),
      decodeTimes: openHistogram({ buffer: figures, at: HISTOGRAM_AT }, BOOK_BUCKETS),
      // It has seen enough and looks away; real frames are shown to it too.
      rehearsal,
      books: writer,
      trades: tradesInto({ worker: 0, buffer: ring.buffer, at: 0, bell: { buffer: figures, at: 0 } }, streams),
      onControl,
      onCovered: () => {},
      onBroken: () => {},
      onMissing: () => {},
    });
    reader.attach(this.#source);
    reader.route(streams);
    this.#reader = reader;
    this.#streams = streams;
    this.#listener = reader.listener(this.#source);
    this.#trades = new RingConsumer(ring, 0, admitToRing(ring, 0, 'consumer'));
    this.#books = new SharedMemory(books.memory.buffer);
    this.#bell = new Doorbell(new SharedMemory(figures), 0);
    this.#turn = (bookLayout(plan).control + MERGE_CONTROL.turn) / 4;
  }

  /** From here on frames are new again, and trades continue some that came before. `isSent`: the kernel publishes even the first book. */
  clear(isSent: boolean): void {
    for (const stream of this.#streams.values()) {
      stream.lastSequence = 0;
      stream.lastTrade = 1n;
    }
    if (isSent) this.#reader.openOutlets();
  }

  /** Makes room for more trades. */
  drain(): void {
    this.#trades.drain(() => {}, TRADES.capacity);
  }

  /** `follows` is the number that a frame before it would have, where the venue counts them. `isLanded`: it has come alone. */
  read(frame: Buffer, follows: number | undefined, isLanded: boolean): void {
    this.#source.frameSequence = follows;
    const { landing } = this.#listener;
    if (isLanded && frame.length <= landing.room.length) {
      landing.room.set(frame);
      landing.landed(0, frame.length);
    } else this.#listener.frame(frame);
  }

  /** Reads a frame while somebody else merges, and goes on merging, and the merger and the worker sleep. */
  readBesideStranger(frame: Buffer, follows: number | undefined): void {
    this.#books.store(this.#turn, STRANGER_TURN);
    this.#bell.arm();
    this.read(frame, follows, true);
    this.#books.store(this.#turn, 0);
  }
}

function tradesInto(edge: TradeEdge, streams: ReadonlyMap<string, Stream>): TradeWriter {
  const writer = new TradeWriter([edge]);
  const symbols = new Set([...streams.values()].map(({ mapped }) => mapped.symbol));
  writer.route([...symbols].map((symbol) => ({ symbol, to: { worker: edge.worker, index: 0 } })));
  return writer;
}
