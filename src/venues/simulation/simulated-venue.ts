import type { IncomingHttpHeaders } from 'node:http';
import type { VenueFacts } from '../../protocols/venue.ts';
import type { VenueFaults } from './faults.ts';
import type { VenueHub } from './hub.ts';
import type { Link } from './link.ts';
import type { MarketProfile } from './listing.ts';
import type { VenueMarket } from './market.ts';

/** What a venue does to clients that break its rules. Undefined means that nobody has seen it care. */
export interface ClientRules {
  readonly frameBytesMost: number | undefined;
  readonly framesPerSecondMost: number | undefined;
  readonly connects: { readonly count: number; readonly windowMs: number } | undefined;
  readonly subscribeWithinMs: number | undefined;
  readonly maxAgeMs: number | undefined;
  readonly pingEveryMs: number | undefined;
  /** A client that has not answered a ping for this long is cut off. */
  readonly pongWithinMs: number | undefined;
}

/** What the simulator hands to a venue. */
export interface VenueContext {
  readonly facts: VenueFacts;
  readonly market: VenueMarket;
  readonly hub: VenueHub;
  readonly faults: VenueFaults;
}

export interface RestRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
}

export interface RestAnswer {
  readonly status: number;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** One client's conversation with a venue. */
export interface VenueSession {
  receive(text: string): void;
  /** The frame that this client gets for a payload of a stream. */
  wrap(stream: string, payload: string): string;
  /** The frame that this client gets for one of a recording; as it is, where this is left out. */
  replay?(frame: string): string;
}

/** A venue that runs. */
export interface SimulatedVenue {
  /** True for the paths, below /VENUE, at which clients may connect. */
  serves(path: string): boolean;
  open(path: string, query: URLSearchParams, link: Link): VenueSession;
  /** The market has moved: publish what changed. */
  step(): void;
  /** Once a second of wall time. */
  everySecond(): void;
  /** The frame that announces a planned close, if the venue has one. */
  notice(): { readonly stream: string; readonly payload: string } | undefined;
  rest(request: RestRequest): RestAnswer | undefined;
}

/** How a venue is simulated; the venue's folder exports it with the venue. */
export interface VenueSimulation {
  /** Where clients connect, below /VENUE. */
  readonly wsPath: string;
  readonly profile: MarketProfile;
  readonly rules: ClientRules;
  start(context: VenueContext): SimulatedVenue;
}

export function json(value: unknown, status = 200): RestAnswer {
  return { status, body: JSON.stringify(value) };
}
