// What the console's server and its readers (dashboard, command line, scripts) say to each other, in JSON.
//
// Times ending in AtMs are wall-clock milliseconds since the epoch; other *Ms and *Us are durations. Prices and amounts
// are decimal strings, exact as they stand in the system.
import type { ErrorCode } from './errors/index.ts';
import type { FeedPhase } from './venue.ts';

/** How every refusal looks. */
export interface Refusal {
  readonly kind: 'error';
  readonly code: ErrorCode;
  readonly message: string;
  readonly remedy: string;
}

// ---- health ------------------------------------------------------------------------------------------------------

export type Health = 'OK' | 'DEGRADED' | 'DOWN';

export interface HealthPart {
  readonly name: string;
  readonly status: Health;
  /** A sentence for people; empty when there is nothing to say. */
  readonly reason: string;
}

export interface HealthView {
  readonly status: Health;
  readonly parts: readonly HealthPart[];
}

export type PageName = 'actors' | 'threads' | 'books' | 'bars' | 'ingest' | 'topology';

/** Something that an operator should look at, in words. */
export interface Problem {
  readonly severity: 'critical' | 'warning';
  readonly text: string;
  readonly page: PageName;
  /** What to look for on that page, such as an actor's path. */
  readonly subject: string;
}

/** The state of everything on one line. */
export interface Pulse extends HealthView {
  readonly atMs: number;
  readonly uptimeMs: number;
  readonly control: boolean;
  /** Prices are made up: the venues are simulated. */
  readonly simulated: boolean;
  /** The pages that have something to show here. */
  readonly pages: readonly PageName[];
  readonly problems: readonly Problem[];
  readonly actors: { readonly running: number; readonly total: number };
  readonly messagesPerSecond: number;
}

// ---- actors ------------------------------------------------------------------------------------------------------

export const ACTOR_STATES = ['idle', 'starting', 'running', 'suspended', 'failed', 'halting', 'dead'] as const;
export type ActorState = (typeof ACTOR_STATES)[number];

/** What of an actor seldom changes. */
export interface ActorShape {
  readonly path: string;
  readonly kind: 'actor' | 'supervisor' | 'thread';
  readonly thread: string;
  /** The core that the thread is pinned to. */
  readonly core: number | null;
  readonly capacity: number | null;
  readonly policy: string | null;
}

/**
 * What of an actor changes all the time, as a tuple: a message for 500 actors is a third of what objects would take.
 * Times are in microseconds over about the last minute, null where nothing was measured in it.
 */
export type ActorValues = readonly [
  state: number,
  depth: number,
  highWater: number,
  messages: number,
  perSecond: number,
  waitP50: number | null,
  waitP99: number | null,
  workP50: number | null,
  workP99: number | null,
  restarts: number,
  dropped: number,
  failure: string | null,
  failureAtMs: number | null,
];

/** Where each value stands in the tuple. */
export const VALUE = {
  state: 0,
  depth: 1,
  highWater: 2,
  messages: 3,
  perSecond: 4,
  waitP50: 5,
  waitP99: 6,
  workP50: 7,
  workP99: 8,
  restarts: 9,
  dropped: 10,
  failure: 11,
  failureAtMs: 12,
} as const;

/** The tree, parents before their children; or what changed since the message with the version before. */
export type ActorsMessage =
  | {
      readonly kind: 'full';
      readonly version: number;
      readonly shapes: readonly ActorShape[];
      readonly values: readonly ActorValues[];
    }
  | {
      readonly kind: 'delta';
      readonly version: number;
      readonly changed: readonly (readonly [index: number, values: ActorValues])[];
    };

export interface EventView {
  readonly sequence: number;
  readonly atMs: number;
  readonly path: string;
  readonly kind: string;
  readonly text: string;
}

export interface EventsMessage {
  readonly events: readonly EventView[];
  /** Events that came and went before this reader took them. */
  readonly missed: number;
}

export interface ActorHistory {
  readonly periodMs: number;
  /** When the last sample was taken. */
  readonly endAtMs: number;
  readonly perSecond: readonly number[];
  readonly depth: readonly number[];
  readonly workP99Us: readonly number[];
}

export interface ActorDetail {
  readonly shape: ActorShape;
  readonly values: ActorValues;
  readonly incarnation: number;
  readonly unhandled: number;
  readonly drops: { readonly rejected: number; readonly oldest: number; readonly newest: number };
  readonly conflated: number;
  /** What the actor says of its own state; null when it says nothing or cannot be asked. */
  readonly summary: unknown;
  readonly history: ActorHistory;
  readonly events: readonly EventView[];
}

export interface ThreadView {
  readonly name: string;
  readonly kind: 'main' | 'loop' | 'pinned';
  readonly state: ActorState;
  readonly tid: number;
  readonly core: number | null;
  readonly observedCpus: string;
  readonly pinnedBy: string | null;
  /** Share of the time in which it had something to do, 0 to 1; of a duty cycle, an estimate from timed cycles. */
  readonly busy: number | null;
  /** Shares of the time in which it had a core, and in which it was ready to run and had none. */
  readonly onCore: number | null;
  readonly waitingForCore: number | null;
  /** Time since the heartbeat last moved, as the console saw it. */
  readonly beatAgeMs: number | null;
  readonly delayMeanUs: number | null;
  readonly delayMaxUs: number | null;
  /** Garbage collections in each second, and the milliseconds that they took. */
  readonly collectionsPerSecond: number | null;
  readonly gcMsPerSecond: number | null;
  readonly heapUsedBytes: number | null;
  readonly heapLimitBytes: number | null;
  readonly restarts: number;
  readonly actors: readonly string[];
}

// ---- books -------------------------------------------------------------------------------------------------------

export interface BookLevelView {
  readonly price: string;
  readonly amount: string;
  /** Index into the book's venues. */
  readonly venue: number;
}

export interface BookVenueView {
  readonly name: string;
  readonly phase: FeedPhase;
  /** Why it is in that phase, in words; empty when all is well. */
  readonly reason: string;
  readonly ageMs: number | null;
  /** Whether its levels are in the merged book. */
  readonly merged: boolean;
}

export interface BookView {
  readonly symbol: string;
  readonly sequence: number;
  /** Best ask minus best bid; negative when the venues cross, null when a side is empty. */
  readonly spread: string | null;
  readonly bids: readonly BookLevelView[];
  readonly asks: readonly BookLevelView[];
  readonly venues: readonly BookVenueView[];
}

/** Counts of durations up to each bound within the window; the last count is of what is above all bounds. */
export interface HistogramView {
  /** How far it looks back, about. */
  readonly windowMs: number;
  readonly boundsUs: readonly number[];
  readonly counts: readonly number[];
  readonly count: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly maxUs: number;
}

export interface BooksCatalogue {
  readonly symbols: readonly string[];
  readonly venues: readonly string[];
}

export interface BookMessage {
  readonly book: BookView | null;
  readonly latency: HistogramView | null;
}

// ---- bars --------------------------------------------------------------------------------------------------------

export type BarQuality = 'complete' | 'partial-first' | 'quiet' | 'gap' | 'repaired';

export interface BarView {
  readonly openAtMs: number;
  readonly closeAtMs: number;
  readonly open: string;
  readonly high: string;
  readonly low: string;
  readonly close: string;
  readonly volume: string;
  readonly quoteVolume: string;
  readonly takerVolume: string;
  readonly trades: number;
  readonly quality: BarQuality;
  readonly revision: number;
  readonly closed: boolean;
}

/** Of a symbol's trades: they come, there are none, there are some that do not come, or nobody can say. */
export type FeedVerdict = 'live' | 'quiet' | 'dead' | 'unknown';

export interface BarsCatalogue {
  /** Such as `binance:BTCUSDT`. */
  readonly symbols: readonly string[];
  readonly intervals: readonly string[];
  /** By symbol; one that is not here has not been judged yet. */
  readonly feeds: Readonly<Record<string, FeedVerdict>>;
}

/** Bars that are new or were changed; `reset` asks the reader to load the history anew. */
export interface BarsMessage {
  readonly bars: readonly BarView[];
  readonly reset: boolean;
}

// ---- ingest ------------------------------------------------------------------------------------------------------

/** added = stored + deadLettered + dropped + pending, at all times. */
export interface LedgerView {
  readonly stream: string;
  readonly added: number;
  readonly stored: number;
  readonly deadLettered: number;
  readonly dropped: number;
  /** What is neither durable nor given up yet, and where it is. */
  readonly pending: {
    readonly undelivered: number;
    readonly delivered: number;
    readonly spilled: number;
  };
  /** How far behind the newest entry reading is. */
  readonly lagMs: number;
  readonly perSecond: number;
}

export interface IngestView {
  readonly ledgers: readonly LedgerView[];
  readonly batches: {
    readonly count: number;
    readonly rowsP50: number;
    readonly writeP50Ms: number;
    readonly writeP99Ms: number;
  };
  readonly spill: {
    readonly bytes: number;
    readonly maxBytes: number;
    readonly segments: number;
    readonly quarantined: number;
  };
  readonly breaker: {
    readonly state: 'closed' | 'open' | 'half-open';
    readonly reason: string;
    readonly sinceAtMs: number | null;
  };
  readonly modules: readonly ModuleView[];
}

export interface ModuleView {
  readonly name: string;
  readonly streams: readonly string[];
  readonly state: 'alive' | 'silent' | 'never-heard';
  readonly lastHeardAtMs: number | null;
}

export interface DeadLetterView {
  /** Its id in the dead-letter stream. */
  readonly id: string;
  readonly atMs: number;
  readonly stream: string;
  readonly entryId: string;
  readonly stage: string;
  readonly code: string;
  readonly path: string;
  readonly reason: string;
  /** The beginning of the raw bytes, as text. */
  readonly raw: string;
}

export interface RetryOutcome {
  readonly retried: readonly string[];
  readonly refused: readonly { readonly id: string; readonly reason: string }[];
}

// ---- topology ----------------------------------------------------------------------------------------------------

/**
 * Plans a draft while it is being written. It takes what PLAN_ROUTE takes and answers the same with 200 always: a mistake
 * in a draft is an answer, not an error.
 */
export const DRAFT_ROUTE = '/api/topology/draft';

/** What runs. Plans and applies go by the contract of control-api.ts. */
export interface TopologyView {
  /** By their path in the configuration folder, as in a plan's request. */
  readonly files: Readonly<Record<string, string>>;
  /** Of the running tree. */
  readonly digest: string;
}

// ---- control -----------------------------------------------------------------------------------------------------

export const ACTOR_ACTIONS = ['restart', 'suspend', 'resume'] as const;
export type ActorAction = (typeof ACTOR_ACTIONS)[number];
