import { TRADE, TRADE_BYTES, TRADE_TAKER_BUY } from './trade-layout.ts';

/** A trade outside the hot path, where it travels as a record (trade-layout.ts). Price and amount count 10^-8. */
export interface Trade {
  readonly symbol: number;
  readonly takerBuy: boolean;
  readonly timeUs: bigint;
  readonly price: bigint;
  readonly amount: bigint;
  readonly firstId: bigint;
  readonly lastId: bigint;
  readonly sequence: bigint;
}

/** Whether a record has room for the price and the amount: 64 bits each. */
export function fitsRecord({ price, amount }: Trade): boolean {
  return price < 1n << 64n && amount < 1n << 64n;
}

function writeTrade(view: DataView, at: number, trade: Trade, flags = 0): void {
  view.setUint32(at + TRADE.symbol, trade.symbol, true);
  view.setUint32(at + TRADE.flags, flags | (trade.takerBuy ? TRADE_TAKER_BUY : 0), true);
  view.setBigUint64(at + TRADE.time_us, trade.timeUs, true);
  view.setBigUint64(at + TRADE.price, trade.price, true);
  view.setBigUint64(at + TRADE.amount, trade.amount, true);
  view.setBigUint64(at + TRADE.first_id, trade.firstId, true);
  view.setBigUint64(at + TRADE.last_id, trade.lastId, true);
  view.setBigUint64(at + TRADE.sequence, trade.sequence, true);
  view.setBigUint64(at + TRADE.received_ns, 0n, true);
}

/** The records of some trades, one after the other; `flags` beside their own. */
export function tradeRecords(trades: readonly Trade[], flags = 0): Uint8Array {
  const records = new Uint8Array(trades.length * TRADE_BYTES);
  const view = new DataView(records.buffer);
  trades.forEach((trade, index) => {
    writeTrade(view, index * TRADE_BYTES, trade, flags);
  });
  return records;
}
