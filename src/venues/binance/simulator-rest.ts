import type { DayStats } from '../simulation/day-stats.ts';
import { formatUnits } from '../simulation/decimal.ts';
import { barsOf, INTERVALS } from '../simulation/klines.ts';
import type { Listing } from '../simulation/listing.ts';
import type { VenueMarket } from '../simulation/market.ts';
import { json, type RestAnswer, type RestRequest } from '../simulation/simulated-venue.ts';
import { BINANCE } from './facts.ts';
import { AGGREGATE_ID_BASE, aggregateFields, amountText, bookText, miniTicker, priceText, quoteText } from './text.ts';

const ROWS_MOST = 1000;
const ROWS_USUAL = 500;
const DEPTH_MOST = 5000;
/** A client that goes on after this many refusals in a minute is banned. */
const REFUSALS_BEFORE_BAN = 20;

interface Endpoint {
  weight(query: URLSearchParams): number;
  run(query: URLSearchParams): RestAnswer;
}

/** The public REST endpoints, with their request weights counted by the wall clock's minute. */
export class BinanceRest {
  readonly #market: VenueMarket;
  readonly #dayOf: (listing: Listing) => DayStats;
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  #minute = 0;
  #weight = 0;
  #refusals = 0;

  constructor(market: VenueMarket, dayOf: (listing: Listing) => DayStats) {
    this.#market = market;
    this.#dayOf = dayOf;
    this.#endpoints = new Map<string, Endpoint>([
      ['/api/v3/ping', { weight: () => 1, run: () => json({}) }],
      ['/api/v3/time', { weight: () => 1, run: () => json({ serverTime: this.#nowMs }) }],
      ['/api/v3/depth', { weight: depthWeight, run: (query) => this.#depth(query) }],
      ['/api/v3/aggTrades', { weight: () => 4, run: (query) => this.#aggTrades(query) }],
      ['/api/v3/klines', { weight: () => 2, run: (query) => this.#klines(query) }],
      ['/api/v3/exchangeInfo', { weight: () => 20, run: () => this.#exchangeInfo() }],
      ['/api/v3/ticker/price', { weight: () => 4, run: (query) => this.#prices(query) }],
      ['/api/v3/ticker/24hr', { weight: () => 80, run: (query) => this.#day(query) }],
    ]);
  }

  get #nowMs(): number {
    return Math.floor(this.#market.nowUs / 1000);
  }

  answer({ path, query }: RestRequest): RestAnswer | undefined {
    const endpoint = this.#endpoints.get(path);
    if (endpoint === undefined) return undefined;
    const minute = Math.floor(Date.now() / 60_000);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#weight = 0;
      this.#refusals = 0;
    }
    this.#weight += endpoint.weight(query);
    const headers = { 'x-mbx-used-weight': String(this.#weight), 'x-mbx-used-weight-1m': String(this.#weight) };
    const answer = this.#weight > BINANCE.rest.weightPerMinute ? this.#tooMany() : endpoint.run(query);
    return { ...answer, headers: { ...answer.headers, ...headers } };
  }

  #tooMany(): RestAnswer {
    this.#refusals++;
    const banned = this.#refusals > REFUSALS_BEFORE_BAN;
    const retryAfter = String(Math.ceil((60_000 - (Date.now() % 60_000)) / 1000));
    const msg = banned ? 'Way too much request weight used; IP banned.' : 'Too much request weight used.';
    return { ...json({ code: -1003, msg }, banned ? 418 : 429), headers: { 'retry-after': retryAfter } };
  }

  #listing(query: URLSearchParams): Listing | RestAnswer {
    const symbol = query.get('symbol');
    if (symbol === null)
      return refuse(-1102, "Mandatory parameter 'symbol' was not sent, was empty/null, or malformed.");
    return this.#market.listings.get(symbol) ?? refuse(-1121, 'Invalid symbol.');
  }

  #depth(query: URLSearchParams): RestAnswer {
    const listing = this.#listing(query);
    if ('status' in listing) return listing;
    const limit = wholeNumber(query, 'limit') ?? 100;
    return { status: 200, body: bookText(listing, Math.min(limit, DEPTH_MOST)) };
  }

  #aggTrades(query: URLSearchParams): RestAnswer {
    const listing = this.#listing(query);
    if ('status' in listing) return listing;
    const limit = Math.min(wholeNumber(query, 'limit') ?? ROWS_USUAL, ROWS_MOST);
    const fromId = wholeNumber(query, 'fromId');
    const startMs = wholeNumber(query, 'startTime');
    const endMs = wholeNumber(query, 'endTime');
    if (fromId !== undefined && (startMs !== undefined || endMs !== undefined)) {
      return refuse(-1128, 'Combination of optional parameters invalid.');
    }
    const log = listing.trades;
    const trades =
      fromId !== undefined
        ? log.from(fromId - AGGREGATE_ID_BASE, limit)
        : startMs !== undefined || endMs !== undefined
          ? log.between((startMs ?? 0) * 1000, (endMs ?? this.#nowMs) * 1000 + 1000, limit)
          : log.from(log.next - limit, limit);
    return { status: 200, body: `[${trades.map((trade) => `{${aggregateFields(listing, trade)}}`).join(',')}]` };
  }

  #klines(query: URLSearchParams): RestAnswer {
    const listing = this.#listing(query);
    if ('status' in listing) return listing;
    const interval = query.get('interval') ?? '';
    if (!INTERVALS.includes(interval)) return refuse(-1120, 'Invalid interval.');
    const bars = barsOf(
      listing.trades,
      {
        interval,
        startMs: wholeNumber(query, 'startTime'),
        endMs: wholeNumber(query, 'endTime'),
        limit: Math.min(wholeNumber(query, 'limit') ?? ROWS_USUAL, ROWS_MOST),
      },
      this.#nowMs,
    );
    return json(
      bars.map((bar) => [
        bar.openMs,
        priceText(listing, bar.open),
        priceText(listing, bar.high),
        priceText(listing, bar.low),
        priceText(listing, bar.close),
        amountText(listing, bar.volume),
        bar.closeMs,
        quoteText(listing, bar.quoteVolume),
        bar.trades,
        amountText(listing, bar.takerBuyVolume),
        quoteText(listing, bar.takerBuyQuoteVolume),
        '0',
      ]),
    );
  }

  #exchangeInfo(): RestAnswer {
    const symbols = [...this.#market.listings.values()].map((listing) => ({
      symbol: listing.symbol,
      status: listing.trading ? 'TRADING' : 'BREAK',
      baseAsset: listing.instrument.base,
      baseAssetPrecision: 8,
      quoteAsset: listing.symbol.slice(listing.instrument.base.length),
      quotePrecision: 8,
      filters: [
        { filterType: 'PRICE_FILTER', tickSize: formatUnits(1, listing.priceDecimals, 8) },
        { filterType: 'LOT_SIZE', stepSize: formatUnits(1, listing.amountDecimals, 8) },
      ],
    }));
    const rateLimits = [
      { rateLimitType: 'REQUEST_WEIGHT', interval: 'MINUTE', intervalNum: 1, limit: BINANCE.rest.weightPerMinute },
    ];
    return json({ timezone: 'UTC', serverTime: this.#nowMs, rateLimits, exchangeFilters: [], symbols });
  }

  #prices(query: URLSearchParams): RestAnswer {
    return this.#each(query, (listing) => {
      const day = this.#dayOf(listing).read();
      return day && { symbol: listing.symbol, price: priceText(listing, day.close) };
    });
  }

  #day(query: URLSearchParams): RestAnswer {
    return this.#each(query, (listing) => {
      const ticker = miniTicker(listing, this.#dayOf(listing), this.#nowMs);
      return (
        ticker && {
          symbol: ticker.s,
          lastPrice: ticker.c,
          openPrice: ticker.o,
          highPrice: ticker.h,
          lowPrice: ticker.l,
          volume: ticker.v,
          quoteVolume: ticker.q,
          closeTime: ticker.E,
        }
      );
    });
  }

  /** One symbol's answer, or all symbols' where none is named. */
  #each(query: URLSearchParams, describe: (listing: Listing) => object | undefined): RestAnswer {
    if (!query.has('symbol')) return json([...this.#market.listings.values()].flatMap((one) => describe(one) ?? []));
    const listing = this.#listing(query);
    return 'status' in listing ? listing : json(describe(listing) ?? { symbol: listing.symbol });
  }
}

function depthWeight(query: URLSearchParams): number {
  const limit = wholeNumber(query, 'limit') ?? 100;
  if (limit <= 100) return 5;
  if (limit <= 500) return 25;
  return limit <= 1000 ? 50 : 250;
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

function refuse(code: number, msg: string): RestAnswer {
  return json({ code, msg }, 400);
}
