// The hot path of an exchange: a frame in, a book in its slot or trades in their rings, nothing allocated on the way.
import { BOOK_DELTA, BOOK_SENT, BOOK_SNAPSHOT, CONTROL, TRADES } from '../../kernels/assembly/lib/contract.ts';
import { type DecodeKernel, NO_ROUTE, type Walk } from '../../kernels/decode.ts';
import { DECIMALS_DEFAULT } from '../../protocols/book-layout.ts';
import type { ErrorCode } from '../../protocols/errors/index.ts';
import { TRADE, TRADE_BYTES } from '../../protocols/trade-layout.ts';
import type { ControlFrame } from '../../protocols/venue.ts';
import type { SharedHistogram } from '../../supervision/telemetry/histogram.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { judgeCounted } from '../../venues/sequence.ts';
import type { Venue } from '../../venues/venue.ts';
import type { FrameListener } from './connection.ts';
import type { Counters } from './counters.ts';
import { DeltaReader } from './delta-reader.ts';
import type { FrameSource } from './frame-source.ts';
import { refusalCode } from './refusals.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { Stream } from './stream.ts';
import type { BookTarget, TradeTarget } from './targets.ts';
import { TradeHandovers } from './trade-handover.ts';

export interface FrameReaderOptions {
  readonly newKernel: () => DecodeKernel;
  readonly venue: Venue;
  /** None where no snapshot is to be fetched for diffs that stand on one. */
  readonly restUrl: string | undefined;
  readonly counters: Counters;
  /** How long decoding takes, from a frame's arrival. */
  readonly decodeTimes: SharedHistogram | undefined;
  readonly rehearsal: Rehearsal | undefined;
  readonly books: BookTarget | undefined;
  readonly trades: TradeTarget | undefined;
  onControl(source: FrameSource, text: string, atNs: number): void;
  /** The successor has shown that nothing of this stream can fall between it and the old connection. */
  onCovered(stream: Stream, atNs: number): void;
  onBroken(source: FrameSource, stream: Stream, reason: string): void;
  /** Frames of the connection are missing, and nobody knows of which streams. */
  onMissing(source: FrameSource, reason: string): void;
}

/** What a name in a frame stands for: a book, trades, or both. */
interface Route {
  readonly name: string;
  scale: number;
  book: Stream | undefined;
  trades: Stream | undefined;
}

/** What one connection's frames are read with. */
export interface Reading {
  readonly kernel: DecodeKernel;
  readonly walk: Walk;
  readonly tradeView: DataView;
  readonly deltas: DeltaReader;
}

type DataFrame = Extract<ControlFrame, { kind: 'data' }>;
/** What is not even JSON may be of any stream. */
const UNNAMED: DataFrame = { kind: 'data', streams: [], isUnnamed: true };
const UNSEEN = Buffer.alloc(0);
const RENUMBERED_AFTER_NS = 1e9;
const LOSS_AGAIN_NS = 1e9;
/** Decoding is timed of one frame in sixteen, the first among them. */
const TIMED_MASK = 15;

export class FrameReader {
  readonly #options: FrameReaderOptions;
  // What every frame needs, one step nearer than the options.
  readonly #counters: Counters;
  readonly #decodeTimes: SharedHistogram | undefined;
  readonly #rehearsal: Rehearsal | undefined;
  readonly #books: BookTarget | undefined;
  readonly #routes: Route[] = [];
  #streams: ReadonlyMap<string, Stream> = new Map();
  readonly #sources = new Set<FrameSource>();
  readonly #handovers: TradeHandovers;
  /** The venue numbers all frames of a connection, so one missing number puts all its books in doubt. */
  readonly #isNumbered: boolean;
  /** Where there is one book alone, a book that does not name its symbol can be no other. */
  #onlyRoute = NO_ROUTE;
  #onlyScale = DECIMALS_DEFAULT;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
    this.#counters = options.counters;
    this.#decodeTimes = options.decodeTimes;
    this.#rehearsal = options.rehearsal;
    this.#books = options.books;
    this.#isNumbered = Object.values(options.venue.facts.streams).some((one) => one.gapProof === 'connection-sequence');
    this.#handovers = new TradeHandovers((stream, atNs) => options.onCovered(stream, atNs));
  }

  /** Makes frames of a source readable. */
  attach(source: FrameSource): void {
    this.#closeOutlets();
    const kernel = this.#options.newKernel();
    const { buffer, byteOffset, byteLength } = kernel.trades;
    const { venue, restUrl, books, counters, onCovered, onBroken } = this.#options;
    const onSnapshotFailed = (reason: string) => counters.refuse('TW_VENUE_SNAPSHOT', 0, Buffer.from(reason));
    const walk = kernel.walkers[venue.walker.walk]!;
    const options = { walker: venue.walker, walk, restUrl, books, onCovered, onBroken, onSnapshotFailed };
    const deltas = new DeltaReader(options, source, kernel);
    source.reading = { kernel, walk, tradeView: new DataView(buffer, byteOffset, byteLength), deltas };
    this.#sources.add(source);
    for (const [index, route] of this.#routes.entries()) this.#teach(source.reading, route, index);
  }

  #teach({ kernel, deltas }: Reading, route: Route, index: number): void {
    kernel.addRoute(route.name, index, route.scale);
    if (route.book?.kind === 'book-delta') deltas.open(route.book, index);
  }

  /** From now on these streams are read; a stream that left keeps its route and is read to nowhere. */
  route(streams: ReadonlyMap<string, Stream>): void {
    this.#closeOutlets();
    const before = this.#routes.map(({ book, trades }) => [book, trades]);
    this.#streams = streams;
    for (const route of this.#routes) {
      route.book = undefined;
      route.trades = undefined;
    }
    for (const stream of streams.values()) {
      const name = this.#options.venue.walker.routeBy(stream.kind) === 'stream' ? stream.name : stream.mapped.symbol;
      let index = this.#routes.findIndex((known) => known.name === name);
      if (index < 0) {
        index = this.#routes.length;
        this.#routes.push({ name, scale: stream.mapped.scale, book: undefined, trades: undefined });
      }
      const route = this.#routes[index]!;
      route.scale = stream.mapped.scale;
      // A stream that stays keeps the book that it has built.
      const isNew = !(before[index] ?? []).includes(stream);
      if (stream.kind === 'trades') route.trades = stream;
      else route.book = stream;
      if (isNew) for (const source of this.#sources) this.#teach(source.reading!, route, index);
    }
    const booked = this.#routes.filter((route) => route.book?.kind === 'book');
    const only = booked.length === 1 ? booked[0]! : undefined;
    this.#onlyRoute = only === undefined ? NO_ROUTE : this.#routes.indexOf(only);
    this.#onlyScale = only?.scale ?? DECIMALS_DEFAULT;
  }

  /** What a connection calls with the frames of a source. */
  listener(source: FrameSource): Required<FrameListener> {
    // At hand before a frame comes: what it must look up on its way, an imported name above all, is far from the caches by then.
    const now = nowNs;
    const { kernel, walk } = source.reading!;
    return {
      frame: (frame) => {
        const receivedNs = now();
        const code = walk(kernel.take(frame), this.#onlyRoute, this.#onlyScale, receivedNs);
        this.#read(source, code, frame, receivedNs);
        if (this.#isToRehearse(source, receivedNs)) this.#rehearsal!.see(frame, source);
      },
      landing: {
        room: kernel.landing,
        landed: (from, length) => {
          const receivedNs = now();
          const code = walk(kernel.takeLanded(from, length), this.#onlyRoute, this.#onlyScale, receivedNs);
          // A view of it takes as long as decoding, and nobody looks at what is on its way already.
          const frame = code === BOOK_SENT ? UNSEEN : kernel.landed(from, length);
          this.#read(source, code, frame, receivedNs);
          if (this.#isToRehearse(source, receivedNs)) this.#rehearsal!.see(kernel.landed(from, length), source);
        },
      },
    };
  }

  #read(source: FrameSource, code: number, frame: Buffer, receivedNs: number): void {
    // A look at the clock holds the book up by half a microsecond when nothing of it is in the caches.
    const decodedNs = (this.#counters.messages++ & TIMED_MASK) === 0 ? nowNs() : 0;
    this.#take(source, source.reading!, code, frame, receivedNs);
    source.heardNs = receivedNs;
    if (decodedNs > 0) this.#decodeTimes?.record(decodedNs - receivedNs);
    this.#books?.finish();
  }

  /** Whether the frame that was just read had market data, of which the rehearsal has not seen enough. */
  #isToRehearse(source: FrameSource, receivedNs: number): boolean {
    return this.#rehearsal?.isWatching === true && source.dataNs === receivedNs;
  }

  #take(source: FrameSource, reading: Reading, code: number, frame: Buffer, receivedNs: number): void {
    if (this.#isNumbered && (code === BOOK_DELTA || code === TRADES)) {
      if (!this.isNextFrame(source, reading.kernel.sequence)) return;
    }
    switch (code) {
      case BOOK_SENT:
        this.#sent(source, reading.kernel, receivedNs);
        break;
      case BOOK_SNAPSHOT:
        this.#book(source, reading.kernel, receivedNs);
        break;
      case BOOK_DELTA:
        reading.deltas.read(frame, receivedNs);
        break;
      case TRADES:
        this.#trades(source, reading, receivedNs);
        break;
      case CONTROL:
        this.#options.onControl(source, frame.toString('utf8'), receivedNs);
        break;
      default:
        this.#refuse(source, reading, refusalCode(code), frame);
    }
  }

  #refuse(source: FrameSource, reading: Reading, code: ErrorCode, frame: Buffer): void {
    this.#counters.refuse(code, reading.kernel.failedAt, frame);
    const said = this.#options.venue.dialect.classify(frame.toString('utf8'));
    if (said.kind !== 'data' && said.kind !== 'unknown') return;
    if (said.sequence !== undefined && !this.isNextFrame(source, said.sequence)) return;
    this.miss(source, said.kind === 'data' ? said : UNNAMED, `a frame was refused: ${code}`);
  }

  /**
   * Whatever a frame that cannot be read says is missing from now on in the streams that it names; and where it does not
   * name all of them, in every stream in which no number would show that. True when it was of any of ours.
   */
  miss(source: FrameSource, { streams, isUnnamed = false }: DataFrame, reason: string): boolean {
    const isIn = (stream: Stream) => streams.includes(stream.name) || (isUnnamed && !stream.showsHoles);
    const missing = [...this.#streams.values()].filter(isIn);
    for (const stream of missing) {
      if (stream.kind === 'trades') stream.hasUntoldLoss = true;
      else if (stream.kind === 'book-delta') {
        const { deltas } = source.reading!;
        if (streams.includes(stream.name)) deltas.miss(stream, reason);
        else deltas.doubt(stream, reason);
      } else if (source.role === 'current') {
        stream.isBroken = true;
        this.#books?.leaveOut(stream.symbol);
      }
    }
    return missing.length > 0;
  }

  /** Of a venue that numbers all frames of a connection: false when the frame is old, or proves that others are missing. */
  isNextFrame(source: FrameSource, sequence: number): boolean {
    const verdict = judgeCounted(source.frameSequence, sequence);
    if (verdict === 'next') source.frameSequence = sequence;
    if (verdict === 'gap') {
      for (const stream of this.#streams.values()) stream.gaps++;
      this.#options.onMissing(source, `frames ${source.frameSequence! + 1} to ${sequence - 1} are missing`);
    }
    return verdict === 'next';
  }

  /** A new book goes first; what is noted about it can wait. */
  #book(source: FrameSource, kernel: DecodeKernel, receivedNs: number): void {
    const { route, sequence } = kernel;
    const stream = this.#routes[route]?.book;
    if (stream === undefined) return;
    const { lastSequence } = stream;
    source.dataNs = receivedNs;
    if (sequence < lastSequence && !this.#isRenumbered(stream, receivedNs)) {
      stream.heardOld(receivedNs);
      return;
    }
    // The same book again brings back one that a frame which could not be read has put in doubt.
    const isNew = sequence !== lastSequence || stream.isBroken;
    if (isNew) this.#books?.publish(stream.symbol, kernel.book, stream.countsAfter(receivedNs));
    else stream.duplicates++;
    this.#note(source, stream, sequence, receivedNs);
    if (isNew) this.#openOutlet(kernel, route, stream);
  }

  /** The kernel has published the book itself. */
  #sent(source: FrameSource, kernel: DecodeKernel, receivedNs: number): void {
    const stream = this.#routes[kernel.route]!.book!;
    source.dataNs = receivedNs;
    this.#books!.outlet!.noteSent(stream.symbol);
    this.#note(source, stream, kernel.sequence, receivedNs);
  }

  #note(source: FrameSource, stream: Stream, sequence: number, receivedNs: number): void {
    stream.isBroken = false;
    stream.lastSequence = sequence;
    stream.behindNs = 0;
    stream.heard(receivedNs);
    // Each snapshot stands alone, so the first one of a successor that is not older covers the stream.
    if (source.role === 'successor') this.#options.onCovered(stream, receivedNs);
  }

  /** Lets the kernel publish what follows itself. While two connections bring the same stream, neither kernel knows what is newer. */
  #openOutlet(kernel: DecodeKernel, route: number, stream: Stream): void {
    if (this.#sources.size > 1) return;
    const place = this.#books?.outlet?.placeOf(stream.symbol);
    if (place !== undefined) kernel.openOutlet(route, place, stream.lastSequence, stream.patienceMs);
  }

  /** The same for every stream, from its last book on. */
  openOutlets(): void {
    for (const { reading } of this.#sources) {
      for (const [index, { book }] of this.#routes.entries()) {
        if (book?.kind === 'book') this.#openOutlet(reading!.kernel, index, book);
      }
    }
  }

  #closeOutlets(): void {
    for (const { reading } of this.#sources) reading!.kernel.closeOutlets();
  }

  /** One old frame or trade came out of order; nothing but old ones for a while means that the venue counts anew. */
  #isRenumbered(stream: Stream, receivedNs: number): boolean {
    if (stream.behindNs === 0) stream.behindNs = receivedNs;
    if (receivedNs - stream.behindNs < RENUMBERED_AFTER_NS) return false;
    stream.gaps++;
    return true;
  }

  #trades(source: FrameSource, { kernel, tradeView: view }: Reading, receivedNs: number): void {
    source.dataNs = receivedNs;
    const { trades, count } = kernel;
    for (let trade = 0; trade < count; trade++) {
      const offset = trade * TRADE_BYTES;
      const stream = this.#routes[view.getUint32(offset + TRADE.symbol, true)]?.trades;
      if (stream === undefined) continue;
      stream.heard(receivedNs);
      if (!this.#isNext(source, stream, view.getBigUint64(offset + TRADE.sequence, true), receivedNs)) continue;
      if (this.#tellLoss(stream, receivedNs) && this.#write(stream, trades, offset)) continue;
      this.#counters.tradesRefused++;
      stream.hasUntoldLoss = true;
    }
  }

  #write(stream: Stream, trades: Uint8Array, offset: number): boolean {
    return this.#options.trades?.write(stream.mapped.symbol, trades, offset) ?? true;
  }

  /** False while there is no room to tell it: then nothing may follow either. */
  #tellLoss(stream: Stream, nowNs: number): boolean {
    if (!stream.hasUntoldLoss) return true;
    stream.hasUntoldLoss = !(this.#options.trades?.lose(stream.mapped.symbol) ?? true);
    stream.lossToldNs = nowNs;
    return !stream.hasUntoldLoss;
  }

  /** Tells losses that no trade follows yet. While a stream is down its trades are being lost all the time. */
  tellLosses(streams: Iterable<Stream>, nowNs: number): void {
    for (const stream of streams) {
      if (stream.kind !== 'trades') continue;
      if (stream.downNs > 0 && nowNs - stream.lossToldNs > LOSS_AGAIN_NS) stream.hasUntoldLoss = true;
      this.#tellLoss(stream, nowNs);
    }
  }

  /** Passes a trade on once, whichever connection brings it first; holes are counted, and repaired by who sums the bars. */
  #isNext(source: FrameSource, stream: Stream, sequence: bigint, receivedNs: number): boolean {
    const verdict = this.#handovers.admit(source.role, stream, sequence, receivedNs);
    if (verdict !== undefined) {
      if (verdict === 'duplicate') stream.duplicates++;
      else stream.lastTrade = sequence;
      return verdict === 'deliver';
    }
    const last = stream.lastTrade;
    if (sequence <= last) {
      // Where ids leave numbers out, an older one may be late and not a duplicate: whoever sums them remembers more.
      const isSparse = stream.gapProof === 'ordered-trade-id';
      if (isSparse && sequence !== last) return true;
      if (isSparse || !this.#isRenumbered(stream, receivedNs)) {
        stream.duplicates++;
        return false;
      }
    }
    if (last > 0n && sequence > last + 1n && stream.gapProof === 'dense-trade-id') stream.gaps++;
    stream.lastTrade = sequence;
    stream.behindNs = 0;
    return true;
  }

  /** A successor is being opened. */
  beginHandover(streams: Iterable<Stream>): void {
    this.#handovers.begin(streams);
  }

  /** The successor is the connection now. `uncovered` streams may have a hole. */
  endHandover(source: FrameSource, uncovered: readonly Stream[]): void {
    this.#handovers.end();
    for (const stream of uncovered) {
      stream.gaps++;
      stream.hasUntoldLoss = true;
    }
    source.reading?.deltas.publishAll(source.heardNs);
  }

  /** The connection is gone, and with it the books that stood on its frames. */
  forget(source: FrameSource): void {
    if (source.role === 'successor') this.#handovers.forget();
    source.reading?.deltas.close();
    this.#sources.delete(source);
    this.openOutlets();
  }
}
