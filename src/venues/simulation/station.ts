import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { type ConnectBudget, requestConnect } from '../reconnect.ts';
import type { Venue } from '../venue.ts';
import { symbolOf } from '../venue.ts';
import { type FaultRequest, VenueFaults } from './faults.ts';
import { VenueHub } from './hub.ts';
import { instrumentNamed, newListingName } from './instruments.ts';
import { Link } from './link.ts';
import type { Market, VenueMarket } from './market.ts';
import type { ClientRules, RestAnswer, RestRequest, SimulatedVenue } from './simulated-venue.ts';
import { json } from './simulated-venue.ts';

const INBOUND_BYTES_MOST = 64 << 10;
const OVERSIZED_BYTES = 16 << 20;
const POLICY_VIOLATION = 1008;
const MESSAGE_TOO_BIG = 1009;
const SERVICE_RESTART = 1012;

/** One simulated venue with its clients: enforces the venue's rules and carries faults out. */
export class Station {
  readonly id: string;
  readonly market: VenueMarket;
  readonly hub: VenueHub;
  readonly faults = new VenueFaults();
  readonly #venue: Venue;
  readonly #rules: ClientRules;
  readonly #stamps: boolean;
  readonly #wholeMarket: Market;
  readonly #simulated: SimulatedVenue;
  readonly #server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: INBOUND_BYTES_MOST,
    autoPong: false,
  });
  #connects: ConnectBudget = [];
  #listed = 0;
  slowClientsDropped = 0;

  constructor(
    venue: Venue,
    market: Market,
    options: { readonly stamps: boolean; readonly rules: Partial<ClientRules> },
  ) {
    const { facts, simulation } = venue;
    this.id = facts.id;
    this.#venue = venue;
    this.#wholeMarket = market;
    this.#rules = { ...simulation.rules, ...options.rules };
    this.#stamps = options.stamps;
    this.market = market.addVenue(facts.id, simulation.profile, (base, quote) => symbolOf(facts, base, quote));
    this.market.isStill = () => this.faults.isOn('still-market') !== undefined;
    this.hub = new VenueHub(this.faults);
    this.#simulated = simulation.start({ facts, market: this.market, hub: this.hub, faults: this.faults });
  }

  step(): void {
    this.#simulated.step();
  }

  everySecond(): void {
    this.#simulated.everySecond();
  }

  /** Takes a client in, or refuses it as the venue would. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, path: string, query: URLSearchParams): void {
    const refuse = (status: string) =>
      socket.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
    if (!this.#simulated.serves(path)) return void refuse('404 Not Found');
    if (this.faults.take('refuse-connections') !== undefined) return void refuse('503 Service Unavailable');
    const isSuccessor = this.hub.links.length > 0;
    if (isSuccessor && this.faults.take('successor-refused') !== undefined)
      return void refuse('503 Service Unavailable');
    if (this.#rules.connects !== undefined) {
      const answer = requestConnect(this.#connects, this.#rules.connects, performance.now() * 1e6);
      this.#connects = answer.budget;
      if (!answer.granted) return void refuse('429 Too Many Requests');
    }
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      const link = new Link(webSocket, socket, this.faults, this.#stamps, isSuccessor);
      link.onSlow = () => this.slowClientsDropped++;
      const session = this.#simulated.open(path, query, link);
      this.hub.enter(link, session);
      webSocket.on('message', (data, isBinary) => {
        const bytes = data as Buffer;
        if (this.#admits(link, bytes.length) && !isBinary) session.receive(bytes.toString());
      });
      webSocket.on('ping', (data) => {
        if (this.#admits(link, data.length) && this.faults.isOn('ping-silence') === undefined) link.pong(data);
      });
      webSocket.on('pong', (data) => {
        link.pongedMs = performance.now();
        this.#admits(link, data.length);
      });
      webSocket.on('error', () => link.cut());
      webSocket.on('close', () => {
        this.hub.exit(link);
        link.dispose();
      });
    });
  }

  /** Counts a frame of a client against the venue's limits, and ends the connection if it breaks them. */
  #admits(link: Link, bytes: number): boolean {
    const { frameBytesMost, framesPerSecondMost } = this.#rules;
    if (frameBytesMost !== undefined && bytes > frameBytesMost) {
      link.close(MESSAGE_TOO_BIG, `read limited at ${frameBytesMost + 2} bytes`);
      return false;
    }
    if (framesPerSecondMost !== undefined && !link.withinRate(framesPerSecondMost)) {
      link.close(POLICY_VIOLATION, 'Too many requests');
      return false;
    }
    return true;
  }

  /** Pings, deadlines and ages, by the wall clock. */
  keepHouse(nowMs: number): void {
    const { maxAgeMs, subscribeWithinMs, pingEveryMs, pongWithinMs } = this.#rules;
    const silent = this.faults.isOn('ping-silence') !== undefined;
    const isSilenceOver = this.faults.isOn('successor-silence') === undefined;
    for (const link of this.hub.links) {
      if (link.isSilent && isSilenceOver) {
        link.cut();
      } else if (maxAgeMs !== undefined && nowMs - link.openedMs >= maxAgeMs) {
        link.close(POLICY_VIOLATION, 'Connection is too old');
      } else if (
        subscribeWithinMs !== undefined &&
        link.subscribedMs === undefined &&
        nowMs - link.openedMs >= subscribeWithinMs
      ) {
        link.close(POLICY_VIOLATION, 'No subscription in time');
      } else if (pongWithinMs !== undefined && !silent && link.pingedMs - link.pongedMs >= pongWithinMs) {
        link.close(POLICY_VIOLATION, 'Pong timeout');
      } else if (pingEveryMs !== undefined && !silent && nowMs - link.pingedMs >= pingEveryMs) {
        link.ping();
      }
    }
  }

  rest(request: RestRequest): RestAnswer | undefined {
    const banned = this.faults.take('http-418');
    if (banned !== undefined) return tooMany(418, banned.value ?? 2);
    const throttled = this.faults.take('http-429');
    if (throttled !== undefined) return tooMany(429, throttled.value ?? 1);
    if (this.faults.take('http-500') !== undefined) return json({ code: -1000, msg: 'Internal error' }, 500);
    if (this.hub.links.length > 1 && request.path === this.#snapshotPath) {
      if (this.faults.take('successor-no-snapshot') !== undefined)
        return json({ code: -1000, msg: 'Internal error' }, 500);
    }
    return this.#simulated.rest(request);
  }

  /** Where the snapshots that its changes stand on are asked for. */
  get #snapshotPath(): string | undefined {
    const { snapshot } = this.#venue.walker;
    return snapshot && new URL(snapshot.url('http://venue', '')).pathname;
  }

  /** True where the fault makes sense on this venue. */
  canFail(request: FaultRequest): boolean {
    if (request.kind === 'shutdown-notice') return this.#simulated.notice() !== undefined;
    if (request.kind === 'successor-no-snapshot') return this.#snapshotPath !== undefined;
    if (request.kind !== 'corrupt-checksum') return true;
    return Object.values(this.#venue.facts.streams).some((stream) => stream.gapProof === 'checksum');
  }

  fail(request: FaultRequest): void {
    switch (request.kind) {
      case 'disconnect':
        for (const link of this.hub.links) {
          if (request.value === undefined) link.cut();
          else link.close(request.value, 'Disconnected on request');
        }
        return;
      case 'garbage':
        this.#toAll((turn) => `{"garbage":${'\u0000['.repeat(turn + 1)}`, request.count ?? 1);
        return;
      case 'oversized':
        this.#toAll(() => `{"oversized":"${'x'.repeat(request.value ?? OVERSIZED_BYTES)}"}`, 1);
        return;
      case 'shutdown-notice':
        this.#announceShutdown(request);
        return;
      case 'clock-offset':
        this.market.clockOffsetUs = (request.value ?? 0) * 1000;
        return;
      case 'new-listing':
        this.#wholeMarket.list(request.symbol ?? newListingName(this.#listed++), [this.market]);
        return;
      case 'delisting':
        this.#delist(request);
        return;
      default:
        this.faults.start(request);
    }
  }

  #toAll(frame: (turn: number) => string, count: number): void {
    for (let turn = 0; turn < count; turn++) {
      const text = frame(turn);
      for (const link of this.hub.links) link.control(text);
    }
  }

  #announceShutdown(request: FaultRequest): void {
    const links = this.hub.links;
    const notice = this.#simulated.notice();
    if (notice !== undefined) this.hub.announce(notice.stream, notice.payload);
    if (request.durationMs === undefined) return;
    setTimeout(() => {
      for (const link of links) link.close(SERVICE_RESTART, 'Service restart');
    }, request.durationMs).unref();
  }

  #delist(request: FaultRequest): void {
    const instrument = instrumentNamed(request.symbol ?? '', this.#wholeMarket.options.seed);
    const listing = this.market.listings.get(this.market.symbolFor(instrument));
    if (listing === undefined) {
      throw new TapeworksError('TW_SIM_BAD_FAULT', `symbol: ${this.id} does not list ${request.symbol ?? 'nothing'}`);
    }
    listing.trading = false;
  }

  stop(): void {
    for (const link of this.hub.links) link.cut();
    this.#server.close();
  }
}

function tooMany(status: number, retryAfterSeconds: number): RestAnswer {
  const body = { code: -1003, msg: 'Too many requests on request of the test' };
  return { ...json(body, status), headers: { 'retry-after': String(retryAfterSeconds) } };
}
