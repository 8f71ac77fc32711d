// Decodes venue frames into books, deltas and trades. Private memory, one instance a thread; the caller copies a frame to
// `frameAddress`, calls the venue's function with its length, and reads the records at the exported addresses.

import { decodeBinanceFrame } from './lib/binance';
import { decodeBitstampFrame } from './lib/bitstamp';
import { REFUSED_SIZE } from './lib/contract';
import { beginOutcome } from './lib/outcome';
import { allocateRoutes, putRoute } from './lib/routes';
import { beginChanges } from './lib/sides';
import { allocateState, book, changes, deltas, frame, head, openFrame, trades } from './lib/state';

export function initialize(
  depth: u32, frameBytes: u32, changeCount: u32, deltaCount: u32, tradeCount: u32, routeCapacity: u32,
): void {
  allocateState(depth, frameBytes, changeCount, deltaCount, tradeCount);
  allocateRoutes(routeCapacity);
}

export function frameAddress(): usize {
  return frame;
}
export function headAddress(): usize {
  return head;
}
export function bookAddress(): usize {
  return book;
}
export function deltasAddress(): usize {
  return deltas;
}
export function changesAddress(): usize {
  return changes;
}
export function tradesAddress(): usize {
  return trades;
}

/** Registers the name that stands in the first `length` bytes of the frame buffer. */
export function addRoute(length: u32, route: u32, decimals: u32): bool {
  return putRoute(frame, length, route, decimals);
}

@inline
function begin(length: u32): bool {
  beginOutcome();
  beginChanges();
  return openFrame(length);
}

/** `route` and `decimals` serve a partial book outside the combined envelope, which does not say whose it is. */
export function decodeBinance(length: u32, route: u32, decimals: u32, receivedNs: f64): i32 {
  return begin(length) ? decodeBinanceFrame(route, decimals, receivedNs) : REFUSED_SIZE;
}

export function decodeBitstamp(length: u32, receivedNs: f64): i32 {
  return begin(length) ? decodeBitstampFrame(receivedNs) : REFUSED_SIZE;
}
