import type { SubscriptionEffect, SubscriptionEvent } from '../../protocols/venue.ts';
import {
  NO_SUBSCRIPTIONS,
  type SubscriptionProtocol,
  type Subscriptions,
  subscriptionProtocol,
} from '../../venues/subscriptions.ts';
import type { Venue } from '../../venues/venue.ts';
import { Connection, type ConnectionEvents, type ConnectionOptions } from './connection.ts';
import type { FrameSource } from './frame-source.ts';
import { Rejoins } from './rejoins.ts';

/** A connection with what is subscribed on it. The successor becomes the current one when it takes over. */
export class Link {
  readonly source: FrameSource;
  pingedNs = 0;
  /** The venue has sent a heartbeat of its own on this connection. */
  hasHeartbeat = false;
  /** Why the venue wants the connection replaced, once it has said so. */
  notice: string | undefined;
  readonly rejoins = new Rejoins();
  /** Streams that the venue has granted here, and those that it has refused to a successor. */
  readonly acked = new Set<string>();
  readonly refused = new Map<string, { readonly code: string; readonly reason: string }>();
  readonly #connection: Connection;
  readonly #protocol: SubscriptionProtocol;
  #subscriptions: Subscriptions = NO_SUBSCRIPTIONS;

  constructor(source: FrameSource, venue: Venue, options: ConnectionOptions, events: ConnectionEvents) {
    this.source = source;
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
