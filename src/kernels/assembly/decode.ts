// Decodes venue frames into books, deltas and trades. Private memory, one instance a connection; the caller copies a frame to
// `deskAddress` or has it at `landingAddress`, says where, calls the venue's function with its length, and reads the records at the
// exported addresses. The venues' functions are in their own folders (src/venues/NAME/assembly/walker.ts) and compiled into this module.

import { REFUSED_SIZE } from './lib/contract';
import { beginFrame } from './lib/frame';
import { allocateBooks, applyDeltaRow, closeHorizon, copyTop, openLevelBook } from './lib/level-book';
import { allocateOutlets } from './lib/outlets';
import { allocateRoutes, putRoute } from './lib/routes';
import { decodeSnapshotFrame } from './lib/snapshot';
import { allocateState, book, changes, deltas, desk, head, landing, trades } from './lib/state';

export { closeOutlets, openOutlet } from './lib/outlets';

export function initialize(
  depth: u32, frameBytes: u32, changeCount: u32, deltaCount: u32, tradeCount: u32, routeCapacity: u32, bookCapacity: u32,
): void {
  allocateState(depth, frameBytes, changeCount, deltaCount, tradeCount);
  allocateRoutes(routeCapacity);
  allocateOutlets(routeCapacity);
  allocateBooks(bookCapacity);
}

export function deskAddress(): usize {
  return desk;
}
export function landingAddress(): usize {
  return landing;
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
  return putRoute(desk, length, route, decimals);
}

export function decodeSnapshot(length: u32, route: u32, decimals: u32): i32 {
  return beginFrame(length) ? decodeSnapshotFrame(route, decimals) : REFUSED_SIZE;
}

export function openBook(route: u32, capacity: u32, cut: u32, decimals: u32): bool {
  return openLevelBook(route, capacity, cut, decimals);
}

export function applyDelta(index: u32): i32 {
  return applyDeltaRow(index);
}

export function endOfKnown(route: u32, levels: u32): void {
  closeHorizon(route, levels);
}

export function topOfBook(route: u32, receivedNs: f64): i32 {
  return copyTop(route, receivedNs);
}
