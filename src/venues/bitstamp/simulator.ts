import { asObject, asText, parseObject } from '../json.ts';
import { formatUnits, trimUnits } from '../simulation/decimal.ts';
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
import { BITSTAMP } from './facts.ts';
import { answerRest } from './simulator-rest.ts';
import { changesText, levelsText, tradeId } from './text.ts';

const DEPTH = 100;
const CHANNEL = /^(order_book|diff_order_book|live_trades)_([a-z0-9-]+)$/;
const magnitude = (price: number) => Math.floor(Math.log10(price));

const PROFILE: MarketProfile = {
  quoteAsset: (quote) => quote,
  priceDecimals: (price) => Math.min(8, Math.max(0, 4 - magnitude(price))),
  amountDecimals: () => 8,
  aggregatesFills: false,
};

const RULES: ClientRules = {
  frameBytesMost: 511,
  framesPerSecondMost: undefined,
  connects: undefined,
  subscribeWithinMs: undefined,
  maxAgeMs: BITSTAMP.limits.maxAgeMs,
  pingEveryMs: 54_000,
  pongWithinMs: 108_000,
};

class SimulatedBitstamp implements SimulatedVenue {
  readonly #context: VenueContext;

  constructor(context: VenueContext) {
    this.#context = context;
  }

  serves(path: string): boolean {
    return path === '' || path === '/';
  }

  open(_path: string, _query: URLSearchParams, link: Link): VenueSession {
    return new BitstampSession(this.#context, link);
  }

  /** Change-driven: a book that nothing has happened to sends nothing. */
  step(): void {
    if (!this.#context.hub.isUsed) return;
    for (const listing of this.#context.market.listings.values()) {
      if (!listing.trading) continue;
      if (listing.book.changed) this.#publishBooks(listing);
      this.#publishTrades(listing);
    }
  }

  #publishBooks(listing: Listing): void {
    const { hub, market } = this.#context;
    const { symbol, book } = listing;
    const sequence = String(market.nowUs);
    const times = `"timestamp":"${Math.floor(market.nowUs / 1e6)}","microtimestamp":"${sequence}"`;
    const frame = (stream: string, bids: string, asks: string) =>
      `{"data":{${times},"bids":${bids},"asks":${asks}},"channel":"${stream}","event":"data"}`;
    const full = `order_book_${symbol}`;
    if (hub.wants(full)) {
      const payload = frame(full, levelsText(listing, book.bids, DEPTH), levelsText(listing, book.asks, DEPTH));
      hub.publish({ stream: full, symbol, kind: 'book', sequence, payload });
    }
    const diff = `diff_order_book_${symbol}`;
    if (hub.wants(diff)) {
      const payload = frame(diff, changesText(listing, book.bids), changesText(listing, book.asks));
      hub.publish({ stream: diff, symbol, kind: 'book', sequence, payload });
    }
  }

  #publishTrades(listing: Listing): void {
    const { hub } = this.#context;
    const stream = `live_trades_${listing.symbol}`;
    if (!hub.wants(stream)) return;
    for (const trade of listing.stepTrades) {
      const id = tradeId(trade);
      const amount = formatUnits(trade.lots, listing.amountDecimals);
      const price = formatUnits(trade.price, listing.priceDecimals);
      const payload = `{"data":{"id":${id},"id_str":"${id}","type":${trade.takerBuys ? 0 : 1},"sell_order_id":${2_050_545_352_740_993 + trade.sequence},"buy_order_id":${2_050_545_360_601_216 + trade.sequence},"amount":${trimUnits(trade.lots, listing.amountDecimals)},"amount_str":"${amount}","price":${trimUnits(trade.price, listing.priceDecimals)},"price_str":"${price}","microtimestamp":"${trade.timeUs}","timestamp":"${Math.floor(trade.timeUs / 1e6)}"},"channel":"${stream}","event":"trade"}`;
      hub.publish({ stream, symbol: listing.symbol, kind: 'trades', sequence: String(id), payload });
    }
  }

  everySecond(): void {}

  notice() {
    return { stream: '', payload: '{"event":"bts:request_reconnect","channel":"","data":null}' };
  }

  rest(request: RestRequest): RestAnswer | undefined {
    const { market } = this.#context;
    const answer = answerRest(market, request);
    // Its clients have no other way to learn its time.
    const date = new Date(market.nowUs / 1000).toUTCString();
    return answer && { ...answer, headers: { ...answer.headers, date } };
  }
}

class BitstampSession implements VenueSession {
  readonly #context: VenueContext;
  readonly #link: Link;

  constructor(context: VenueContext, link: Link) {
    this.#context = context;
    this.#link = link;
  }

  receive(text: string): void {
    const frame = parseObject(text);
    const channel = asText(asObject(frame?.['data'])?.['channel']) ?? '';
    switch (asText(frame?.['event'])) {
      case 'bts:subscribe':
        this.#subscribe(channel);
        return;
      case 'bts:unsubscribe':
        if (!CHANNEL.test(channel)) {
          this.#refuse('Invalid channel provided.');
          return;
        }
        this.#context.hub.leave(this.#link, channel);
        this.#say('bts:unsubscription_succeeded', channel, {});
        return;
      case 'bts:heartbeat':
        if (this.#context.faults.isOn('ping-silence') === undefined) {
          this.#say('bts:heartbeat', '', { status: 'success' });
        }
        return;
      default:
        this.#refuse('Incorrect JSON format.');
    }
  }

  wrap(_stream: string, payload: string): string {
    return payload;
  }

  /** A pair in lower case is acked whether it exists or not; the 1025th channel ends the connection without a word. */
  #subscribe(channel: string): void {
    const pair = CHANNEL.exec(channel)?.[2];
    if (pair === undefined) {
      this.#refuse('Invalid channel provided.');
    } else if (this.#link.streams.size >= BITSTAMP.limits.streamsPerConnection && !this.#link.streams.has(channel)) {
      this.#link.cut();
    } else {
      this.#say('bts:subscription_succeeded', channel, {});
      this.#context.hub.join(this.#link, channel, pair);
    }
  }

  #refuse(message: string): void {
    this.#say('bts:error', '', { code: null, message });
  }

  #say(event: string, channel: string, data: object): void {
    this.#link.control(JSON.stringify({ event, channel, data }));
  }
}

export const bitstampSimulation: VenueSimulation = {
  wsPath: '',
  profile: PROFILE,
  rules: RULES,
  start: (context) => new SimulatedBitstamp(context),
};
