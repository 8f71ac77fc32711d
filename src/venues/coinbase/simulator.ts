import { asStrings, asText, parseObject } from '../json.ts';
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
import { COINBASE } from './facts.ts';
import { coinbaseStream } from './protocol.ts';

const CHANNELS = ['level2', 'market_trades', 'heartbeats'];
const TRADES_IN_SNAPSHOT = 50;
/** Every client has a counter of its own; payloads are made once with this in its place. */
const SEQUENCE_PLACE = '"sequence_num":0';

const magnitude = (price: number) => Math.floor(Math.log10(price));

const PROFILE: MarketProfile = {
  quoteAsset: (quote) => quote,
  priceDecimals: (price) => Math.min(8, Math.max(2, 4 - magnitude(price))),
  amountDecimals: () => 8,
  aggregatesFills: false,
};

const RULES: ClientRules = {
  frameBytesMost: undefined,
  framesPerSecondMost: COINBASE.limits.framesPerSecond,
  connects: undefined,
  subscribeWithinMs: COINBASE.limits.subscribeWithinMs,
  maxAgeMs: undefined,
  pingEveryMs: undefined,
  pongWithinMs: undefined,
};

class SimulatedCoinbase implements SimulatedVenue {
  readonly #context: VenueContext;
  #heartbeats = 0;

  constructor(context: VenueContext) {
    this.#context = context;
  }

  serves(path: string): boolean {
    return path === '' || path === '/';
  }

  open(_path: string, _query: URLSearchParams, link: Link): VenueSession {
    return new CoinbaseSession(this.#context, this, link);
  }

  step(): void {
    const { hub, market } = this.#context;
    if (!hub.isUsed) return;
    for (const listing of market.listings.values()) {
      if (!listing.trading) continue;
      const { symbol, book } = listing;
      const level2 = coinbaseStream('level2', symbol);
      if (book.changed && hub.wants(level2)) {
        const sequence = String(market.nowUs);
        hub.publish({ stream: level2, symbol, kind: 'book', sequence, payload: this.#update(listing) });
      }
      const stream = coinbaseStream('market_trades', symbol);
      const trades = listing.stepTrades;
      if (trades.length === 0 || !hub.wants(stream)) continue;
      const payload = this.#trades('update', listing, trades);
      hub.publish({ stream, symbol, kind: 'trades', sequence: String(trades.at(-1)!.sequence), payload });
    }
  }

  everySecond(): void {
    const { hub, faults, market } = this.#context;
    if (faults.isOn('ping-silence') !== undefined || !hub.wants('heartbeats')) return;
    this.#heartbeats++;
    const time = formatTime(market.nowUs).replace('T', ' ').replace('Z', '000 +0000 UTC');
    const events = `[{"current_time":"${time}","heartbeat_counter":${this.#heartbeats}}]`;
    const payload = this.envelope('heartbeats', events);
    hub.publish({ stream: 'heartbeats', symbol: '', kind: 'tickers', sequence: String(this.#heartbeats), payload });
  }

  notice(): undefined {
    return undefined;
  }

  rest(): undefined {
    return undefined;
  }

  envelope(channel: string, events: string): string {
    return `{"channel":"${channel}","client_id":"","timestamp":"${formatTime(this.#context.market.nowUs)}",${SEQUENCE_PLACE},"events":${events}}`;
  }

  /** What a new subscriber gets at once. */
  snapshot(channel: string, listing: Listing): string {
    const { book, trades, symbol } = listing;
    if (channel === 'market_trades') {
      return this.#trades('snapshot', listing, trades.from(trades.next - TRADES_IN_SNAPSHOT, TRADES_IN_SNAPSHOT));
    }
    const all = (side: BookSide) => side.prices.map((price, at): [number, number] => [price, side.lots[at]!]);
    const updates = [
      ...this.#levels('bid', listing, all(book.bids)),
      ...this.#levels('offer', listing, all(book.asks)),
    ];
    return this.envelope('l2_data', `[{"type":"snapshot","product_id":"${symbol}","updates":[${updates.join(',')}]}]`);
  }

  #update(listing: Listing): string {
    const { bids, asks } = listing.book;
    const updates = [...this.#levels('bid', listing, bids.changes), ...this.#levels('offer', listing, asks.changes)];
    return this.envelope(
      'l2_data',
      `[{"type":"update","product_id":"${listing.symbol}","updates":[${updates.join(',')}]}]`,
    );
  }

  #levels(side: 'bid' | 'offer', listing: Listing, levels: Iterable<readonly [number, number]>): string[] {
    const time = formatTime(this.#context.market.nowUs);
    return Array.from(
      levels,
      ([price, lots]) =>
        `{"side":"${side}","event_time":"${time}","price_level":"${formatUnits(price, listing.priceDecimals)}","new_quantity":"${formatUnits(lots, listing.amountDecimals)}"}`,
    );
  }

  /** The venue names the maker's side. */
  #trades(type: 'snapshot' | 'update', listing: Listing, trades: readonly SimulatedTrade[]): string {
    const rows = trades.map(
      (trade) =>
        `{"trade_id":"${trade.sequence}","product_id":"${listing.symbol}","price":"${formatUnits(trade.price, listing.priceDecimals)}","size":"${formatUnits(trade.lots, listing.amountDecimals)}","side":"${trade.takerBuys ? 'SELL' : 'BUY'}","time":"${formatTime(trade.timeUs)}"}`,
    );
    return this.envelope('market_trades', `[{"type":"${type}","trades":[${rows.join(',')}]}]`);
  }
}

class CoinbaseSession implements VenueSession {
  readonly #context: VenueContext;
  readonly #venue: SimulatedCoinbase;
  readonly #link: Link;
  #sequence = 0;

  constructor(context: VenueContext, venue: SimulatedCoinbase, link: Link) {
    this.#context = context;
    this.#venue = venue;
    this.#link = link;
  }

  receive(text: string): void {
    const request = parseObject(text);
    const type = asText(request?.['type']) ?? '';
    const channel = asText(request?.['channel']) ?? '';
    const products = channel === 'heartbeats' ? [''] : asStrings(request?.['product_ids']);
    const problem = this.#problemWith(type, channel, products);
    if (problem !== undefined) {
      this.#link.control(JSON.stringify({ type: 'error', message: problem }));
      return;
    }
    const fresh = products.filter((product) => !this.#link.streams.has(coinbaseStream(channel, product)));
    if (type === 'unsubscribe') this.#leave(channel, products);
    else this.#join(channel, fresh);
  }

  #problemWith(type: string, channel: string, products: readonly string[]): string | undefined {
    if (type !== 'subscribe' && type !== 'unsubscribe') return 'unknown message type';
    if (!CHANNELS.includes(channel)) return `${channel} is not a valid channel`;
    const unknown = products.find((product) => product !== '' && !this.#context.market.listings.has(product));
    return unknown === undefined ? undefined : `${unknown} is not a valid product`;
  }

  #leave(channel: string, products: readonly string[]): void {
    for (const product of products) this.#context.hub.leave(this.#link, coinbaseStream(channel, product));
    this.#listSubscriptions();
  }

  #join(channel: string, products: readonly string[]): void {
    const { hub, market } = this.#context;
    for (const product of products) hub.join(this.#link, coinbaseStream(channel, product), product);
    this.#listSubscriptions();
    for (const product of products) {
      const listing = market.listings.get(product);
      if (listing === undefined) continue;
      hub.sendTo(this.#link, coinbaseStream(channel, product), this.#venue.snapshot(channel, listing));
    }
  }

  wrap(_stream: string, payload: string): string {
    return payload.replace(SEQUENCE_PLACE, `"sequence_num":${this.#sequence++}`);
  }

  /** The acks of this connection count too, so the numbers of the one that was recorded cannot stay. */
  replay(frame: string): string {
    return frame.replace(/"sequence_num"\s*:\s*\d+/, () => `"sequence_num":${this.#sequence++}`);
  }

  /** Every request is answered with all that the connection is subscribed to. */
  #listSubscriptions(): void {
    const subscriptions: Record<string, string[]> = {};
    for (const stream of this.#link.streams) {
      const [channel = '', product = 'heartbeats'] = stream.split(':');
      subscriptions[channel] = [...(subscriptions[channel] ?? []), product];
    }
    const events = JSON.stringify([{ subscriptions }]);
    this.#link.control(this.wrap('', this.#venue.envelope('subscriptions', events)));
  }
}

export const coinbaseSimulation: VenueSimulation = {
  wsPath: '',
  profile: PROFILE,
  rules: RULES,
  start: (context) => new SimulatedCoinbase(context),
};
