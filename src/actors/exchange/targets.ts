// Where an exchange puts what it reads: the merger's memory and the workers' rings, or whatever else wants the same feed.
import type { BookOutlet } from '../../kernels/outlet.ts';

/** Takes books. A record is laid out as book-layout.ts says and holds only during the call. */
export interface BookTarget {
  /** Levels a side of the records that it takes. */
  readonly depth: number;
  readonly outlet?: BookOutlet;
  /** A new book of the symbol, to count until the given time of the threads' clock. */
  publish(symbol: number, record: Uint8Array, untilMs: number): void;
  /** To be called after books were published and what there is to note about them is noted: there is time to see that they go on. */
  finish(): void;
  countUntil(symbol: number, untilMs: number): void;
  /** The book does not count any more until the next one is published. */
  leaveOut(symbol: number): void;
  /** Somebody else may publish the symbol's books from now on; who publishes one again begins anew. */
  release(symbol: number): void;
}

/** Takes trades, each once and in the venue's order. */
export interface TradeTarget {
  /** One record (trade-layout.ts) at an offset, of a symbol in the venue's spelling. False when there is no room for it. */
  write(symbol: string, trades: Uint8Array, offset: number): boolean;
  /** Trades of the symbol may be missing between what was written and what will be. False when there is no room for that. */
  lose(symbol: string): boolean;
}
