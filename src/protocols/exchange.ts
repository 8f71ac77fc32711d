import type { BookShare } from './book-share.ts';
import type { Ref } from './ref.ts';
import type { ExchangeSettings } from './topology.ts';
import type { FeedPhase, FeedReason, StreamKind } from './venue.ts';

/** What an exchange actor can be told. */
export type ExchangeCommand =
  /** Other settings while it runs: more or fewer symbols, other limits. */
  | { readonly kind: 'reconfigure'; readonly settings: ExchangeSettings }
  /** Open a successor and change over to it without a hole, at an operator's wish. */
  | { readonly kind: 'rotate'; readonly reason: string }
  /** Leave the stream of the symbol's trades and join it again: it should bring some and does not. */
  | { readonly kind: 'resubscribe'; readonly symbol: string }
  /** Trades of these symbols go to these places from now on, and of no others anywhere; new edges are taken in. */
  | {
      readonly kind: 'route-trades';
      readonly routes: readonly TradeRoute[];
      readonly edges: readonly TradeEdge[];
      readonly replyTo?: Ref<'routed'>;
    }
  /** Other books to write into, or none; every stream starts anew. */
  | { readonly kind: 'attach-books'; readonly books: BookShare | null }
  | { readonly kind: 'tick' };

/** A partition worker, and the number under which it knows the symbol. */
export interface TradePlace {
  readonly worker: number;
  readonly index: number;
}

/** Where the trades of a symbol go. */
export interface TradeRoute {
  /** In the venue's spelling. */
  readonly symbol: string;
  readonly to: TradePlace;
  /** While the symbol moves, the worker that takes it over gets its trades as well. */
  readonly also?: TradePlace;
}

/** A worker's ring for one connection. */
export interface TradeEdge {
  readonly worker: number;
  readonly buffer: SharedArrayBuffer;
  readonly at: number;
  /** The doorbell of the worker's thread. */
  readonly bell: { readonly buffer: SharedArrayBuffer; readonly at: number };
}

/** What an exchange says of itself, a few times a second and when something changes. */
export interface ExchangeStatus {
  readonly path: string;
  readonly venue: string;
  readonly connection: ConnectionStatus;
  readonly streams: readonly StreamStatus[];
  readonly counters: ExchangeCounters;
  /** The last frames that were refused, the newest last. */
  readonly refused: readonly RefusedFrame[];
}

export interface ConnectionStatus {
  readonly state: 'connecting' | 'open' | 'rotating' | 'waiting';
  /** Since when, in milliseconds of the threads' clock. */
  readonly sinceMs: number;
  readonly url: string;
  readonly reason: string;
  /** What counts as its sign of life while nothing changes: the venue's own heartbeat, once it has sent one. */
  readonly provenBy: 'heartbeat' | 'ping';
}

export interface StreamStatus {
  readonly name: string;
  readonly kind: StreamKind;
  readonly instrument: string;
  readonly phase: FeedPhase;
  readonly reason: FeedReason;
  readonly downReason: string;
  readonly ageMs: number | null;
  readonly frames: number;
  readonly duplicates: number;
  readonly gaps: number;
  readonly lost: number;
}

export interface ExchangeCounters {
  readonly messages: number;
  readonly errors: number;
  readonly errorsByCode: Readonly<Record<string, number>>;
  readonly reconnections: number;
  readonly rotations: number;
  readonly rotationsFailed: number;
  readonly tradesRefused: number;
}

export interface RefusedFrame {
  readonly code: string;
  readonly at: number;
  readonly length: number;
  /** Its first bytes, printable ones as they are. */
  readonly start: string;
}
