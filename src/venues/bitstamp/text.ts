// How Bitstamp spells what the simulated market does.
import type { BookSide } from '../simulation/book.ts';
import { formatUnits } from '../simulation/decimal.ts';
import type { Listing } from '../simulation/listing.ts';
import type { SimulatedTrade } from '../simulation/trade-log.ts';

/** Ids begin beyond 2^53 and grow with holes. */
const TRADE_ID_BASE = 2_001_939_623_936_278_528n;
const TRADE_ID_STEP = 4096n;

export function tradeId(trade: SimulatedTrade): bigint {
  const sequence = BigInt(trade.sequence);
  return TRADE_ID_BASE + sequence * TRADE_ID_STEP + ((sequence * 2654435761n) % TRADE_ID_STEP);
}

function levelText(listing: Listing, price: number, lots: number): string {
  return `["${formatUnits(price, listing.priceDecimals)}","${formatUnits(lots, listing.amountDecimals)}"]`;
}

export function levelsText(listing: Listing, side: BookSide, depth: number): string {
  return side.render(depth, (price, lots) => levelText(listing, price, lots));
}

export function changesText(listing: Listing, side: BookSide): string {
  return `[${[...side.changes].map(([price, lots]) => levelText(listing, price, lots)).join(',')}]`;
}
