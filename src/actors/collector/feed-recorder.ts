// Turns one connection's feed into events: every trade, and each symbol's book at a bounded pace.
//
// A book that comes when its turn is due goes out at once. One that comes too early waits, and a later one takes its
// place, so that at 5 quotes a second a burst of 40 books makes 2 quotes: the first of it, and the last.
import { BOOK, BOOK_LEVEL_BYTES, bookAsksOffset, bookBytes } from '../../protocols/book-layout.ts';
import type { NewEvent } from '../../protocols/event-producer.ts';
import type { MappedSymbol } from '../../protocols/topology.ts';
import type { BookTarget, TradeTarget } from '../exchange/targets.ts';
import { orderBookEvent, quoteEvent, tradeEvent } from './normalize.ts';

export interface FeedRecorderOptions {
  readonly symbols: readonly MappedSymbol[];
  readonly depth: number;
  readonly quoteEveryMs: number;
  readonly bookEveryMs: number;
  nowMs(): number;
  nowNs(): bigint;
  /** False when there was no room for it. */
  record(event: NewEvent): boolean;
}

interface Pace {
  readonly everyMs: number;
  dueMs: number;
  waiting: boolean;
}

/** The latest book of a symbol, and what of it is still to be told. */
interface Latest {
  readonly mapped: MappedSymbol;
  readonly record: Uint8Array;
  readonly view: DataView;
  /** Best bid and ask as they were told last. */
  readonly top: Uint8Array;
  receivedNs: bigint;
  readonly quote: Pace;
  readonly book: Pace;
}

export class FeedRecorder implements BookTarget, TradeTarget {
  readonly depth: number;
  readonly #options: FeedRecorderOptions;
  readonly #latest: readonly Latest[];
  readonly #bySymbol: ReadonlyMap<string, MappedSymbol>;
  /** Books that a later one replaced before their turn came. */
  conflated = 0;

  constructor(options: FeedRecorderOptions) {
    this.#options = options;
    this.depth = options.depth;
    this.#latest = options.symbols.map((mapped) => latest(mapped, options));
    this.#bySymbol = new Map(options.symbols.map((mapped) => [mapped.symbol, mapped]));
  }

  write(symbol: string, trades: Uint8Array, offset: number): boolean {
    const mapped = this.#bySymbol.get(symbol);
    if (mapped === undefined) return true;
    const view = new DataView(trades.buffer, trades.byteOffset, trades.byteLength);
    return this.#options.record(tradeEvent(mapped, view, offset));
  }

  /** An event stands for itself: there is nobody here who sums them up. */
  lose(): boolean {
    return true;
  }

  publish(symbol: number, record: Uint8Array): void {
    const book = this.#latest[symbol]!;
    if (book.quote.waiting) this.conflated++;
    book.record.set(record);
    book.receivedNs = this.#options.nowNs();
    book.quote.waiting = this.#hasNewTop(book);
    book.book.waiting = true;
    this.#tell(book, this.#options.nowMs());
  }

  /** An event is about the moment at which the book was received; how long the book counts is for others. */
  countUntil(): void {}

  finish(): void {}

  leaveOut(symbol: number): void {
    const book = this.#latest[symbol]!;
    book.quote.waiting = false;
    book.book.waiting = false;
  }

  release(): void {}

  /** Tells what has waited for its turn. Call it every tenth of a second. */
  tick(): void {
    const now = this.#options.nowMs();
    for (const book of this.#latest) this.#tell(book, now);
  }

  #tell(book: Latest, nowMs: number): void {
    const { mapped, view, receivedNs } = book;
    if (isDue(book.quote, nowMs)) {
      this.#options.record(quoteEvent(mapped, view, this.depth, receivedNs));
      copyTop(book.record, this.depth, book.top);
    }
    if (isDue(book.book, nowMs)) this.#options.record(orderBookEvent(mapped, view, this.depth, receivedNs));
  }

  #hasNewTop(book: Latest): boolean {
    const top = new Uint8Array(TOP_BYTES);
    copyTop(book.record, this.depth, top);
    return Buffer.compare(top, book.top) !== 0;
  }
}

const TOP_BYTES = 2 * BOOK_LEVEL_BYTES;

/** Best bid, best ask; zeros for a side without levels. */
function copyTop(record: Uint8Array, depth: number, top: Uint8Array): void {
  const counts = new DataView(record.buffer, record.byteOffset + BOOK.bid_count, 4);
  const side = (count: number, at: number, to: number) => {
    if (count === 0) top.fill(0, to, to + BOOK_LEVEL_BYTES);
    else top.set(record.subarray(at, at + BOOK_LEVEL_BYTES), to);
  };
  side(counts.getUint16(0, true), BOOK.levels, 0);
  side(counts.getUint16(2, true), bookAsksOffset(depth), BOOK_LEVEL_BYTES);
}

/** True when it is told now. The next turn is one interval after this one was due, so that late ticks do not add up. */
function isDue(pace: Pace, nowMs: number): boolean {
  if (!pace.waiting || nowMs < pace.dueMs) return false;
  pace.waiting = false;
  const next = pace.dueMs + pace.everyMs;
  pace.dueMs = next > nowMs ? next : nowMs + pace.everyMs;
  return true;
}

function latest(mapped: MappedSymbol, { depth, quoteEveryMs, bookEveryMs }: FeedRecorderOptions): Latest {
  const record = new Uint8Array(bookBytes(depth));
  const view = new DataView(record.buffer);
  const pace = (everyMs: number): Pace => ({ everyMs, dueMs: 0, waiting: false });
  const top = new Uint8Array(TOP_BYTES);
  return { mapped, record, view, top, receivedNs: 0n, quote: pace(quoteEveryMs), book: pace(bookEveryMs) };
}
