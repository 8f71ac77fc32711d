import type { SubscriptionEffect, SubscriptionEvent } from '../../protocols/venue.ts';
import {
  NO_SUBSCRIPTIONS,
  type SubscriptionProtocol,
  type Subscriptions,
  subscriptionProtocol,
} from '../../venues/subscriptions.ts';
import type { Venue } from '../../venues/venue.ts';
import { Connection, type ConnectionEvents, type ConnectionOptions } from './connection.ts';
import type { Reading } from './frame-reader.ts';
import { Rejoins } from './rejoins.ts';

/** What frames come from, as far as their reader is concerned. */
export interface FrameSource {
  readonly role: 'current' | 'successor';
  /** The last sign of life of any kind, and the last market data. */
  heardNs: number;
  dataNs: number;
  /** The number of its last frame, where the venue counts them over all streams of a connection. */
  frameSequence: number | undefined;
  /** How its frames are read; its incremental books are its own. */
  reading: Reading | undefined;
}

/** A connection with what is subscribed on it. The successor becomes the current one when it takes over. */
export class Link implements FrameSource {
  role: 'current' | 'successor';
  heardNs = 0;
  dataNs = 0;
  pingedNs = 0;
  /** The venue has sent a heartbeat of its own on this connection. */
  hasHeartbeat = false;
  frameSequence: number | undefined;
  reading: Reading | undefined;
  readonly rejoins = new Rejoins();
  /** Streams that the venue has granted here, and those that it has refused to a successor. */
  readonly acked = new Set<string>();
  readonly refused = new Map<string, { readonly code: string; readonly reason: string }>();
  readonly #connection: Connection;
  readonly #protocol: SubscriptionProtocol;
  #subscriptions: Subscriptions = NO_SUBSCRIPTIONS;

  constructor(role: Link['role'], venue: Venue, options: ConnectionOptions, events: ConnectionEvents) {
    this.role = role;
    this.#protocol = subscriptionProtocol(venue.facts, venue.dialect);
    this.#connection = new Connection(options, events);
  }

  get openedAtNs(): number {
    return this.#connection.openedAtNs;
  }

  /** Nothing is being asked of the venue. */
  get isSettled(): boolean {
    return this.#subscriptions.queue.length === 0 && this.#subscriptions.inFlight.length === 0;
  }

  subscribe(event: SubscriptionEvent): readonly SubscriptionEffect[] {
    const [next, effects] = this.#protocol.receive(this.#subscriptions, event);
    this.#subscriptions = next;
    return effects;
  }

  send(text: string): void {
    this.#connection.send(text);
  }

  ping(): void {
    this.#connection.ping();
  }

  end(): void {
    this.#connection.end();
  }
}
