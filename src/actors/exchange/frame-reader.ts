// The hot path of an exchange: a frame in, a book in its slot or trades in their rings, nothing allocated on the way.
import { BOOK_SNAPSHOT, CONTROL, TRADES } from '../../kernels/assembly/lib/contract.ts';
import type { DecodeKernel } from '../../kernels/decode.ts';
import { TRADE, TRADE_BYTES } from '../../protocols/trade-layout.ts';
import type { Venue } from '../../venues/venue.ts';
import type { Counters } from './counters.ts';
import type { Link } from './link.ts';
import { refusalCode } from './refusals.ts';
import type { Stream } from './stream.ts';
import type { BookTarget, TradeTarget } from './targets.ts';
import { TradeHandovers } from './trade-handover.ts';

export interface FrameReaderOptions {
  readonly kernel: DecodeKernel;
  readonly venue: Venue;
  readonly restUrl: string;
  readonly counters: Counters;
  readonly books: BookTarget | undefined;
  readonly trades: TradeTarget | undefined;
  onControl(link: Link, text: string, atNs: number): void;
  /** The successor has shown that nothing of this stream can fall between it and the old connection. */
  onCovered(stream: Stream, atNs: number): void;
  onBroken(link: Link, stream: Stream, reason: string): void;
}

/** What a name in a frame stands for: a book, trades, or both. */
interface Route {
  readonly name: string;
  book: Stream | undefined;
  trades: Stream | undefined;
}

const RENUMBERED_AFTER_NS = 1e9;

export class FrameReader {
  readonly #options: FrameReaderOptions;
  readonly #kernel: DecodeKernel;
  readonly #tradeView: DataView;
  readonly #routes: Route[] = [];
  readonly #handovers: TradeHandovers;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
    this.#kernel = options.kernel;
    this.#handovers = new TradeHandovers((stream, atNs) => options.onCovered(stream, atNs));
    const { buffer, byteOffset, byteLength } = options.kernel.trades;
    this.#tradeView = new DataView(buffer, byteOffset, byteLength);
  }

  /** From now on these streams are read; a stream that left keeps its route and is read to nowhere. */
  route(streams: ReadonlyMap<string, Stream>): void {
    for (const route of this.#routes) {
      route.book = undefined;
      route.trades = undefined;
    }
    for (const stream of streams.values()) {
      const name = this.#options.venue.walker!.routeBy(stream.kind) === 'stream' ? stream.name : stream.mapped.symbol;
      let route = this.#routes.find((known) => known.name === name);
      if (route === undefined) {
        route = { name, book: undefined, trades: undefined };
        this.#kernel.addRoute(name, this.#routes.length, stream.mapped.priceScale);
        this.#routes.push(route);
      }
      if (stream.kind === 'trades') route.trades = stream;
      else route.book = stream;
    }
  }

  read(link: Link, frame: Buffer, receivedNs: number): void {
    this.#options.counters.messages++;
    link.heardNs = receivedNs;
    const code = this.#options.venue.walker!.decode(this.#kernel, frame, receivedNs);
    switch (code) {
      case BOOK_SNAPSHOT:
        this.#book(link, receivedNs);
        break;
      case TRADES:
        this.#trades(link, receivedNs);
        break;
      case CONTROL:
        this.#options.onControl(link, frame.toString('utf8'), receivedNs);
        break;
      default:
        this.#options.counters.refuse(refusalCode(code), this.#kernel.failedAt, frame);
    }
  }

  #book(link: Link, receivedNs: number): void {
    const stream = this.#routes[this.#kernel.route]?.book;
    if (stream === undefined) return;
    const { sequence } = this.#kernel;
    link.dataNs = receivedNs;
    if (sequence < stream.lastSequence && !this.#isRenumbered(stream, receivedNs)) {
      stream.heardOld(receivedNs);
      return;
    }
    stream.heard(receivedNs);
    stream.behindNs = 0;
    // Each snapshot stands alone, so the first one of a successor that is not older covers the stream.
    if (link.role === 'successor') this.#options.onCovered(stream, receivedNs);
    if (sequence === stream.lastSequence) {
      stream.duplicates++;
      return;
    }
    stream.lastSequence = sequence;
    this.#options.books?.publish(stream.symbol, this.#kernel.book, stream.countsUntilMs);
  }

  /** One old frame came out of order; nothing but old ones for a while means that the venue counts anew. */
  #isRenumbered(stream: Stream, receivedNs: number): boolean {
    if (stream.behindNs === 0) stream.behindNs = receivedNs;
    if (receivedNs - stream.behindNs < RENUMBERED_AFTER_NS) return false;
    stream.gaps++;
    return true;
  }

  #trades(link: Link, receivedNs: number): void {
    link.dataNs = receivedNs;
    const { trades, count } = this.#kernel;
    const view = this.#tradeView;
    for (let trade = 0; trade < count; trade++) {
      const offset = trade * TRADE_BYTES;
      const stream = this.#routes[view.getUint32(offset + TRADE.symbol, true)]?.trades;
      if (stream === undefined) continue;
      stream.heard(receivedNs);
      if (!this.#isNext(link, stream, view.getBigUint64(offset + TRADE.sequence, true), receivedNs)) continue;
      const isTaken = this.#options.trades?.write(stream.mapped.symbol, trades, offset) ?? true;
      if (!isTaken) this.#options.counters.tradesRefused++;
    }
  }

  /** Passes a trade on once, whichever connection brings it first; holes are counted, and repaired by who sums the bars. */
  #isNext(link: Link, stream: Stream, sequence: bigint, receivedNs: number): boolean {
    const verdict = this.#handovers.admit(link.role, stream, sequence, receivedNs);
    if (verdict !== undefined) {
      if (verdict === 'duplicate') stream.duplicates++;
      else stream.lastTrade = sequence;
      return verdict === 'deliver';
    }
    const last = stream.lastTrade;
    if (sequence <= last) {
      stream.duplicates++;
      return false;
    }
    if (last > 0n && sequence !== last + 1n && stream.facts.gapProof === 'dense-trade-id') stream.gaps++;
    stream.lastTrade = sequence;
    return true;
  }

  /** A successor is being opened. */
  beginHandover(streams: Iterable<Stream>): void {
    this.#handovers.begin(streams);
  }

  /** The successor is the connection now. `uncovered` streams may have a hole. */
  endHandover(uncovered: readonly Stream[]): void {
    this.#handovers.end();
    for (const stream of uncovered) stream.gaps++;
  }

  /** The connection is gone, and with it the books that stood on its frames. */
  forget(link: Link): void {
    if (link.role === 'successor') this.#handovers.forget();
  }
}
