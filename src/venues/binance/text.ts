// How Binance spells what the simulated market does: eight decimals everywhere, ids that began long ago.
import type { BookSide } from '../simulation/book.ts';
import type { DayStats } from '../simulation/day-stats.ts';
import { formatUnits } from '../simulation/decimal.ts';
import type { Listing } from '../simulation/listing.ts';
import type { SimulatedTrade } from '../simulation/trade-log.ts';

const SHOWN = 8;
const UPDATE_ID_BASE = 47_000_000_000;
export const AGGREGATE_ID_BASE = 3_000_000_000;
const TRADE_ID_BASE = 5_000_000_000;

export const updateId = (version: number): number => UPDATE_ID_BASE + version;
export const tradeId = (id: number): number => (id === 0 ? -1 : TRADE_ID_BASE + id);

export function priceText(listing: Listing, ticks: number | bigint): string {
  return formatUnits(ticks, listing.priceDecimals, SHOWN);
}

export function amountText(listing: Listing, lots: number | bigint): string {
  return formatUnits(lots, listing.amountDecimals, SHOWN);
}

export function quoteText(listing: Listing, ticksTimesLots: bigint): string {
  return formatUnits(ticksTimesLots, listing.priceDecimals + listing.amountDecimals, SHOWN);
}

function levelText(listing: Listing, price: number, lots: number): string {
  return `["${priceText(listing, price)}","${amountText(listing, lots)}"]`;
}

/** The best levels of a side: [["97234.11000000","2.42179000"],...] */
function levelsText(listing: Listing, side: BookSide, depth: number): string {
  return side.render(depth, (price, lots) => levelText(listing, price, lots));
}

export function changesText(listing: Listing, side: BookSide): string {
  return `[${[...side.changes].map(([price, lots]) => levelText(listing, price, lots)).join(',')}]`;
}

export function bookText(listing: Listing, depth: number): string {
  const { bids, asks, version } = listing.book;
  return `{"lastUpdateId":${updateId(version)},"bids":${levelsText(listing, bids, depth)},"asks":${levelsText(listing, asks, depth)}}`;
}

/** The fields of an aggregate trade that stream and REST have in common. */
export function aggregateFields(listing: Listing, trade: SimulatedTrade): string {
  const price = priceText(listing, trade.price);
  const amount = amountText(listing, trade.lots);
  return `"a":${AGGREGATE_ID_BASE + trade.sequence},"p":"${price}","q":"${amount}","f":${tradeId(trade.firstId)},"l":${tradeId(trade.lastId)},"T":${Math.floor(trade.timeUs / 1000)},"m":${!trade.takerBuys},"M":true`;
}

export function miniTicker(listing: Listing, stats: DayStats, eventMs: number) {
  const day = stats.read();
  if (day === undefined) return undefined;
  return {
    e: '24hrMiniTicker',
    E: eventMs,
    s: listing.symbol,
    c: priceText(listing, day.close),
    o: priceText(listing, day.open),
    h: priceText(listing, day.high),
    l: priceText(listing, day.low),
    v: amountText(listing, day.volume),
    q: quoteText(listing, day.quoteVolume),
  };
}
