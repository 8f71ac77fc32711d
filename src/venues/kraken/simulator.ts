import { asInteger, asObject, asStrings, asText, type JsonObject, parseObject } from '../json.ts';
import type { BookSide } from '../simulation/book.ts';
import { formatTime, formatUnits } from '../simulation/decimal.ts';
import type { Link } from '../simulation/link.ts';
import type { Listing, MarketProfile } from '../simulation/listing.ts';
import type {
  ClientRules,
  SimulatedVenue,
  VenueContext,
  VenueSession,
  VenueSimulation,
} from '../simulation/simulated-venue.ts';
import type { SimulatedTrade } from '../simulation/trade-log.ts';
import { krakenStream } from './protocol.ts';
import { bookChecksum, CHECKED_LEVELS, type LevelText } from './sequence.ts';

const DEPTHS = [10, 25, 100, 500, 1000];
const TRADES_IN_SNAPSHOT = 50;

const magnitude = (price: number) => Math.floor(Math.log10(price));

const PROFILE: MarketProfile = {
  quoteAsset: (quote) => quote,
  priceDecimals: (price) => Math.min(8, Math.max(1, 5 - magnitude(price))),
  amountDecimals: () => 8,
  aggregatesFills: false,
};

const RULES: ClientRules = {
  frameBytesMost: undefined,
  framesPerSecondMost: undefined,
  connects: undefined,
  subscribeWithinMs: undefined,
  maxAgeMs: undefined,
  pingEveryMs: undefined,
  pongWithinMs: undefined,
};

/** What a client of one depth can see of a side: price -> lots, best first. */
type View = Map<number, number>;

function viewOf(side: BookSide, depth: number): View {
  return new Map(side.prices.slice(0, depth).map((price, at) => [price, side.lots[at]!]));
}

/** What must be sent so that a client that cuts its book to the depth sees the new view. */
function difference(side: BookSide, before: View, after: View): [price: number, lots: number][] {
  const changed = [...after].filter(([price, lots]) => before.get(price) !== lots);
  const gone = [...before.keys()].filter((price) => !after.has(price) && !side.prices.includes(price));
  return [...gone.map((price): [number, number] => [price, 0]), ...changed];
}

class SimulatedKraken implements SimulatedVenue {
  readonly #context: VenueContext;
  /** The last view that was sent on each subscribed book stream. */
  readonly #views = new Map<string, { bids: View; asks: View }>();

  constructor(context: VenueContext) {
    this.#context = context;
  }

  serves(path: string): boolean {
    return path === '/v2' || path === '/v2/';
  }

  open(_path: string, _query: URLSearchParams, link: Link): VenueSession {
    return new KrakenSession(this.#context, this, link);
  }

  step(): void {
    const { hub, market } = this.#context;
    if (!hub.isUsed) return;
    for (const listing of market.listings.values()) {
      if (!listing.trading) continue;
      for (const depth of DEPTHS) {
        const stream = krakenStream('book', depth, listing.symbol);
        if (!hub.wants(stream)) this.#views.delete(stream);
        else if (listing.book.changed) this.#publishBook(stream, depth, listing);
      }
      const stream = krakenStream('trade', undefined, listing.symbol);
      const trades = listing.stepTrades;
      if (trades.length === 0 || !hub.wants(stream)) continue;
      const payload = tradesFrame('update', listing, trades);
      const sequence = String(trades.at(-1)!.sequence);
      hub.publish({ stream, symbol: listing.symbol, kind: 'trades', sequence, payload });
    }
  }

  #publishBook(stream: string, depth: number, listing: Listing): void {
    const { bids, asks } = listing.book;
    const after = { bids: viewOf(bids, depth), asks: viewOf(asks, depth) };
    const before = this.#views.get(stream) ?? { bids: new Map(), asks: new Map() };
    this.#views.set(stream, after);
    const changes = {
      bids: difference(bids, before.bids, after.bids),
      asks: difference(asks, before.asks, after.asks),
    };
    if (changes.bids.length + changes.asks.length === 0) return;
    const corrupt = this.#context.faults.take('corrupt-checksum', listing.symbol) !== undefined;
    const payload = this.#bookFrame('update', listing, changes.bids, changes.asks, corrupt);
    const sequence = String(this.#context.market.nowUs);
    this.#context.hub.publish({ stream, symbol: listing.symbol, kind: 'book', sequence, payload });
  }

  /** What a new subscriber gets at once. */
  snapshot(stream: string, channel: string, depth: number, listing: Listing): string {
    const { bids, asks } = listing.book;
    if (channel === 'trade') {
      const { trades } = listing;
      return tradesFrame('snapshot', listing, trades.from(trades.next - TRADES_IN_SNAPSHOT, TRADES_IN_SNAPSHOT));
    }
    const view = { bids: viewOf(bids, depth), asks: viewOf(asks, depth) };
    this.#views.set(stream, view);
    return this.#bookFrame('snapshot', listing, [...view.bids], [...view.asks], false);
  }

  #bookFrame(
    type: 'snapshot' | 'update',
    listing: Listing,
    bids: readonly [number, number][],
    asks: readonly [number, number][],
    corrupt: boolean,
  ): string {
    const levels = (side: readonly [number, number][]) =>
      side
        .map(([price, lots]) => {
          const [priceText, amountText] = levelText(listing, price, lots);
          return `{"price":${priceText},"qty":${amountText}}`;
        })
        .join(',');
    const checksum = (checksumOf(listing) ^ (corrupt ? 1 : 0)) >>> 0;
    return `{"channel":"book","type":"${type}","data":[{"symbol":"${listing.symbol}","bids":[${levels(bids)}],"asks":[${levels(asks)}],"checksum":${checksum},"timestamp":"${formatTime(this.#context.market.nowUs)}"}]}`;
  }

  everySecond(): void {
    if (this.#context.faults.isOn('ping-silence') !== undefined) return;
    for (const link of this.#context.hub.links) if (link.streams.size > 0) link.control('{"channel":"heartbeat"}');
  }

  notice(): undefined {
    return undefined;
  }

  rest(): undefined {
    return undefined;
  }
}

function levelText(listing: Listing, price: number, lots: number): LevelText {
  return [formatUnits(price, listing.priceDecimals), formatUnits(lots, listing.amountDecimals)];
}

function checksumOf(listing: Listing): number {
  const top = (side: BookSide) =>
    side.prices.slice(0, CHECKED_LEVELS).map((price, at) => levelText(listing, price, side.lots[at]!));
  return bookChecksum(top(listing.book.asks), top(listing.book.bids));
}

function tradesFrame(type: 'snapshot' | 'update', listing: Listing, trades: readonly SimulatedTrade[]): string {
  const rows = trades.map((trade) => {
    const [price, quantity] = levelText(listing, trade.price, trade.lots);
    return `{"symbol":"${listing.symbol}","side":"${trade.takerBuys ? 'buy' : 'sell'}","price":${price},"qty":${quantity},"ord_type":"market","trade_id":${trade.sequence},"timestamp":"${formatTime(trade.timeUs)}"}`;
  });
  return `{"channel":"trade","type":"${type}","data":[${rows.join(',')}]}`;
}

class KrakenSession implements VenueSession {
  readonly #context: VenueContext;
  readonly #venue: SimulatedKraken;
  readonly #link: Link;

  constructor(context: VenueContext, venue: SimulatedKraken, link: Link) {
    this.#context = context;
    this.#venue = venue;
    this.#link = link;
    link.control(
      '{"channel":"status","type":"update","data":[{"version":"2.0.10","system":"online","api_version":"v2","connection_id":13834774380200032777}]}',
    );
  }

  receive(text: string): void {
    const request = parseObject(text);
    const method = asText(request?.['method']);
    if (request === undefined || method === undefined) {
      this.#answer({ error: 'Malformed request', method: 'error', success: false }, undefined);
    } else if (method === 'ping') {
      if (this.#context.faults.isOn('ping-silence') === undefined) this.#answer({ method: 'pong' }, request);
    } else if (method === 'subscribe' || method === 'unsubscribe') {
      this.#change(method, request);
    } else {
      this.#answer({ error: 'Unsupported method', method, success: false }, request);
    }
  }

  wrap(_stream: string, payload: string): string {
    return payload;
  }

  #change(method: 'subscribe' | 'unsubscribe', request: JsonObject): void {
    const params = asObject(request['params']) ?? {};
    const channel = asText(params['channel']) ?? '';
    const depth = asInteger(params['depth']) ?? 10;
    if (channel !== 'book' && channel !== 'trade') {
      this.#answer({ error: 'Channel is not supported', method, success: false }, request);
    } else if (channel === 'book' && !DEPTHS.includes(depth)) {
      this.#answer({ error: 'Subscription depth not supported', method, success: false }, request);
    } else {
      for (const symbol of asStrings(params['symbol'])) this.#changeOne(method, channel, depth, symbol, request);
    }
  }

  #changeOne(method: 'subscribe' | 'unsubscribe', channel: string, depth: number, symbol: string, request: JsonObject) {
    const { hub, market } = this.#context;
    const listing = market.listings.get(symbol);
    const refuse = (error: string) => this.#answer({ error, method, success: false, symbol }, request);
    if (listing === undefined) return refuse(`Currency pair not supported ${symbol}`);
    const stream = krakenStream(channel, channel === 'book' ? depth : undefined, symbol);
    const joined = this.#link.streams.has(stream);
    if (method === 'subscribe' && joined) return refuse('Already subscribed');
    if (method === 'unsubscribe' && !joined) return refuse('Subscription Not Found');
    const snapshot = asObject(request['params'])?.['snapshot'] !== false;
    const details = { ...(channel === 'book' ? { depth } : {}), ...(method === 'subscribe' ? { snapshot } : {}) };
    this.#answer({ method, result: { channel, symbol, ...details }, success: true }, request);
    if (method === 'unsubscribe') return hub.leave(this.#link, stream);
    hub.join(this.#link, stream, symbol);
    if (snapshot && hub.wants(stream)) {
      hub.sendTo(this.#link, stream, this.#venue.snapshot(stream, channel, depth, listing));
    }
  }

  #answer(answer: object, request: JsonObject | undefined): void {
    const id = asInteger(request?.['req_id']);
    const time = formatTime(this.#context.market.nowUs);
    this.#link.control(
      JSON.stringify({ ...answer, ...(id === undefined ? {} : { req_id: id }), time_in: time, time_out: time }),
    );
  }
}

export const krakenSimulation: VenueSimulation = {
  wsPath: '/v2',
  profile: PROFILE,
  rules: RULES,
  start: (context) => new SimulatedKraken(context),
};
