// The kernel's records in the oracle's words.
import { isDeepStrictEqual } from 'node:util';
import { BOOK, bookAsksOffset, DECIMALS_DEFAULT } from '../../protocols/book-layout.ts';
import { TRADE, TRADE_BYTES, TRADE_TAKER_BUY } from '../../protocols/trade-layout.ts';
import * as contract from '../assembly/lib/contract.ts';
import { type DecodeKernel, NO_ROUTE } from '../decode.ts';
import type { Change, Level, OracleAnswer, OracleDelta, OracleTrade } from './frame-oracle.ts';

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function bookOf(kernel: DecodeKernel): OracleAnswer {
  const view = viewOf(kernel.book);
  const side = (at: number, count: number): Level[] =>
    Array.from({ length: count }, (_, n) => [
      view.getBigUint64(at + 16 * n, true),
      view.getBigUint64(at + 16 * n + 8, true),
    ]);
  return {
    kind: 'book',
    route: kernel.route,
    sequence: view.getBigUint64(BOOK.sequence, true),
    timeUs: view.getBigUint64(BOOK.venue_time_us, true),
    bids: side(BOOK.levels, view.getUint16(BOOK.bid_count, true)),
    asks: side(bookAsksOffset(kernel.depth), view.getUint16(BOOK.ask_count, true)),
  };
}

function tradeOf(view: DataView, at: number): OracleTrade {
  const word = (offset: number) => view.getBigUint64(at + offset, true);
  return {
    route: view.getUint32(at + TRADE.symbol, true),
    takerBuy: (view.getUint32(at + TRADE.flags, true) & TRADE_TAKER_BUY) !== 0,
    timeUs: word(TRADE.time_us),
    price: word(TRADE.price),
    amount: word(TRADE.amount),
    firstId: word(TRADE.first_id),
    lastId: word(TRADE.last_id),
    sequence: word(TRADE.sequence),
  };
}

function changeOf(view: DataView, at: number): Change {
  return [
    view.getUint8(at + contract.CHANGE_SIDE) === contract.SIDE_BID ? 'bid' : 'ask',
    view.getBigUint64(at + contract.CHANGE_PRICE, true),
    view.getBigUint64(at + contract.CHANGE_AMOUNT, true),
    view.getUint8(at + contract.CHANGE_PRICE_PLACES),
    view.getUint8(at + contract.CHANGE_AMOUNT_PLACES),
  ];
}

function deltaOf(kernel: DecodeKernel, index: number): OracleDelta {
  const { deltas: view, changes } = kernel;
  const at = index * contract.DELTA_BYTES;
  const first = view.getUint32(at + contract.DELTA_FIRST, true);
  const flags = view.getUint32(at + contract.DELTA_FLAGS, true);
  const hasChecksum = (flags & contract.DELTA_HAS_CHECKSUM) !== 0;
  return {
    route: view.getUint32(at + contract.DELTA_ROUTE, true),
    snapshot: (flags & contract.DELTA_IS_SNAPSHOT) !== 0,
    checksum: hasChecksum ? BigInt(view.getUint32(at + contract.DELTA_CHECKSUM, true)) : undefined,
    first: view.getBigUint64(at + contract.DELTA_FIRST_SEQUENCE, true),
    last: view.getBigUint64(at + contract.DELTA_LAST_SEQUENCE, true),
    timeUs: view.getBigUint64(at + contract.DELTA_TIME_US, true),
    changes: Array.from({ length: view.getUint32(at + contract.DELTA_LEVELS, true) }, (_, n) =>
      changeOf(changes, (first + n) * contract.CHANGE_BYTES),
    ),
  };
}

export function kernelAnswer(kernel: DecodeKernel, status: number): OracleAnswer {
  const each = <T>(make: (index: number) => T) => Array.from({ length: kernel.count }, (_, index) => make(index));
  if (status === contract.BOOK_SNAPSHOT) return bookOf(kernel);
  if (status === contract.CONTROL) return { kind: 'control' };
  if (status === contract.BOOK_DELTA) return { kind: 'delta', deltas: each((index) => deltaOf(kernel, index)) };
  if (status !== contract.TRADES) return { kind: 'refused', why: `kernel code ${status}` };
  const view = viewOf(kernel.trades);
  return { kind: 'trades', trades: each((index) => tradeOf(view, index * TRADE_BYTES)) };
}

/** Refusals are equal whatever the reason. */
export function sameAnswer(one: OracleAnswer, other: OracleAnswer): boolean {
  if (one.kind === 'refused' || other.kind === 'refused') return one.kind === other.kind;
  return isDeepStrictEqual(one, other);
}

/** Decodes a frame, which may lie in the kernel's landing, with the walker of a venue, by its id. */
export function walk(
  kernel: DecodeKernel,
  venue: string,
  frame: Uint8Array,
  receivedNs: number,
  route: number = NO_ROUTE,
  decimals: number = DECIMALS_DEFAULT,
): number {
  const name = `decode${venue.slice(0, 1).toUpperCase()}${venue.slice(1)}`;
  const { landing } = kernel;
  const isLanded = frame.buffer === landing.buffer;
  const length = isLanded ? kernel.takeLanded(frame.byteOffset - landing.byteOffset, frame.length) : kernel.take(frame);
  return kernel.walkers[name]!(length, route, decimals, receivedNs);
}
