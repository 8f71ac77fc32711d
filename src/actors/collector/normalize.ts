// What the decode kernels give, as events: exact decimals as text, ids as text (Bitstamp's pass 2^53), times in ns.
import { BOOK, BOOK_LEVEL_BYTES, bookAsksOffset } from '../../protocols/book-layout.ts';
import type { NewEvent } from '../../protocols/event-producer.ts';
import type { MappedSymbol } from '../../protocols/topology.ts';
import { TRADE, TRADE_TAKER_BUY } from '../../protocols/trade-layout.ts';
import { toText } from '../publisher/decimal.ts';

const NS_PER_US = 1000n;

/** An event of the symbol, from the trade record at an offset. */
export function tradeEvent(mapped: MappedSymbol, view: DataView, at: number): NewEvent {
  const isBuy = (view.getUint32(at + TRADE.flags, true) & TRADE_TAKER_BUY) !== 0;
  const price = decimalAt(view, at + TRADE.price, mapped);
  const amount = decimalAt(view, at + TRADE.amount, mapped);
  return {
    eventType: 'trade',
    symbol: mapped.instrument,
    tsEvent: view.getBigUint64(at + TRADE.time_us, true) * NS_PER_US,
    payload:
      `{"price":"${price}","amount":"${amount}","side":"${isBuy ? 'buy' : 'sell'}",` +
      `"sequence":"${view.getBigUint64(at + TRADE.sequence, true)}",` +
      `"first_id":"${view.getBigUint64(at + TRADE.first_id, true)}",` +
      `"last_id":"${view.getBigUint64(at + TRADE.last_id, true)}",` +
      `"venue_symbol":${JSON.stringify(mapped.symbol)}}`,
  };
}

/** The best bid and ask of a book record. A side without levels is left out. */
export function quoteEvent(mapped: MappedSymbol, view: DataView, depth: number, receivedNs: bigint): NewEvent {
  const side = (name: string, count: number, at: number) =>
    count === 0
      ? ''
      : `"${name}_price":"${decimalAt(view, at, mapped)}","${name}_amount":"${decimalAt(view, at + 8, mapped)}",`;
  const bid = side('bid', view.getUint16(BOOK.bid_count, true), BOOK.levels);
  const ask = side('ask', view.getUint16(BOOK.ask_count, true), bookAsksOffset(depth));
  return bookEvent('quote', mapped, view, receivedNs, `${bid}${ask}`);
}

/** All levels that a book record holds, best first: [["97234.11","2.42179"],...]. */
export function orderBookEvent(mapped: MappedSymbol, view: DataView, depth: number, receivedNs: bigint): NewEvent {
  const side = (count: number, start: number) =>
    Array.from({ length: count }, (_, level) => {
      const at = start + level * BOOK_LEVEL_BYTES;
      return `["${decimalAt(view, at, mapped)}","${decimalAt(view, at + 8, mapped)}"]`;
    }).join(',');
  const bids = side(view.getUint16(BOOK.bid_count, true), BOOK.levels);
  const asks = side(view.getUint16(BOOK.ask_count, true), bookAsksOffset(depth));
  return bookEvent('orderbook', mapped, view, receivedNs, `"bids":[${bids}],"asks":[${asks}],`);
}

/**
 * Where the venue does not say when the book was so (Binance's partial books), the time of receipt stands for it. Kraken's
 * have no number.
 */
function bookEvent(
  eventType: 'quote' | 'orderbook',
  mapped: MappedSymbol,
  view: DataView,
  receivedNs: bigint,
  fields: string,
): NewEvent {
  const venueTimeUs = view.getBigUint64(BOOK.venue_time_us, true);
  const sequence = view.getBigUint64(BOOK.sequence, true);
  return {
    eventType,
    symbol: mapped.instrument,
    tsEvent: venueTimeUs === 0n ? receivedNs : venueTimeUs * NS_PER_US,
    payload: `{${fields}${sequence === 0n ? '' : `"sequence":"${sequence}",`}"venue_symbol":${JSON.stringify(mapped.symbol)}}`,
  };
}

/** The kernels read a symbol's prices and amounts at one scale. */
function decimalAt(view: DataView, at: number, { scale }: MappedSymbol): string {
  return toText(view.getUint32(at, true), view.getUint32(at + 4, true), scale, false);
}
