import { asArray, asStrings, asText, parseObject } from '../json.ts';
import { DayStats } from '../simulation/day-stats.ts';
import type { Link } from '../simulation/link.ts';
import type { Listing, MarketProfile } from '../simulation/listing.ts';
import type {
  ClientRules,
  RestAnswer,
  RestRequest,
  SimulatedVenue,
  VenueContext,
  VenueSession,
  VenueSimulation,
} from '../simulation/simulated-venue.ts';
import { BINANCE } from './facts.ts';
import { BinanceRest } from './simulator-rest.ts';
import { AGGREGATE_ID_BASE, aggregateFields, bookText, changesText, miniTicker, updateId } from './text.ts';

const PARTIAL_DEPTHS = [5, 10, 20];
const TICKERS = '!miniTicker@arr';
/** Streams without a speed in their name come every second: at every tenth step. */
const SLOW_STEPS = 10;

const magnitude = (price: number) => Math.floor(Math.log10(price));

/** Price and amount have at most eight decimals together, so that quote volumes are exact in eight. */
const PROFILE: MarketProfile = {
  quoteAsset: (quote) => (quote === 'USD' ? 'USDT' : quote),
  priceDecimals: (price) => Math.min(6, Math.max(2, 4 - magnitude(price))),
  amountDecimals: (price) => Math.min(8 - PROFILE.priceDecimals(price), Math.max(1, magnitude(price) + 1)),
  aggregatesFills: true,
};

const RULES: ClientRules = {
  frameBytesMost: undefined,
  framesPerSecondMost: BINANCE.limits.framesPerSecond,
  connects: BINANCE.limits.connects,
  subscribeWithinMs: undefined,
  maxAgeMs: BINANCE.limits.maxAgeMs,
  pingEveryMs: 20_000,
  pongWithinMs: 60_000,
};

class SimulatedBinance implements SimulatedVenue {
  readonly #context: VenueContext;
  readonly #rest: BinanceRest;
  readonly #days = new Map<Listing, DayStats>();
  readonly #tradedThisSecond = new Set<Listing>();
  #steps = 0;

  constructor(context: VenueContext) {
    this.#context = context;
    this.#rest = new BinanceRest(context.market, (listing) => this.#dayOf(listing));
  }

  serves(path: string): boolean {
    return /^\/(stream\/?$|ws$|ws\/)/.test(path);
  }

  open(path: string, query: URLSearchParams, link: Link): VenueSession {
    const combined = path.startsWith('/stream');
    const named = combined ? (query.get('streams') ?? '') : path.slice('/ws/'.length);
    const session = new BinanceSession(this.#context, link, combined);
    session.join(named.split('/').filter((stream) => stream !== ''));
    return session;
  }

  step(): void {
    this.#steps++;
    for (const listing of this.#context.market.listings.values()) {
      if (!listing.trading) continue;
      if (this.#context.hub.isUsed) this.#publishBooks(listing);
      this.#publishTrades(listing);
    }
  }

  /** Partial books come on a timer, changed or not; diffs only when something changed. */
  #publishBooks(listing: Listing): void {
    const { hub, market } = this.#context;
    const name = listing.symbol.toLowerCase();
    const { symbol, book } = listing;
    const sequence = String(updateId(book.version));
    for (const depth of PARTIAL_DEPTHS) {
      for (const stream of [`${name}@depth${depth}@100ms`, `${name}@depth${depth}`]) {
        if (!hub.wants(stream) || (!stream.endsWith('@100ms') && this.#steps % SLOW_STEPS !== 0)) continue;
        hub.publish({ stream, symbol, kind: 'book', sequence, payload: bookText(listing, depth) });
      }
    }
    const stream = `${name}@depth@100ms`;
    if (!book.changed || !hub.wants(stream)) return;
    const eventMs = Math.floor(market.nowUs / 1000);
    const payload = `{"e":"depthUpdate","E":${eventMs},"s":"${symbol}","U":${updateId(listing.stepVersion + 1)},"u":${sequence},"b":${changesText(listing, book.bids)},"a":${changesText(listing, book.asks)}}`;
    hub.publish({ stream, symbol, kind: 'book', sequence, payload });
  }

  #publishTrades(listing: Listing): void {
    const { hub, market } = this.#context;
    const { symbol } = listing;
    const eventMs = Math.floor(market.nowUs / 1000);
    const stream = `${symbol.toLowerCase()}@aggTrade`;
    const wanted = hub.wants(stream);
    const day = this.#dayOf(listing);
    for (const trade of listing.stepTrades) {
      day.add(trade);
      this.#tradedThisSecond.add(listing);
      if (!wanted) continue;
      const payload = `{"e":"aggTrade","E":${eventMs},"s":"${symbol}",${aggregateFields(listing, trade)}}`;
      hub.publish({ stream, symbol, kind: 'trades', sequence: String(AGGREGATE_ID_BASE + trade.sequence), payload });
    }
  }

  everySecond(): void {
    const { hub, market } = this.#context;
    const eventMs = Math.floor(market.nowUs / 1000);
    const traded = [...this.#tradedThisSecond];
    this.#tradedThisSecond.clear();
    if (traded.length === 0 || !hub.wants(TICKERS)) return;
    const tickers = traded.flatMap((listing) => miniTicker(listing, this.#dayOf(listing), eventMs) ?? []);
    const payload = JSON.stringify(tickers);
    hub.publish({ stream: TICKERS, symbol: '', kind: 'tickers', sequence: String(eventMs), payload });
  }

  notice() {
    const eventMs = Math.floor(this.#context.market.nowUs / 1000);
    return { stream: '!serverShutdown', payload: `{"e":"serverShutdown","E":${eventMs}}` };
  }

  rest(request: RestRequest): RestAnswer | undefined {
    return this.#rest.answer(request);
  }

  #dayOf(listing: Listing): DayStats {
    const present = this.#days.get(listing);
    if (present !== undefined) return present;
    const added = new DayStats();
    this.#days.set(listing, added);
    return added;
  }
}

class BinanceSession implements VenueSession {
  readonly #context: VenueContext;
  readonly #link: Link;
  #combined: boolean;

  constructor(context: VenueContext, link: Link, combined: boolean) {
    this.#context = context;
    this.#link = link;
    this.#combined = combined;
  }

  /** Any name is taken; one that no listing has is simply never served. */
  join(streams: readonly string[]): void {
    for (const stream of streams) {
      this.#context.hub.join(this.#link, stream, (stream.split('@')[0] ?? '').toUpperCase());
    }
    if (this.#link.streams.size > BINANCE.limits.streamsPerConnection) this.#link.close(1008, 'Too many streams');
  }

  receive(text: string): void {
    this.#link.control(JSON.stringify(this.#answer(text)));
  }

  wrap(stream: string, payload: string): string {
    return this.#combined ? `{"stream":"${stream}","data":${payload}}` : payload;
  }

  #answer(text: string): object {
    const request = parseObject(text);
    if (request === undefined) return { code: 3, msg: 'Invalid JSON: expected value at line 1 column 1' };
    const id = request['id'] ?? null;
    const method = asText(request['method']);
    const [params, streams] = [asArray(request['params']), asStrings(request['params'])];
    switch (method) {
      case 'SUBSCRIBE':
      case 'UNSUBSCRIBE':
        if (streams.length === 0 || streams.length !== params.length) {
          return { code: 2, msg: 'Invalid request: expected an array of stream names in `params`', id };
        }
        if (method === 'SUBSCRIBE') this.join(streams);
        else for (const stream of streams) this.#context.hub.leave(this.#link, stream);
        return { result: null, id };
      case 'LIST_SUBSCRIPTIONS':
        return { result: [...this.#link.streams], id };
      case 'SET_PROPERTY':
        if (params[0] !== 'combined' || typeof params[1] !== 'boolean') return { code: 0, msg: 'Unknown property', id };
        this.#combined = params[1];
        return { result: null, id };
      default: {
        const known = '`SUBSCRIBE`, `UNSUBSCRIBE`, `LIST_SUBSCRIPTIONS`, `SET_PROPERTY`, `GET_PROPERTY`';
        return { code: 2, msg: `Invalid request: unknown variant ${method ?? ''}, expected one of ${known}`, id };
      }
    }
  }
}

export const binanceSimulation: VenueSimulation = {
  wsPath: '/stream',
  profile: PROFILE,
  rules: RULES,
  start: (context) => new SimulatedBinance(context),
};
