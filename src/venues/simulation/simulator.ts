import { access, appendFile, constants } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { VENUES } from '../index.ts';
import type { Venue } from '../venue.ts';
import { answerControl } from './control.ts';
import { type FaultRequest, parseFault } from './faults.ts';
import { DEFAULT_SYMBOLS, newListingName } from './instruments.ts';
import { type BarQuery, barsOf, type VenueBar } from './klines.ts';
import type { Listing } from './listing.ts';
import { Market } from './market.ts';
import { playRecording, Recorder } from './recording.ts';
import { type ClientRules, json, type RestAnswer } from './simulated-venue.ts';
import { Station } from './station.ts';
import { Stepper } from './stepper.ts';
import type { SimulatedTrade } from './trade-log.ts';

export interface SimulatorOptions {
  /** 0 asks the system for a free port. */
  readonly port?: number;
  readonly seed?: number;
  /** Market seconds that pass in one second. */
  readonly speed?: number;
  /** Book frames a second on each busy stream, 1 to 2000. */
  readonly rate?: number;
  /** Instruments, BASE-QUOTE, listed on all venues. */
  readonly symbols?: readonly string[];
  readonly venues?: readonly Venue[];
  /** Where market time begins; now, unless given. */
  readonly startMs?: number;
  /** Trades that each symbol's history keeps. */
  readonly retainTrades?: number;
  /** Market milliseconds between new listings; 0 for none. */
  readonly listEveryMs?: number;
  /** Adds "sent_ns" (process.hrtime) to every data frame. */
  readonly stamps?: boolean;
  /** The market moves only by `advance`. */
  readonly manual?: boolean;
  /** Overrides of what the venues do to their clients. */
  readonly rules?: Partial<ClientRules>;
  /** A file to append all data frames to. */
  readonly record?: string;
  /** A file of frames to serve instead of the market's, once nobody has subscribed for a second, or from `play` where manual. */
  readonly replay?: string;
}

/** What the venues know to be true. */
export interface Truth {
  nowMs(venue: string): number;
  symbols(venue: string): readonly string[];
  listing(venue: string, symbol: string): Listing;
  trades(venue: string, symbol: string): readonly SimulatedTrade[];
  bars(venue: string, symbol: string, query: BarQuery): readonly VenueBar[];
  /** When a frame was sent, by the stream and its update id, microtimestamp or trade id. */
  sentNs(venue: string, stream: string, sequence: string): bigint | undefined;
}

export interface Simulator {
  readonly url: string;
  readonly port: number;
  readonly truth: Truth;
  endpoints(venue: string): { readonly wsUrl: string; readonly restUrl: string };
  /** Moves the market on by a number of steps at once. */
  advance(steps: number): void;
  fault(request: FaultRequest): void;
  clearFaults(): void;
  status(): object;
  /** Starts the replay, once. */
  play(): void;
  /** Settles when a replay has ended, with how; never, where nothing is replayed. */
  readonly replayed: Promise<string>;
  stop(): Promise<void>;
}

const LISTINGS_MOST = 100;
const HOUSEKEEPING_MS = 50;
/** A client's subscriptions come one after the other; a book that is joined behind its snapshot would not begin at all. */
const JOINED_FOR_MS = 1_000;

/** Starts all simulated venues on one port of the loopback interface. */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  const { record, replay } = options;
  if (record !== undefined) await usable('record', appendFile(record, ''));
  if (replay !== undefined) await usable('replay', access(replay, constants.R_OK));
  const simulation = new Simulation(options);
  await simulation.listen(options.port ?? 0);
  return simulation;
}

class Simulation implements Simulator {
  readonly #options: SimulatorOptions;
  readonly #market: Market;
  readonly #stations: readonly Station[];
  readonly #stepper: Stepper;
  readonly #stepsPerSecond: number;
  readonly #recorder: Recorder | undefined;
  readonly #abort = new AbortController();
  readonly #server = createServer((request, response) => void this.#respond(request, response));
  #housekeeping: NodeJS.Timeout | undefined;
  #replayEnd: string | undefined;
  #listed = 0;
  #nextListingUs = Number.POSITIVE_INFINITY;
  port = 0;
  #playing = false;
  #endReplay: (how: string) => void = () => {};
  readonly replayed = new Promise<string>((resolve) => {
    this.#endReplay = resolve;
  });

  constructor(options: SimulatorOptions) {
    this.#options = options;
    const rate = inRange('rate', options.rate ?? 10, 1, 2000);
    const speed = inRange('speed', options.speed ?? 1, 0.01, 100_000);
    const retain = inRange('retainTrades', options.retainTrades ?? 200_000, 100, 10_000_000);
    this.#stepsPerSecond = Math.round(rate);
    const startUs = (options.startMs ?? Date.now()) * 1000;
    const stepUs = Math.max(1, Math.round((1e6 / rate) * speed));
    this.#market = new Market({ seed: options.seed ?? 1, startUs, stepUs, retain });
    this.#stations = (options.venues ?? VENUES).map(
      (venue) => new Station(venue, this.#market, { stamps: options.stamps ?? false, rules: options.rules ?? {} }),
    );
    for (const symbol of options.symbols ?? DEFAULT_SYMBOLS) this.#market.list(symbol);
    if ((options.listEveryMs ?? 0) > 0) this.#nextListingUs = startUs + options.listEveryMs! * 1000;
    this.#recorder = options.record === undefined ? undefined : new Recorder(options.record);
    for (const station of this.#stations) this.#observe(station);
    this.#stepper = new Stepper(1000 / rate, () => this.advance(1));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  #observe(station: Station): void {
    station.hub.muted = this.#options.replay !== undefined;
    if (this.#recorder === undefined) return;
    station.hub.onPublish = (stream, frame) =>
      this.#recorder?.write({ t_us: this.#market.nowUs, venue: station.id, stream, frame });
  }

  async listen(port: number): Promise<void> {
    this.#server.on('upgrade', (request, socket, head) => {
      socket.on('error', () => socket.destroy());
      const { station, path, query } = this.#route(request);
      if (station === undefined) socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
      else station.upgrade(request, socket, head, path, query);
    });
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error) =>
        reject(
          new TapeworksError('TW_SIM_CANNOT_LISTEN', `port ${port}: ${error.message}`, { port }, { cause: error }),
        ),
      );
      this.#server.listen(port, '127.0.0.1', resolve);
    });
    this.port = (this.#server.address() as AddressInfo).port;
    this.#housekeeping = setInterval(() => {
      const nowMs = performance.now();
      for (const station of this.#stations) station.keepHouse(nowMs);
      const joinedMs = Math.max(...this.#stations.map((station) => station.hub.joinedMs));
      const isJoined = Number.isFinite(joinedMs) && nowMs - joinedMs >= JOINED_FOR_MS;
      if (this.#options.manual !== true && isJoined) this.play();
    }, HOUSEKEEPING_MS);
    if (this.#options.manual !== true) this.#stepper.start();
  }

  play(): void {
    const { replay } = this.#options;
    if (replay === undefined || this.#playing) return;
    this.#playing = true;
    void this.#replay(replay).then(this.#endReplay);
  }

  async #replay(path: string): Promise<string> {
    try {
      await playRecording(path, this.#options.speed ?? 1, this.#abort.signal, (frame) => {
        this.#stations.find((station) => station.id === frame.venue)?.hub.replay(frame.stream, frame.frame);
      });
      this.#replayEnd = 'all frames served';
    } catch (error) {
      this.#replayEnd = error instanceof Error ? error.message : String(error);
    }
    return this.#replayEnd;
  }

  advance(steps: number): void {
    for (let step = 0; step < steps; step++) {
      this.#market.step();
      if (this.#market.nowUs >= this.#nextListingUs && this.#listed < LISTINGS_MOST) {
        this.#market.list(newListingName(this.#listed++));
        this.#nextListingUs += this.#options.listEveryMs! * 1000;
      }
      for (const station of this.#stations) station.step();
      if (this.#market.steps % this.#stepsPerSecond === 0) for (const station of this.#stations) station.everySecond();
    }
  }

  fault(input: FaultRequest): void {
    const request = parseFault(
      input,
      this.#stations.map((station) => station.id),
    );
    const struck = this.#stations.filter((station) => request.venue === undefined || station.id === request.venue);
    const able = struck.filter((station) => station.canFail(request));
    if (able.length === 0) {
      throw new TapeworksError('TW_SIM_BAD_FAULT', `kind: ${request.venue ?? 'no venue'} has no ${request.kind}`);
    }
    for (const station of able) station.fail(request);
  }

  clearFaults(): void {
    for (const station of this.#stations) station.faults.clear();
  }

  endpoints(venue: string): { readonly wsUrl: string; readonly restUrl: string } {
    const { wsPath } = (this.#options.venues ?? VENUES).find((one) => one.facts.id === venue)!.simulation;
    return { wsUrl: `ws://127.0.0.1:${this.port}/${venue}${wsPath}`, restUrl: `${this.url}/${venue}` };
  }

  readonly truth: Truth = {
    nowMs: (venue) => Math.floor(this.#station(venue).market.nowUs / 1000),
    symbols: (venue) => [...this.#station(venue).market.listings.keys()],
    listing: (venue, symbol) => this.#listing(venue, symbol),
    trades: (venue, symbol) => this.#listing(venue, symbol).trades.from(1, Number.POSITIVE_INFINITY),
    bars: (venue, symbol, query) =>
      barsOf(this.#listing(venue, symbol).trades, query, this.#station(venue).market.nowUs / 1000),
    sentNs: (venue, stream, sequence) => this.#station(venue).hub.sentNs(stream, sequence),
  };

  #station(id: string): Station {
    const found = this.#stations.find((station) => station.id === id);
    if (found === undefined) throw new TapeworksError('TW_VENUE_UNKNOWN', `no venue "${id}" is simulated`);
    return found;
  }

  #listing(venue: string, symbol: string): Listing {
    const found = this.#station(venue).market.listings.get(symbol);
    if (found === undefined) throw new TapeworksError('TW_VENUE_REFUSED', `${venue} does not list "${symbol}"`);
    return found;
  }

  status(): object {
    return {
      seed: this.#market.options.seed,
      steps: this.#market.steps,
      stepsSkipped: this.#stepper.skipped,
      marketTime: new Date(this.#market.nowUs / 1000).toISOString(),
      replay: this.#options.replay === undefined ? undefined : (this.#replayEnd ?? 'running'),
      recorded: this.#recorder?.written,
      venues: Object.fromEntries(
        this.#stations.map((station) => [
          station.id,
          {
            symbols: station.market.listings.size,
            clients: station.hub.links.length,
            framesPublished: station.hub.published,
            slowClientsDropped: station.slowClientsDropped,
            faults: station.faults.list(),
            struck: Object.fromEntries(station.faults.struck),
          },
        ]),
      ),
    };
  }

  #route(request: IncomingMessage) {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1');
    const id = url.pathname.split('/')[1] ?? '';
    const station = this.#stations.find((one) => one.id === id);
    return { station, path: url.pathname.slice(id.length + 1), query: url.searchParams, wholePath: url.pathname };
  }

  async #answer(request: IncomingMessage): Promise<RestAnswer> {
    try {
      const { station, path, query, wholePath } = this.#route(request);
      const answer =
        station === undefined
          ? await answerControl(this, wholePath, query, request)
          : station.rest({ path, query, headers: request.headers });
      return answer ?? json({ error: 'not found' }, 404);
    } catch (error) {
      return json({ error: error instanceof Error ? error.message : String(error) }, 500);
    }
  }

  async #respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#answer(request);
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body);
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    this.#stepper.stop();
    clearInterval(this.#housekeeping);
    for (const station of this.#stations) station.stop();
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await this.#recorder?.close();
  }
}

/** A file that cannot be used is told at the start, not when the first frame wants it. */
async function usable(option: string, trial: Promise<void>): Promise<void> {
  await trial.catch((error: Error) => {
    throw new TapeworksError('TW_SIM_BAD_OPTION', `${option}: ${error.message}`, {}, { cause: error });
  });
}

function inRange(name: string, value: number, least: number, most: number): number {
  if (value >= least && value <= most) return value;
  throw new TapeworksError('TW_SIM_BAD_OPTION', `${name}: expected ${least}..${most}, got ${value}`);
}
