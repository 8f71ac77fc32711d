import type { Level } from '../../src/kernels/oracle/frame-oracle.ts';
import type { VenueBook } from '../../src/kernels/oracle/merge-oracle.ts';
import type { BookShare } from '../../src/protocols/book-share.ts';
import { MERGER_TURN } from '../../src/protocols/merge-layout.ts';
import { Random } from './random.ts';

export interface WriterArgs {
  readonly books: BookShare;
  readonly venue: number;
  readonly seed: number;
  /** One word: the venue goes on until it is not zero. */
  readonly stop: Int32Array;
  /** How often each book is published: many times when the thread shall spend its life in merging. */
  readonly times: number;
  /** A word a venue: the generation that it last began with. */
  readonly generations: Int32Array;
}

/** A writer's number among the threads that merge. */
export const turnOf = (venue: number): number => MERGER_TURN + 1 + venue;

/**
 * The book that a venue has of a symbol in a generation. Nothing but the seed and these numbers make it, so that whoever
 * sees a summary can make its books again; and each amount tells whose level it is: venue, symbol, generation, side, place.
 */
export function bookOf(seed: number, venue: number, symbol: number, generation: number, depth: number): VenueBook {
  const random = new Random(seed ^ Math.imul(generation * 64 + symbol * 8 + venue + 1, 0x9e3779b1));
  const side = (isAsk: boolean): Level[] => {
    let price = 1_000 + random.next(30);
    return Array.from({ length: random.next(depth + 1) }, (_, place): Level => {
      price += (1 + random.next(3)) * (isAsk ? 1 : -1);
      const whose = ((generation * 8 + symbol) * 8 + venue) * 2 + (isAsk ? 1 : 0);
      return [BigInt(price), BigInt(whose * 256 + place + 1)];
    });
  };
  return { bids: side(false), asks: side(true) };
}
