// Writes what a walker found into the records that the caller reads.
import {
  BOOK_DELTA, BOOK_SENT, BOOK_SNAPSHOT, DELTA_BYTES, DELTA_CHECKSUM, DELTA_FIRST, DELTA_FIRST_SEQUENCE, DELTA_FLAGS,
  DELTA_LAST_SEQUENCE, DELTA_LEVELS, DELTA_ROUTE, DELTA_TIME_US, HEAD_COUNT, HEAD_ROUTE, HEAD_SEQUENCE,
  REFUSED_CAPACITY,
} from './contract';
import { sendBook } from './outlets';
import { changeCount } from './sides';
import { book, deltaCapacity, deltas, failure, head, refuse, TRADE_BYTES, tradeCapacity, trades } from './state';

export let deltaCount: u32 = 0;
export let tradeCount: u32 = 0;

export function beginOutcome(): void {
  deltaCount = 0;
  tradeCount = 0;
}

/** A whole book, which goes on at once where it may. */
@inline
export function finishBook(route: u32, sequence: u64, timeUs: u64, receivedNs: f64, bids: u32, asks: u32): i32 {
  fillBook(route, sequence, timeUs, receivedNs, bids, asks);
  return sendBook(route, sequence, receivedNs, asks) ? BOOK_SENT : BOOK_SNAPSHOT;
}

@inline
export function fillBook(route: u32, sequence: u64, timeUs: u64, receivedNs: f64, bids: u32, asks: u32): void {
  store<u64>(book, sequence);
  store<u64>(book, <u64>receivedNs, 8);
  store<u64>(book, timeUs, 16);
  // Counts and flags in one store: the record is read again at once, eight bytes at a time.
  store<u64>(book, bids | (asks << 16), 24);
  store<u32>(head, route, HEAD_ROUTE);
  store<u32>(head, 1, HEAD_COUNT);
  store<f64>(head, <f64>sequence, HEAD_SEQUENCE);
}

/** Closes a delta that began with change number `first`. */
export function addDelta(
  route: u32, flags: u32, first: u32, checksum: u32, firstSequence: u64, lastSequence: u64, timeUs: u64,
): bool {
  if (deltaCount == deltaCapacity) {
    refuse(REFUSED_CAPACITY, 0);
    return false;
  }
  const delta = deltas + deltaCount * DELTA_BYTES;
  store<u32>(delta, route, DELTA_ROUTE);
  store<u32>(delta, flags, DELTA_FLAGS);
  store<u32>(delta, first, DELTA_FIRST);
  store<u32>(delta, changeCount - first, DELTA_LEVELS);
  store<u32>(delta, checksum, DELTA_CHECKSUM);
  store<u64>(delta, firstSequence, DELTA_FIRST_SEQUENCE);
  store<u64>(delta, lastSequence, DELTA_LAST_SEQUENCE);
  store<u64>(delta, timeUs, DELTA_TIME_US);
  deltaCount++;
  return true;
}

export function finishDeltas(sequence: u64): i32 {
  if (failure != 0) return failure;
  store<u32>(head, deltaCount > 0 ? load<u32>(deltas, DELTA_ROUTE) : 0, HEAD_ROUTE);
  store<u32>(head, deltaCount, HEAD_COUNT);
  store<f64>(head, <f64>sequence, HEAD_SEQUENCE);
  return BOOK_DELTA;
}

export function addTrade(
  route: u32, takerBuy: bool, timeUs: u64, price: u64, amount: u64, firstId: u64, lastId: u64, sequence: u64, receivedNs: f64,
): bool {
  if (tradeCount == tradeCapacity) {
    refuse(REFUSED_CAPACITY, 0);
    return false;
  }
  const trade = trades + tradeCount * TRADE_BYTES;
  store<u32>(trade, route);
  store<u32>(trade, takerBuy ? 1 : 0, 4);
  store<u64>(trade, timeUs, 8);
  store<u64>(trade, price, 16);
  store<u64>(trade, amount, 24);
  store<u64>(trade, firstId, 32);
  store<u64>(trade, lastId, 40);
  store<u64>(trade, sequence, 48);
  store<u64>(trade, <u64>receivedNs, 56);
  tradeCount++;
  return true;
}

export function finishTrades(answer: i32, sequence: u64): i32 {
  if (failure != 0) return failure;
  store<u32>(head, tradeCount > 0 ? load<u32>(trades) : 0, HEAD_ROUTE);
  store<u32>(head, tradeCount, HEAD_COUNT);
  store<f64>(head, <f64>sequence, HEAD_SEQUENCE);
  return answer;
}
