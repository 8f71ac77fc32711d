// The subscriptions of one connection: what is wanted, what was asked, what the venue has granted. Pure: what it wants
// done, it returns.
//
//             plan                 pump (rate limit)           ack
//   desired --------> queue of batches --------> in flight --------> joined
//                        ^                          |  |
//                        |   refused batch of many: |  +-- refused batch of one, or unanswered: refused, with a code
//                        +--- both halves ----------+
//
// A batch that the venue refuses as a whole is halved until the one bad stream stands alone, so that it cannot keep its
// neighbours out. Closing forgets everything but what is desired now, and opening asks for exactly that.
import type { ControlFrame, SubscriptionEffect, SubscriptionEvent, VenueFacts } from '../protocols/venue.ts';
import type { Dialect } from './venue.ts';

const NS_PER_MS = 1e6;
/** The second of the rate limit is the venue's: frames that leave a second apart may arrive a quarter closer. */
const RATE_WINDOW_NS = 1.25e9;
/** An unanswered request is sent this often in all, then given up. */
const TRIES = 3;

type RefusalCode = Extract<SubscriptionEffect, { kind: 'refused' }>['code'];

interface Batch {
  readonly action: 'subscribe' | 'unsubscribe';
  readonly streams: readonly string[];
  readonly tries: number;
}

interface Request extends Batch {
  readonly id: number;
  readonly sentNs: number;
}

export interface Subscriptions {
  readonly open: boolean;
  readonly desired: ReadonlySet<string>;
  readonly joined: ReadonlySet<string>;
  /** Refused on this connection; asked again after a reconnect, or when dropped from and put back into the desired. */
  readonly refused: ReadonlyMap<string, RefusalCode>;
  readonly queue: readonly Batch[];
  readonly inFlight: readonly Request[];
  /** When the frames of the last second were sent; never longer than the venue's rate limit. */
  readonly sentNs: readonly number[];
  readonly nextId: number;
  readonly heartbeatNs: number;
}

export const NO_SUBSCRIPTIONS: Subscriptions = {
  open: false,
  desired: new Set(),
  joined: new Set(),
  refused: new Map(),
  queue: [],
  inFlight: [],
  sentNs: [],
  nextId: 1,
  heartbeatNs: 0,
};

export interface SubscriptionProtocol {
  receive(state: Subscriptions, event: SubscriptionEvent): [Subscriptions, readonly SubscriptionEffect[]];
}

/** The protocol of a venue: its facts give the limits, its dialect the words. */
export function subscriptionProtocol(facts: VenueFacts, dialect: Dialect): SubscriptionProtocol {
  return {
    receive(state, event) {
      const draft = new Draft(facts, dialect, state);
      draft.handle(event);
      return [draft.finish(event.nowNs), draft.effects];
    },
  };
}

/** A private copy of the state while one event is handled. */
class Draft {
  readonly effects: SubscriptionEffect[] = [];
  readonly #facts: VenueFacts;
  readonly #dialect: Dialect;
  #open: boolean;
  #desired: ReadonlySet<string>;
  #joined: Set<string>;
  #refused: Map<string, RefusalCode>;
  #queue: Batch[];
  #inFlight: Request[];
  #sentNs: number[];
  #nextId: number;
  #heartbeatNs: number;

  constructor(facts: VenueFacts, dialect: Dialect, state: Subscriptions) {
    this.#facts = facts;
    this.#dialect = dialect;
    this.#open = state.open;
    this.#desired = state.desired;
    this.#joined = new Set(state.joined);
    this.#refused = new Map(state.refused);
    this.#queue = [...state.queue];
    this.#inFlight = [...state.inFlight];
    this.#sentNs = [...state.sentNs];
    this.#nextId = state.nextId;
    this.#heartbeatNs = state.heartbeatNs;
  }

  handle(event: SubscriptionEvent): void {
    switch (event.kind) {
      case 'desire':
        this.#desired = new Set(event.streams);
        for (const [stream, code] of this.#refused) {
          // There may be room now for a stream that was one too many.
          if (!this.#desired.has(stream) || code === 'TW_VENUE_TOO_MANY_STREAMS') this.#refused.delete(stream);
        }
        break;
      case 'opened':
        this.#forget();
        this.#open = true;
        this.#heartbeatNs = event.nowNs;
        break;
      case 'closed':
        this.#forget();
        break;
      case 'control':
        this.#answer(event.frame);
        break;
      case 'tick':
        this.#retryOverdue(event.nowNs);
        break;
    }
  }

  finish(nowNs: number): Subscriptions {
    if (this.#open) {
      this.#plan();
      this.#pump(nowNs);
      this.#heartbeat(nowNs);
      this.#wake(nowNs);
    }
    return {
      open: this.#open,
      desired: this.#desired,
      joined: this.#joined,
      refused: this.#refused,
      queue: this.#queue,
      inFlight: this.#inFlight,
      sentNs: this.#sentNs,
      nextId: this.#nextId,
      heartbeatNs: this.#heartbeatNs,
    };
  }

  #forget(): void {
    this.#open = false;
    this.#joined.clear();
    this.#refused.clear();
    this.#queue = [];
    this.#inFlight = [];
    this.#sentNs = [];
    this.#nextId = 1;
  }

  #named(action: Batch['action']): Set<string> {
    const batches = [...this.#queue, ...this.#inFlight].filter((batch) => batch.action === action);
    return new Set(batches.flatMap((batch) => batch.streams));
  }

  /** Queues what is missing between the desired and the granted. The venue's own keepalive stream always comes first. */
  #plan(): void {
    const { keepalive, limits } = this.#facts;
    const wanted = new Set(keepalive.kind === 'stream' ? [keepalive.stream, ...this.#desired] : this.#desired);
    // A subscription that nobody wants any more before it was sent is simply not sent.
    this.#queue = this.#queue
      .map((batch) =>
        batch.action === 'unsubscribe' ? batch : { ...batch, streams: batch.streams.filter((one) => wanted.has(one)) },
      )
      .filter((batch) => batch.streams.length > 0);

    const asked = this.#named('subscribe');
    const leaving = this.#named('unsubscribe');
    const known = new Set([...this.#joined, ...asked]);
    this.#enqueue(
      'unsubscribe',
      [...known].filter((stream) => !wanted.has(stream) && !leaving.has(stream)),
    );

    const missing = [...wanted].filter((stream) => !known.has(stream) && !this.#refused.has(stream));
    const room = Math.max(0, limits.streamsPerConnection - known.size);
    for (const stream of missing.slice(room)) {
      this.#refuse(stream, 'TW_VENUE_TOO_MANY_STREAMS', `a connection carries ${limits.streamsPerConnection} streams`);
    }
    this.#enqueue('subscribe', missing.slice(0, room));
  }

  #enqueue(action: Batch['action'], streams: readonly string[]): void {
    const groups = new Map<string, string[]>();
    for (const stream of streams) {
      const group = this.#dialect.groupOf(stream);
      groups.set(group, [...(groups.get(group) ?? []), stream]);
    }
    const { streamsPerFrame } = this.#facts.limits;
    for (const group of groups.values()) {
      for (let at = 0; at < group.length; at += streamsPerFrame) {
        this.#enqueueFitting(action, group.slice(at, at + streamsPerFrame));
      }
    }
  }

  #bytesOf(action: Batch['action'], streams: readonly string[]): number {
    return Buffer.byteLength(this.#dialect.encode(action, streams, this.#nextId));
  }

  /** Adds the streams to the batch that waits last, where one frame can say both. */
  #joinsLast(action: Batch['action'], streams: readonly string[]): boolean {
    const last = this.#queue.at(-1);
    const { streamsPerFrame, frameBytes } = this.#facts.limits;
    if (last?.action !== action || last.tries > 0 || last.streams.length + streams.length > streamsPerFrame)
      return false;
    if (this.#dialect.groupOf(last.streams[0]!) !== this.#dialect.groupOf(streams[0]!)) return false;
    const both = [...last.streams, ...streams];
    if (this.#bytesOf(action, both) > frameBytes) return false;
    this.#queue[this.#queue.length - 1] = { ...last, streams: both };
    return true;
  }

  #enqueueFitting(action: Batch['action'], streams: readonly string[]): void {
    if (this.#joinsLast(action, streams)) return;
    const bytes = this.#bytesOf(action, streams);
    if (bytes <= this.#facts.limits.frameBytes) {
      this.#queue.push({ action, streams, tries: 0 });
    } else if (streams.length > 1) {
      const middle = streams.length >> 1;
      this.#enqueueFitting(action, streams.slice(0, middle));
      this.#enqueueFitting(action, streams.slice(middle));
    } else {
      this.#refuse(streams[0]!, 'TW_VENUE_FRAME_TOO_LONG', `its subscribe frame would take ${bytes} bytes`);
    }
  }

  /** Sends from the queue while the venue's rate limit allows. */
  #pump(nowNs: number): void {
    while (this.#queue.length > 0 && this.#nextSendNs(nowNs) <= nowNs) {
      const batch = this.#queue.shift()!;
      const id = this.#nextId++;
      this.#inFlight.push({ ...batch, id, sentNs: nowNs, tries: batch.tries + 1 });
      this.#send(this.#dialect.encode(batch.action, batch.streams, id), nowNs);
      if (batch.action === 'subscribe') {
        for (const stream of batch.streams) this.effects.push({ kind: 'requested', stream });
      }
    }
  }

  /** The earliest time at which one more frame stays within the rate limit. */
  #nextSendNs(nowNs: number): number {
    const { framesPerSecond, framesReserved } = this.#facts.limits;
    this.#sentNs = this.#sentNs.filter((sent) => nowNs - sent < RATE_WINDOW_NS);
    const spare = framesPerSecond - framesReserved - this.#sentNs.length;
    return spare > 0 ? nowNs : this.#sentNs[0]! + RATE_WINDOW_NS;
  }

  #send(text: string, nowNs: number): void {
    this.#sentNs.push(nowNs);
    this.effects.push({ kind: 'send', text });
  }

  #heartbeat(nowNs: number): void {
    const { keepalive } = this.#facts;
    if (keepalive.kind !== 'client-frame') return;
    if (nowNs - this.#heartbeatNs < keepalive.everyMs * NS_PER_MS || this.#nextSendNs(nowNs) > nowNs) return;
    this.#heartbeatNs = nowNs;
    this.#send(keepalive.text, nowNs);
  }

  #wake(nowNs: number): void {
    const { keepalive, ackWithinMs } = this.#facts;
    const times = this.#inFlight.map((request) => request.sentNs + ackWithinMs * NS_PER_MS);
    if (this.#queue.length > 0) times.push(this.#nextSendNs(nowNs));
    if (keepalive.kind === 'client-frame') {
      times.push(Math.max(this.#heartbeatNs + keepalive.everyMs * NS_PER_MS, this.#nextSendNs(nowNs)));
    }
    if (times.length > 0) this.effects.push({ kind: 'wake', atNs: Math.min(...times) });
  }

  #answer(frame: ControlFrame): void {
    switch (frame.kind) {
      case 'ack':
        for (const request of this.#inFlight.filter((one) => one.id === frame.id)) {
          for (const stream of request.streams) this.#settle(request.action, stream);
        }
        return;
      case 'stream-ack':
        this.#settle(frame.action, frame.stream);
        return;
      case 'subscriptions':
        this.#settleAgainst(new Set(frame.streams));
        return;
      case 'refusal':
        this.#takeRefusal(frame);
        return;
      case 'heartbeat':
        this.effects.push({ kind: 'alive' });
        return;
      case 'notice':
        this.effects.push({ kind: 'rotate', reason: frame.reason });
        return;
      case 'data':
      case 'status':
      case 'unknown':
        return;
    }
  }

  /** The venue has granted one stream or let one go. A late ack heals a refusal that was blamed on the wrong stream. */
  #settle(action: Batch['action'], stream: string): void {
    this.#unrequest(action, stream);
    if (action === 'unsubscribe') {
      if (this.#joined.delete(stream)) this.effects.push({ kind: 'left', stream });
    } else if (!this.#joined.has(stream)) {
      this.#joined.add(stream);
      this.#refused.delete(stream);
      this.effects.push({ kind: 'acked', stream });
    }
  }

  /** The venue has listed everything that the connection is subscribed to. */
  #settleAgainst(granted: ReadonlySet<string>): void {
    for (const request of [...this.#inFlight]) {
      for (const stream of request.streams) {
        if (granted.has(stream) === (request.action === 'subscribe')) this.#settle(request.action, stream);
      }
    }
  }

  #unrequest(action: Batch['action'], stream: string): void {
    this.#inFlight = this.#inFlight
      .map((request) =>
        request.action === action ? { ...request, streams: request.streams.filter((one) => one !== stream) } : request,
      )
      .filter((request) => request.streams.length > 0);
  }

  /** A refusal names its request, its stream, its symbol, or nothing: then it answers the oldest request. */
  #takeRefusal(frame: Extract<ControlFrame, { kind: 'refusal' }>): void {
    const { id, stream, ending, reason } = frame;
    const request = this.#inFlight.find((one) =>
      id !== undefined ? one.id === id : stream === undefined || one.streams.includes(stream),
    );
    if (request === undefined) {
      this.effects.push({ kind: 'complain', reason });
      return;
    }
    const named = stream ?? (ending && request.streams.find((one) => one.endsWith(ending)));
    if (named !== undefined && named !== '') {
      this.#giveUp(request.action, named, 'TW_VENUE_REFUSED', reason);
    } else if (request.streams.length === 1) {
      this.#giveUp(request.action, request.streams[0]!, 'TW_VENUE_REFUSED', reason);
    } else {
      this.#halve(request);
    }
  }

  #halve(request: Request): void {
    this.#inFlight = this.#inFlight.filter((one) => one !== request);
    const middle = request.streams.length >> 1;
    const half = (streams: readonly string[]): Batch => ({ action: request.action, streams, tries: 0 });
    this.#queue.unshift(half(request.streams.slice(0, middle)), half(request.streams.slice(middle)));
  }

  #retryOverdue(nowNs: number): void {
    const overdue = this.#inFlight.filter((one) => nowNs - one.sentNs >= this.#facts.ackWithinMs * NS_PER_MS);
    for (const request of overdue) {
      if (request.tries < TRIES) {
        this.#inFlight = this.#inFlight.filter((one) => one !== request);
        this.#queue.push({ action: request.action, streams: request.streams, tries: request.tries });
      } else {
        for (const stream of request.streams) {
          this.#giveUp(request.action, stream, 'TW_VENUE_NO_ACK', `no answer to ${TRIES} requests`);
        }
      }
    }
  }

  #giveUp(action: Batch['action'], stream: string, code: RefusalCode, reason: string): void {
    this.#unrequest(action, stream);
    if (action === 'subscribe') this.#refuse(stream, code, reason);
    else if (this.#joined.delete(stream)) this.effects.push({ kind: 'left', stream });
  }

  #refuse(stream: string, code: RefusalCode, reason: string): void {
    this.#refused.set(stream, code);
    this.effects.push({ kind: 'refused', stream, code, reason });
  }
}
