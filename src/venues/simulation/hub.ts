import type { VenueFaults } from './faults.ts';
import { type Link, type Treatment, UNTREATED } from './link.ts';
import type { VenueSession } from './simulated-venue.ts';

/** What a published frame is about, for faults and for those who ask when it was sent. */
export interface Published {
  readonly stream: string;
  readonly symbol: string;
  readonly kind: 'book' | 'trades' | 'tickers';
  /** The number by which consumers tell this frame from others: an update id, a microtimestamp, a trade id. */
  readonly sequence: string;
  readonly payload: string;
}

const SENT_TIMES_MOST = 65_536;

/** Who has subscribed to what on one venue; the one way by which data reaches clients. */
export class VenueHub {
  readonly #subscribers = new Map<string, Set<Link>>();
  readonly #sessions = new Map<Link, VenueSession>();
  readonly #faults: VenueFaults;
  /** Send times by stream and sequence, the newest SENT_TIMES_MOST. */
  readonly #sentNs = new Map<string, bigint>();
  /** Sees every frame once, as its first subscriber gets it, before faults: recordings and tests. */
  onPublish: ((stream: string, text: string) => void) | undefined;
  /** A replay serves the recording's frames instead of the market's. */
  muted = false;
  published = 0;
  /** When a client last subscribed to anything. */
  joinedMs = Number.NEGATIVE_INFINITY;

  constructor(faults: VenueFaults) {
    this.#faults = faults;
  }

  get links(): readonly Link[] {
    return [...this.#sessions.keys()];
  }

  /** True once anybody is subscribed to anything. */
  get isUsed(): boolean {
    return this.#subscribers.size > 0;
  }

  enter(link: Link, session: VenueSession): void {
    this.#sessions.set(link, session);
  }

  exit(link: Link): void {
    for (const stream of [...link.streams]) this.leave(link, stream);
    this.#sessions.delete(link);
  }

  /** Subscribes a client. A fault may let the venue forget about it after the ack. */
  join(link: Link, stream: string, symbol: string): void {
    this.joinedMs = performance.now();
    link.subscribedMs ??= this.joinedMs;
    link.streams.add(stream);
    if (link.isSilent || this.#faults.take('ack-then-silence', symbol) !== undefined) return;
    const present = this.#subscribers.get(stream);
    if (present === undefined) this.#subscribers.set(stream, new Set([link]));
    else present.add(link);
  }

  leave(link: Link, stream: string): void {
    link.streams.delete(stream);
    const subscribers = this.#subscribers.get(stream);
    subscribers?.delete(link);
    if (subscribers?.size === 0) this.#subscribers.delete(stream);
  }

  /** True if somebody listens, so that it is worth making the frame. */
  wants(stream: string): boolean {
    return !this.muted && this.#subscribers.has(stream);
  }

  publish(published: Published): void {
    const subscribers = this.#subscribers.get(published.stream);
    if (subscribers === undefined || this.muted) return;
    this.published++;
    this.#remember(published);
    const treatment = this.#treat(published);
    let observed = this.onPublish === undefined;
    for (const link of subscribers) {
      const text = this.#sessions.get(link)!.wrap(published.stream, published.payload);
      if (!observed) this.onPublish?.(published.stream, text);
      observed = true;
      link.data(published.stream, text, treatment);
    }
  }

  /** Sends a payload to one client alone, such as the snapshot that follows its subscription. */
  sendTo(link: Link, stream: string, payload: string): void {
    if (this.muted || !this.#subscribers.get(stream)?.has(link)) return;
    const text = this.#sessions.get(link)!.wrap(stream, payload);
    this.onPublish?.(stream, text);
    link.data(stream, text, UNTREATED);
  }

  /** Sends a control frame to every client, in the form in which each gets its frames. */
  announce(stream: string, payload: string): void {
    for (const [link, session] of this.#sessions) link.control(session.wrap(stream, payload));
  }

  /** Sends a frame of a recording to whoever listens to its stream. */
  replay(stream: string, frame: string): void {
    for (const link of this.#subscribers.get(stream) ?? []) {
      link.data(stream, this.#sessions.get(link)!.replay?.(frame) ?? frame, UNTREATED);
    }
  }

  sentNs(stream: string, sequence: string): bigint | undefined {
    return this.#sentNs.get(`${stream} ${sequence}`);
  }

  #remember({ stream, sequence }: Published): void {
    this.#sentNs.set(`${stream} ${sequence}`, process.hrtime.bigint());
    if (this.#sentNs.size > SENT_TIMES_MOST) this.#sentNs.delete(this.#sentNs.keys().next().value!);
  }

  #treat({ kind, symbol }: Published): Treatment {
    const faults = this.#faults;
    const dropped = kind === 'trades' ? 'dropped-trades' : 'gap';
    if (kind !== 'tickers' && faults.take(dropped, symbol) !== undefined) return { ...UNTREATED, drop: true };
    const late = kind === 'trades' ? faults.take('late-trades', symbol) : undefined;
    return {
      drop: false,
      twice: faults.take('duplicate', symbol) !== undefined,
      swap: faults.take('out-of-order', symbol) !== undefined,
      fragment: faults.take('fragmented', symbol) !== undefined,
      lateMs: late === undefined ? 0 : (late.value ?? 3000),
    };
  }
}
