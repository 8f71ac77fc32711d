import { formatUnits } from '../simulation/decimal.ts';
import { barsOf } from '../simulation/klines.ts';
import type { Listing } from '../simulation/listing.ts';
import type { VenueMarket } from '../simulation/market.ts';
import { json, type RestAnswer, type RestRequest } from '../simulation/simulated-venue.ts';
import { levelsText, tradeId } from './text.ts';

const LEVELS_MOST = 1000;
const TRADES_MOST = 10_000;
/** The steps of OHLC in seconds, and the bars that they are. */
const STEPS: Readonly<Record<string, string>> = {
  '60': '1m',
  '180': '3m',
  '300': '5m',
  '900': '15m',
  '1800': '30m',
  '3600': '1h',
  '7200': '2h',
  '14400': '4h',
  '21600': '6h',
  '43200': '12h',
  '86400': '1d',
  '259200': '3d',
};
const SPANS_US: Readonly<Record<string, number>> = { minute: 60e6, hour: 3600e6, day: 86_400e6 };

export function answerRest(market: VenueMarket, { path, query }: RestRequest): RestAnswer | undefined {
  const [, endpoint = '', pair] = /^\/api\/v2\/([a-z-_]+)\/(?:([a-z0-9-]+)\/?)?$/.exec(path) ?? [];
  if (endpoint === 'trading-pairs-info') return json([...market.listings.values()].map(describe));
  const listing = pair === undefined ? undefined : market.listings.get(pair);
  switch (endpoint) {
    case 'order_book':
      return listing === undefined ? notFound() : orderBook(market, listing);
    case 'transactions':
      return listing === undefined ? notFound() : transactions(market, listing, query);
    case 'ohlc':
      return listing === undefined ? notFound() : ohlc(market, listing, query);
    default:
      return undefined;
  }
}

function describe(listing: Listing) {
  const { base } = listing.instrument;
  const quote = listing.symbol.slice(base.length).toUpperCase();
  return {
    name: `${base}/${quote}`,
    url_symbol: listing.symbol,
    base_decimals: listing.amountDecimals,
    counter_decimals: listing.priceDecimals,
    minimum_order: `10.0 ${quote}`,
    trading: listing.trading ? 'Enabled' : 'Disabled',
    instant_and_market_orders: 'Enabled',
    description: `${base} / ${quote}`,
  };
}

function orderBook(market: VenueMarket, listing: Listing): RestAnswer {
  const bids = levelsText(listing, listing.book.bids, LEVELS_MOST);
  const asks = levelsText(listing, listing.book.asks, LEVELS_MOST);
  const body = `{"timestamp":"${Math.floor(market.nowUs / 1e6)}","microtimestamp":"${market.nowUs}","bids":${bids},"asks":${asks}}`;
  return { status: 200, body };
}

/** Newest first, as the venue sends them. */
function transactions(market: VenueMarket, listing: Listing, query: URLSearchParams): RestAnswer {
  const spanUs = SPANS_US[query.get('time') ?? 'hour'];
  if (spanUs === undefined) return refuse('Invalid time interval');
  const trades = listing.trades.between(market.nowUs - spanUs, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
  return json(
    trades
      .slice(-TRADES_MOST)
      .reverse()
      .map((trade) => ({
        date: String(Math.floor(trade.timeUs / 1e6)),
        tid: String(tradeId(trade)),
        price: formatUnits(trade.price, listing.priceDecimals),
        type: trade.takerBuys ? '0' : '1',
        amount: formatUnits(trade.lots, listing.amountDecimals),
      })),
  );
}

function ohlc(market: VenueMarket, listing: Listing, query: URLSearchParams): RestAnswer {
  const interval = STEPS[query.get('step') ?? ''];
  const limit = Number(query.get('limit') ?? Number.NaN);
  if (interval === undefined || !Number.isInteger(limit) || limit < 1 || limit > 1000) {
    return refuse('Both step and limit are needed');
  }
  const milliseconds = (name: string) => (query.has(name) ? Number(query.get(name)) * 1000 : undefined);
  const wanted = { interval, limit, startMs: milliseconds('start'), endMs: milliseconds('end') };
  const bars = barsOf(listing.trades, wanted, Math.floor(market.nowUs / 1000));
  const price = (ticks: bigint) => formatUnits(ticks, listing.priceDecimals);
  return json({
    data: {
      pair: describe(listing).name,
      ohlc: bars.map((bar) => ({
        timestamp: String(bar.openMs / 1000),
        open: price(bar.open),
        high: price(bar.high),
        low: price(bar.low),
        close: price(bar.close),
        volume: formatUnits(bar.volume, listing.amountDecimals),
      })),
    },
  });
}

function notFound(): RestAnswer {
  return refuse('Not Found', 404);
}

function refuse(reason: string, status = 400): RestAnswer {
  return json({ status: 'error', reason }, status);
}
