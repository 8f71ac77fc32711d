/**
 * Words of the venues.
 *
 * - venue: an exchange that we listen to.
 * - symbol: an instrument under the venue's own name (BTCUSDT, btcusd, BTC/USD, BTC-USD).
 * - stream: one subscription on one connection, under the name that the venue's protocol uses for it.
 * - control frame: anything that is not market data: acks, refusals, heartbeats, notices.
 * - evidence: when we last had proof of something, on the monotonic clock, in nanoseconds. Zero means never.
 */

/** What a stream carries. `book` frames stand alone; `book-delta` frames change a book that was begun by a snapshot. */
export type StreamKind = 'book' | 'book-delta' | 'trades' | 'tickers';

/**
 * When frames are due. A timer-driven stream that falls silent is broken; a change-driven one may be merely quiet, and
 * then only the connection's own signs of life tell the two apart.
 */
export type Cadence =
  | { readonly kind: 'timer'; readonly quietAfterMs: number; readonly staleAfterMs: number }
  | {
      readonly kind: 'change';
      /** Silence that is worth showing, though nothing is wrong yet. */
      readonly quietAfterMs: number;
      /** An acked stream that has never sent anything is suspected (unknown pair) after this long. */
      readonly firstFrameWithinMs: number;
      /** The connection must have shown life within this time for a silent stream to count as quiet. */
      readonly evidenceWithinMs: number;
    };

/** How a consumer can know that it missed nothing. */
export type GapProof =
  | 'last-update-id' // a growing id on every snapshot: order is known, nothing needs to be contiguous
  | 'update-range' // U..u ranges that must touch
  | 'microtimestamp' // order only; a gap cannot be seen
  | 'checksum' // CRC32 of the top of the book after every update
  | 'connection-sequence' // one counter over all frames of a connection
  | 'dense-trade-id' // ids grow by exactly one
  | 'ordered-trade-id' // ids grow, with holes
  | 'none';

export interface StreamFacts {
  /** The stream's name; `{symbol}` stands for the symbol in the case that the protocol wants. */
  readonly name: string;
  readonly content: 'snapshot' | 'delta' | 'events';
  readonly cadence: Cadence;
  readonly gapProof: GapProof;
  /**
   * How a new connection takes over from an old one: by comparing sequence numbers that both connections share, or at
   * the snapshot with which the new connection begins.
   */
  readonly handover: 'sequence' | 'snapshot';
}

/** How the venue proves that a connection is alive, and what it wants in return. */
export type Keepalive =
  | { readonly kind: 'server-ping'; readonly everyMs: number; readonly answerWithinMs: number }
  | { readonly kind: 'client-frame'; readonly everyMs: number; readonly text: string }
  | { readonly kind: 'stream'; readonly stream: string; readonly everyMs: number };

export interface ConnectionLimits {
  readonly streamsPerConnection: number;
  /** Streams that one subscribe frame may name. */
  readonly streamsPerFrame: number;
  readonly frameBytes: number;
  /** Frames per second that the client may send; pongs count where the venue says so, hence the reserve. */
  readonly framesPerSecond: number;
  readonly framesReserved: number;
  readonly maxAgeMs: number | undefined;
  /** Connection attempts allowed in a sliding window. */
  readonly connects: { readonly count: number; readonly windowMs: number };
  /** The first subscribe frame must arrive this soon after opening. */
  readonly subscribeWithinMs: number | undefined;
}

export interface RestFacts {
  readonly url: string;
  /** Request weight that may be used in any minute, and the header that tells how much is used. */
  readonly weightPerMinute: number;
  readonly weightHeader: string | undefined;
  /** Where the venue tells its time: in milliseconds in a field, or in whole seconds in the Date of any answer. */
  readonly time?: { readonly path: string; readonly field?: string };
}

/** Everything about a venue that is data. Configuration may override the URLs. */
export interface VenueFacts {
  readonly id: string;
  readonly title: string;
  readonly wsUrl: string;
  readonly rest: RestFacts;
  readonly symbolForm: {
    readonly separator: string;
    readonly case: 'upper' | 'lower';
    /** The case that stream names want, where it differs from the case of payloads. */
    readonly caseInStreams: 'upper' | 'lower';
  };
  readonly streams: Readonly<Partial<Record<StreamKind, StreamFacts>>>;
  readonly limits: ConnectionLimits;
  readonly keepalive: Keepalive;
  readonly numberForm: 'string' | 'number';
  /** Whose side a trade's side names. */
  readonly tradeSide: 'taker' | 'maker' | 'buyer-is-maker-flag';
  /** True where an ack does not prove that the symbol exists. */
  readonly acksUnknownSymbols: boolean;
  readonly ackWithinMs: number;
}

/** A venue as far as the configuration has to know it. */
export interface KnownVenue {
  readonly id: string;
  /** Its trades are numbered, so that it shows when some are missing, and those can be fetched. */
  readonly makesBars: boolean;
  /** It has a stream on which all its symbols are named. */
  readonly tellsSymbols: boolean;
}

/** What a venue's ticker says of a symbol: the last price, and the base volume of the last 24 hours. */
export interface Ticker {
  readonly close: string;
  readonly volume: string;
}

/** What a frame that is not market data says. `sequence` is set where control frames share the data frames' counter. */
export type ControlFrame = {
  readonly sequence?: number;
} /** `streams`: those that it belongs to, as far as it says; `isUnnamed` where some of it may be any other's. */ & (
  | { readonly kind: 'data'; readonly streams: readonly string[]; readonly isUnnamed?: boolean }
  | { readonly kind: 'ack'; readonly id: number }
  | { readonly kind: 'stream-ack'; readonly action: 'subscribe' | 'unsubscribe'; readonly stream: string }
  | { readonly kind: 'subscriptions'; readonly streams: readonly string[] }
  | {
      readonly kind: 'refusal';
      readonly id: number | undefined;
      readonly stream: string | undefined;
      /** Set where the venue names the symbol but not the stream: how the stream's name ends. */
      readonly ending?: string;
      readonly reason: string;
    }
  | { readonly kind: 'heartbeat' }
  | { readonly kind: 'notice'; readonly reason: string }
  | { readonly kind: 'status'; readonly text: string }
  | { readonly kind: 'unknown' }
);

/** What happens to a connection's subscriptions. `nowNs` is the monotonic clock. */
export type SubscriptionEvent =
  | { readonly kind: 'desire'; readonly streams: readonly string[]; readonly nowNs: number }
  | { readonly kind: 'opened'; readonly nowNs: number }
  | { readonly kind: 'closed'; readonly nowNs: number }
  | { readonly kind: 'control'; readonly frame: ControlFrame; readonly nowNs: number }
  | { readonly kind: 'tick'; readonly nowNs: number };

/** What the subscription protocol wants done, or wants known. */
export type SubscriptionEffect =
  | { readonly kind: 'send'; readonly text: string }
  | { readonly kind: 'requested'; readonly stream: string }
  | { readonly kind: 'acked'; readonly stream: string }
  | { readonly kind: 'left'; readonly stream: string }
  | {
      readonly kind: 'refused';
      readonly stream: string;
      readonly code: 'TW_VENUE_REFUSED' | 'TW_VENUE_NO_ACK' | 'TW_VENUE_TOO_MANY_STREAMS' | 'TW_VENUE_FRAME_TOO_LONG';
      readonly reason: string;
    }
  | { readonly kind: 'alive' }
  | { readonly kind: 'rotate'; readonly reason: string }
  | { readonly kind: 'complain'; readonly reason: string }
  | { readonly kind: 'wake'; readonly atNs: number };

/** The states of one stream, in the order in which a healthy one walks through the first three. */
export type FeedPhase = 'subscribing' | 'acked' | 'live' | 'quiet' | 'stale' | 'down';

/** What is known about one stream, all times on the monotonic clock in nanoseconds, zero for never. */
export interface FeedEvidence {
  readonly requestedNs: number;
  readonly ackedNs: number;
  readonly firstFrameNs: number;
  readonly lastFrameNs: number;
  /** Last proof that the connection lives, be it a frame, ping, pong or heartbeat. */
  readonly aliveNs: number;
  readonly downNs: number;
  readonly downReason: string;
}

export type FeedReason =
  | 'waiting-for-ack'
  | 'ack-overdue'
  | 'waiting-for-first-frame'
  | 'acked-then-silent'
  | 'frames-flow'
  | 'no-change-but-alive'
  | 'timer-missed'
  | 'no-sign-of-life'
  | 'frame-refused'
  | 'down';

export interface FeedVerdict {
  readonly phase: FeedPhase;
  readonly reason: FeedReason;
  /** When the verdict will change if nothing happens until then; undefined if it cannot. */
  readonly nextNs: number | undefined;
}

/** What a sequence check says about a frame. */
export type SequenceVerdict = 'next' | 'duplicate' | 'gap';
