// One venue connection: frames in, books into slots, trades into rings, feed states to whoever asks.
//
//   waiting --backoff over, budget granted--> connecting --open--> open <--promoted-- rotating
//      ^                                          |                  |                    ^
//      +------------ failed or lost --------------+------------------+   notice, age, wish |
//                                                                    +--------------------+
//
// A successor's frames are read like the current connection's own; which of the two delivered an update first does not
// matter, because each stream passes on a number once.
import type { ExchangeStatus } from '../../protocols/exchange.ts';
import type { ExchangeSettings } from '../../protocols/topology.ts';
import type { SubscriptionEffect } from '../../protocols/venue.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { isUsable } from '../../venues/feed.ts';
import { patientVenue } from '../../venues/patience.ts';
import { ROTATION, type Rotation, type RotationEvent, rotate, STEADY } from '../../venues/rotation.ts';
import type { Venue } from '../../venues/venue.ts';
import { Counters } from './counters.ts';
import type { ExchangeOptions } from './exchange-options.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameSource } from './frame-source.ts';
import { kernelFor } from './kernel.ts';
import { connectionStatus, isPingDue, lifeOf, replacementReason } from './life.ts';
import { Link } from './link.ts';
import { Redial } from './redial.ts';
import type { Stream } from './stream.ts';
import { carriedStreams, isCarried, owedStreams, takeOver } from './succession.ts';
import { matched, wantedStreams } from './wanted-streams.ts';

const NS_PER_MS = 1e6;
const NONE: ReadonlySet<string> = new Set();

export class Exchange {
  readonly #options: ExchangeOptions;
  readonly #counters = new Counters();
  readonly #reader: FrameReader;
  #settings: ExchangeSettings;
  /** The venue with the operator's patience. */
  #venue: Venue;
  #streams: ReadonlyMap<string, Stream>;
  #current: Link | undefined;
  #successor: Link | undefined;
  #rotation: Rotation = STEADY;
  readonly #redial: Redial;
  #since = { ns: nowNs(), reason: 'starting' };
  #isClosed = false;

  constructor(options: ExchangeOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#redial = new Redial(options.venue.facts.limits.connects);
    this.#venue = patientVenue(options.venue, options.settings);
    this.#streams = wantedStreams(this.#venue, options.settings, options.bookIndex);
    this.#reader = new FrameReader({
      newKernel: () => kernelFor(this.#streams.values(), options.settings.maxFrameBytes, options.books),
      venue: this.#venue,
      restUrl: options.restUrl,
      counters: this.#counters,
      decodeTimes: options.decodeTimes,
      rehearsal: options.rehearsal,
      books: options.books,
      trades: options.trades,
      onControl: (source, text, atNs) => this.#of(source, (link) => this.#control(link, text, atNs)),
      onCovered: (stream, atNs) => this.#rotate({ kind: 'covered', stream: stream.name, nowNs: atNs }),
      onBroken: (source, stream, reason) => this.#of(source, (link) => this.#broken(link, stream, reason)),
      onMissing: (source, reason) => this.#of(source, (link) => this.#replace(link, reason)),
    });
    this.#reader.route(this.#streams);
    this.#connect(nowNs());
  }

  /**
   * Time passes: judge the feeds, send what is due, connect or rotate when it is time. Call it every tenth of a second.
   * True when a feed has taken another state.
   */
  tick(): boolean {
    const now = nowNs();
    if (this.#current === undefined && now >= this.#redial.connection.atNs) this.#connect(now);
    for (const link of this.#links()) this.#tickLink(link, now);
    if (this.#rotation.phase === 'overlapping')
      this.#rotate({
        kind: 'tick',
        nowNs: now,
        owed: owedStreams(this.#streams.values(), this.#successor?.source, now),
      });
    this.#reader.tellLosses(this.#streams.values(), now);
    this.#rotateIfDue(now);
    return [...this.#streams.values()].map((stream) => this.#judge(stream, now)).includes(true);
  }

  /** Opens a successor and changes over to it once nothing can fall between the two. */
  rotate(reason: string): void {
    if (this.#current === undefined || this.#current.openedAtNs === 0) return;
    this.#rotate({ kind: 'rotate', reason, streams: carriedStreams(this.#streams.values()), nowNs: nowNs() });
  }

  /** Leaves the stream of a symbol's trades and joins it again. */
  resubscribe(symbol: string): void {
    const link = this.#current;
    const stream = [...this.#streams.values()].find((one) => one.kind === 'trades' && one.mapped.symbol === symbol);
    if (!link?.openedAtNs || stream === undefined || this.#rotation.phase !== 'steady') return;
    this.#resubscribe(link, stream, 'joined anew: the ticker shows trades that do not come', nowNs());
  }

  /** Takes other symbols, limits and times while it runs; streams that stay are not disturbed. */
  reconfigure(settings: ExchangeSettings): void {
    const { venue, bookIndex } = this.#options;
    this.#settings = settings;
    this.#venue = patientVenue(venue, settings);
    const { streams, left } = matched(this.#streams, wantedStreams(this.#venue, settings, bookIndex));
    this.#streams = streams;
    for (const stream of left) this.#release(stream);
    this.#reader.route(this.#streams);
    for (const link of this.#links()) {
      // What now stands for something else is joined anew: nothing of what it was is taken along.
      this.#desire(link, nowNs(), new Set(left.map(({ name }) => name)));
      this.#desire(link, nowNs());
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const link of this.#links()) link.end();
    this.#current = undefined;
    this.#successor = undefined;
    for (const stream of this.#streams.values()) this.#leaveOut(stream);
  }

  status(): ExchangeStatus {
    return {
      path: this.#options.path,
      venue: this.#venue.facts.id,
      connection: connectionStatus(this.#current, this.#successor, this.#since, this.#options.wsUrl),
      streams: [...this.#streams.values()].map((stream) => stream.status(nowNs())),
      counters: this.#counters.view(),
      refused: this.#counters.refused,
    };
  }

  // --- connections ---

  #links(): Link[] {
    return [this.#current, this.#successor].filter((link) => link !== undefined);
  }

  /** What is said of a connection that is gone concerns nobody. */
  #of(source: FrameSource, act: (link: Link) => void): void {
    const link = this.#links().find((one) => one.source === source);
    if (link !== undefined) act(link);
  }

  #connect(now: number): void {
    if (!this.#redial.dial(this.#redial.connection, now)) {
      this.#since = { ns: now, reason: 'the venue allows no more connection attempts in this time' };
      return;
    }
    this.#current = this.#open('current');
    this.#since = { ns: now, reason: 'connecting' };
  }

  #open(role: FrameSource['role']): Link {
    const { maxFrameBytes, handshakeTimeoutMs } = this.#settings;
    const source = new FrameSource(role);
    this.#reader.attach(source);
    const options = { url: this.#options.wsUrl, maxFrameBytes, handshakeTimeoutMs };
    const link: Link = new Link(source, this.#venue, options, {
      opened: () => this.#opened(link),
      frames: this.#reader.listener(source),
      alive: (receivedNs) => {
        // Who has a heartbeat of its own is held to it: a venue can hang behind a front that still answers pings.
        if (!link.hasHeartbeat) this.#alive(link, receivedNs);
      },
      closed: (reason, isOversized) => {
        if (isOversized) this.#counters.refuse('TW_FRAME_SIZE', 0, Buffer.alloc(0));
        this.#lost(link, reason);
      },
    });
    return link;
  }

  #opened(link: Link): void {
    const now = nowNs();
    if (link === this.#current) this.#since = { ns: now, reason: 'open' };
    this.#desire(link, now);
    this.#subscriptions(link, { kind: 'opened', nowNs: now });
  }

  /** Ends a connection that does not serve any more. */
  #replace(link: Link, reason: string): void {
    link.end();
    this.#lost(link, reason);
  }

  #lost(link: Link, reason: string): void {
    if (this.#isClosed) return;
    const now = nowNs();
    this.#reader.forget(link.source);
    if (link === this.#successor) {
      this.#successor = undefined;
      this.#successorFailed(now);
      this.#rotate({ kind: 'successor-failed', nowNs: now });
      return;
    }
    const healthyMs = link.openedAtNs === 0 ? 0 : (now - link.openedAtNs) / NS_PER_MS;
    this.#current = undefined;
    if (this.#successor !== undefined && this.#successor.openedAtNs > 0) {
      this.#rotate({ kind: 'old-lost', nowNs: now });
      return;
    }
    for (const stream of this.#streams.values()) {
      stream.lose(now, reason);
      this.#leaveOut(stream);
    }
    this.#redial.connection.ended(this.#settings.reconnect, healthyMs, this.#options.random(), now);
    this.#counters.reconnections++;
    this.#since = { ns: now, reason };
  }

  #successorFailed(now: number): void {
    this.#counters.rotationsFailed++;
    this.#redial.successor.ended(this.#settings.reconnect, 0, this.#options.random(), now);
  }

  #alive(link: Link, receivedNs: number): void {
    link.source.heardNs = receivedNs;
    if (link !== this.#current) return;
    for (const stream of this.#streams.values()) stream.aliveNs = receivedNs;
  }

  #tickLink(link: Link, now: number): void {
    if (link.openedAtNs === 0) return;
    const verdict = lifeOf(link, this.#streams.values(), now);
    if (verdict !== 'alive') {
      this.#replace(link, verdict);
      return;
    }
    if (link === this.#current) for (const stream of this.#streams.values()) stream.proveAlive(link.source.heardNs);
    if (link.rejoins.release(now)) this.#desire(link, now);
    this.#subscriptions(link, { kind: 'tick', nowNs: now });
    if (!isPingDue(link, this.#settings.aliveWithinMs, now)) return;
    link.pingedNs = now;
    link.ping();
  }

  // --- subscriptions and rotation ---

  #control(link: Link, text: string, atNs: number): void {
    const frame = this.#venue.dialect.classify(text);
    if (frame.kind === 'heartbeat') link.hasHeartbeat = true;
    this.#alive(link, atNs);
    if (frame.sequence !== undefined && !this.#reader.isNextFrame(link.source, frame.sequence)) return;
    const isMissed = frame.kind === 'data' && this.#reader.miss(link.source, frame, 'a frame was not understood');
    if (frame.kind === 'unknown' || isMissed) this.#counters.refuse('TW_FRAME_UNKNOWN', 0, Buffer.from(text));
    this.#subscriptions(link, { kind: 'control', frame, nowNs: atNs });
  }

  #subscriptions(link: Link, event: Parameters<Link['subscribe']>[0]): void {
    for (const effect of link.subscribe(event)) this.#perform(link, effect, event.nowNs);
  }

  #perform(link: Link, effect: SubscriptionEffect, now: number): void {
    switch (effect.kind) {
      case 'send':
        link.send(effect.text);
        break;
      case 'requested':
        link.source.reading?.deltas.resume(effect.stream);
        if (link === this.#current) this.#streams.get(effect.stream)?.requested(now);
        break;
      case 'acked':
        this.#streams.get(effect.stream)?.acked(now);
        link.acked.add(effect.stream);
        if (link === this.#successor) this.#rotate({ kind: 'acked', stream: effect.stream, nowNs: now });
        break;
      case 'refused':
        if (link === this.#current) this.#streams.get(effect.stream)?.refused(now, effect.code, effect.reason);
        else {
          link.refused.set(effect.stream, effect);
          this.#rotate({ kind: 'gone', stream: effect.stream, nowNs: now });
        }
        break;
      case 'alive':
        this.#alive(link, now);
        break;
      case 'rotate':
        link.notice = effect.reason;
        this.#rotateIfDue(now);
        break;
      case 'complain':
        this.#counters.refuse('TW_VENUE_COMPLAINT', 0, Buffer.from(effect.reason));
        break;
    }
  }

  /** A venue that wants each connection replaced is followed ever more seldom: its limit of attempts is needed for losses. */
  #rotateIfDue(now: number): void {
    const reason = replacementReason(this.#current, this.#settings, this.#venue.facts, now);
    if (reason !== undefined && now >= this.#redial.successor.atNs) this.rotate(reason);
  }

  #rotate(event: RotationEvent): void {
    const [next, effects] = rotate(ROTATION, this.#rotation, event);
    this.#rotation = next;
    for (const effect of effects) {
      switch (effect.kind) {
        case 'open-successor':
          this.#openSuccessor(event.nowNs);
          break;
        case 'close-successor':
          this.#successorFailed(event.nowNs);
          this.#endLink(this.#successor);
          this.#successor = undefined;
          break;
        case 'promote':
          this.#promote(effect.uncovered, event.nowNs);
          break;
      }
    }
  }

  #openSuccessor(now: number): void {
    if (this.#redial.dial(this.#redial.successor, now)) {
      this.#reader.beginHandover(this.#streams.values());
      this.#successor = this.#open('successor');
    } else this.#rotate({ kind: 'successor-failed', nowNs: now });
  }

  #promote(uncovered: readonly string[], now: number): void {
    const promoted = this.#successor!;
    const livedMs = (now - (this.#current?.openedAtNs ?? now)) / NS_PER_MS;
    this.#redial.successor.ended(this.#settings.reconnect, livedMs, this.#options.random(), now);
    this.#endLink(this.#current);
    promoted.source.role = 'current';
    this.#current = promoted;
    this.#successor = undefined;
    this.#counters.rotations++;
    this.#since = { ns: now, reason: 'rotated' };
    const lacking = takeOver(promoted, this.#streams, uncovered, now);
    // What nothing carries on leaves now.
    for (const stream of this.#streams.values()) this.#judge(stream, now);
    this.#reader.endHandover(promoted.source, lacking);
  }

  #endLink(link: Link | undefined): void {
    if (link === undefined) return;
    link.end();
    this.#reader.forget(link.source);
  }

  /** A stream's book cannot be trusted any more. */
  #broken(link: Link, stream: Stream, reason: string): void {
    stream.gaps++;
    const now = nowNs();
    if (link === this.#current) {
      this.#leaveOut(stream);
      stream.lose(now, reason);
    } else if (isCarried(stream)) this.#rotate({ kind: 'uncovered', stream: stream.name, nowNs: now });
    link.rejoins.leave(stream.name, this.#settings.reconnect, this.#options.random(), now);
    this.#desire(link, now);
  }

  /** Leaving the stream and joining it again brings a new beginning; the others of the connection are not disturbed. */
  #resubscribe(link: Link, stream: Stream, reason: string, now: number): void {
    if (link === this.#current) stream.lose(now, reason);
    this.#desire(link, now, new Set([stream.name]));
    this.#desire(link, now);
  }

  #desire(link: Link, now: number, without: ReadonlySet<string> = NONE): void {
    const streams = [...this.#streams.keys()].filter((name) => !without.has(name) && !link.rejoins.isOut(name));
    this.#subscriptions(link, { kind: 'desire', streams, nowNs: now });
  }

  // --- feeds ---

  #judge(stream: Stream, now: number): boolean {
    const hasChanged = stream.judge(this.#venue.facts.ackWithinMs, now);
    const link = this.#current;
    // One after the other: requests that wait for their turn keep streams off that need not be.
    if (link?.isSettled === true && this.#rotation.phase === 'steady' && stream.isDueForRetry(now)) {
      this.#resubscribe(link, stream, `joined anew: ${stream.reason}`, now);
    }
    if (!stream.isBook) return hasChanged;
    if (!isUsable(stream.phase) || stream.lastFrameNs === 0) this.#leaveOut(stream);
    else this.#options.books?.countUntil(stream.symbol, stream.countsUntilMs);
    return hasChanged;
  }

  /** The stream's book is another's from now on, or nobody's. */
  #release(stream: Stream): void {
    this.#leaveOut(stream);
    if (stream.symbol >= 0) this.#options.books?.release(stream.symbol);
  }

  #leaveOut(stream: Stream): void {
    if (stream.isBook) this.#options.books?.leaveOut(stream.symbol);
  }
}
