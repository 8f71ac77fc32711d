// Incremental books: price levels kept in order, one book a route.
//
//   book    0 capacity u32 | 4 cut u32 | 8 bid count u32 | 12 ask count u32 | 16 bid horizon u64 | 24 ask horizon u64
//           32 sequence u64 | 40 time_us u64 | 48 decimals u32 | 64 bids, then asks: capacity levels of CHANGE_BYTES
//
// Levels stand worst first, so that what happens near the best price moves little memory. Both sides are ordered by a
// rising key: a bid's price, an ask's price with its bits flipped.
//
// A book that had to let go of levels for want of room, or was begun from a snapshot that was cut off, knows all levels
// better than its horizon and none at or beyond it. While the horizon is not reached from above that makes no difference.
import {
  APPLIED, APPLY_NO_BOOK, APPLY_THIN, CHANGE_AMOUNT, CHANGE_AMOUNT_PLACES, CHANGE_BYTES, CHANGE_PRICE_PLACES, CHANGE_SIDE,
  DELTA_BYTES, DELTA_CHECKSUM, DELTA_FIRST, DELTA_FLAGS, DELTA_HAS_CHECKSUM, DELTA_IS_SNAPSHOT, DELTA_LAST_SEQUENCE,
  DELTA_LEVELS, DELTA_ROUTE, DELTA_TIME_US, APPLY_CHECKSUM_DIFFERS, SIDE_ASK, SIDE_BID,
} from './contract';
import { checksumLevel } from './checksum';
import { fillBook } from './outcome';
import { allocate, book as record, BOOK_LEVELS, changes, deltas, depth } from './state';

const HEADER: usize = 64;
const CHECKED_LEVELS: u32 = 10;

let table: usize = 0;
let tableSize: u32 = 0;

export function allocateBooks(routes: u32): void {
  table = allocate(routes << 2);
  tableSize = routes;
}

function bookOf(route: u32): usize {
  return route < tableSize ? <usize>load<u32>(table + (route << 2)) : 0;
}

/** Room for `capacity` levels a side; `cut` is the depth to which the venue wants its books cut after each update, or 0. */
export function openLevelBook(route: u32, capacity: u32, cut: u32, decimals: u32): bool {
  if (route >= tableSize) return false;
  let book = bookOf(route);
  if (book == 0 || load<u32>(book) < capacity) {
    book = allocate(HEADER + 2 * capacity * CHANGE_BYTES);
    store<u32>(book, capacity);
    store<u32>(table + (route << 2), <u32>book);
  }
  store<u32>(book, cut, 4);
  store<u32>(book, decimals, 48);
  clear(book);
  return true;
}

function clear(book: usize): void {
  memory.fill(book + 8, 0, 40);
}

@inline
function sideOf(book: usize, side: u32): usize {
  return book + HEADER + <usize>side * load<u32>(book) * CHANGE_BYTES;
}

@inline
function keyOf(price: u64, side: u32): u64 {
  return side == SIDE_BID ? price : ~price;
}

/** How many levels of the side have a smaller key. */
function lowerBound(levels: usize, count: u32, side: u32, key: u64): u32 {
  let low: u32 = 0;
  let high = count;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (keyOf(load<u64>(levels + middle * CHANGE_BYTES), side) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

function raiseHorizon(book: usize, side: u32, key: u64): void {
  const at = book + (side << 3);
  if (key > load<u64>(at, 16)) store<u64>(at, key, 16);
}

/** Sets a level to its new amount; zero deletes it. */
function applyChange(book: usize, change: usize): void {
  const side = <u32>load<u8>(change, CHANGE_SIDE);
  const levels = sideOf(book, side);
  const countAt = book + (side << 2);
  const count = load<u32>(countAt, 8);
  const key = keyOf(load<u64>(change), side);
  const amount = load<u64>(change, CHANGE_AMOUNT);
  let index = lowerBound(levels, count, side, key);
  const level = levels + index * CHANGE_BYTES;
  if (index < count && keyOf(load<u64>(level), side) == key) {
    if (amount != 0) {
      memory.copy(level, change, CHANGE_BYTES);
    } else {
      memory.copy(level, level + CHANGE_BYTES, (count - index - 1) * CHANGE_BYTES);
      store<u32>(countAt, count - 1, 8);
    }
    return;
  }
  if (amount == 0 || key <= load<u64>(book + (side << 3), 16)) return;
  if (count < load<u32>(book)) {
    memory.copy(level + CHANGE_BYTES, level, (count - index) * CHANGE_BYTES);
    memory.copy(level, change, CHANGE_BYTES);
    store<u32>(countAt, count + 1, 8);
    return;
  }
  // Full: the worst level goes, which may be the new one itself.
  if (index == 0) return raiseHorizon(book, side, key);
  raiseHorizon(book, side, keyOf(load<u64>(levels), side));
  index--;
  memory.copy(levels, levels + CHANGE_BYTES, index * CHANGE_BYTES);
  memory.copy(levels + index * CHANGE_BYTES, change, CHANGE_BYTES);
}

/** Fills a side from changes that come best first and delete nothing, as snapshots do; false when they do not. */
function fillSide(book: usize, side: u32, first: usize, end: usize): bool {
  const capacity = load<u32>(book);
  const levels = sideOf(book, side);
  let count: u32 = 0;
  let previous: u64 = 0;
  for (let change = first; change < end; change += CHANGE_BYTES) {
    if (<u32>load<u8>(change, CHANGE_SIDE) != side) continue;
    const key = keyOf(load<u64>(change), side);
    if (load<u64>(change, CHANGE_AMOUNT) == 0 || (count != 0 && key >= previous)) return false;
    previous = key;
    count++;
  }
  const held = min(count, capacity);
  let write = levels + held * CHANGE_BYTES;
  for (let change = first; change < end; change += CHANGE_BYTES) {
    if (<u32>load<u8>(change, CHANGE_SIDE) != side) continue;
    if (write == levels) {
      raiseHorizon(book, side, keyOf(load<u64>(change), side));
      break;
    }
    write -= CHANGE_BYTES;
    memory.copy(write, change, CHANGE_BYTES);
  }
  store<u32>(book + (side << 2), held, 8);
  return true;
}

function applyAll(book: usize, first: usize, end: usize, side: u32): void {
  for (let change = first; change < end; change += CHANGE_BYTES)
    if (<u32>load<u8>(change, CHANGE_SIDE) == side) applyChange(book, change);
}

function cutSide(book: usize, side: u32, cut: u32): void {
  const count = load<u32>(book + (side << 2), 8);
  if (cut == 0 || count <= cut) return;
  const levels = sideOf(book, side);
  memory.copy(levels, levels + (count - cut) * CHANGE_BYTES, cut * CHANGE_BYTES);
  store<u32>(book + (side << 2), cut, 8);
}

/** The checksum over the ten best asks, then the ten best bids. */
function checksumOf(book: usize): u32 {
  const decimals = load<u32>(book, 48);
  let crc: u32 = 0xffffffff;
  for (let side: i32 = SIDE_ASK; side >= SIDE_BID; side--) {
    const count = load<u32>(book + (side << 2), 8);
    let level = sideOf(book, side) + count * CHANGE_BYTES;
    for (let n: u32 = 0; n < min(count, CHECKED_LEVELS); n++) {
      level -= CHANGE_BYTES;
      crc = checksumLevel(crc, load<u64>(level), decimals, load<u8>(level, CHANGE_PRICE_PLACES));
      crc = checksumLevel(crc, load<u64>(level, CHANGE_AMOUNT), decimals, load<u8>(level, CHANGE_AMOUNT_PLACES));
    }
  }
  return ~crc;
}

/** Applies delta number `index` of the frame that was decoded last to the book of its route. */
export function applyDeltaRow(index: u32): i32 {
  const delta = deltas + index * DELTA_BYTES;
  const book = bookOf(load<u32>(delta, DELTA_ROUTE));
  if (book == 0) return APPLY_NO_BOOK;
  const flags = load<u32>(delta, DELTA_FLAGS);
  const first = changes + load<u32>(delta, DELTA_FIRST) * CHANGE_BYTES;
  const end = first + load<u32>(delta, DELTA_LEVELS) * CHANGE_BYTES;
  const snapshot = (flags & DELTA_IS_SNAPSHOT) != 0;
  if (snapshot) clear(book);
  for (let side: u32 = SIDE_BID; side <= <u32>SIDE_ASK; side++) {
    if (!snapshot || !fillSide(book, side, first, end)) applyAll(book, first, end, side);
    cutSide(book, side, load<u32>(book, 4));
  }
  store<u64>(book, load<u64>(delta, DELTA_LAST_SEQUENCE), 32);
  store<u64>(book, load<u64>(delta, DELTA_TIME_US), 40);
  if ((flags & DELTA_HAS_CHECKSUM) == 0 || load<u32>(delta, DELTA_CHECKSUM) == checksumOf(book)) return APPLIED;
  return APPLY_CHECKSUM_DIFFERS;
}

/** Says that the snapshot which the book was begun from was cut to so many levels a side: one that has them may have more. */
export function closeHorizon(route: u32, levels: u32): void {
  const book = bookOf(route);
  if (book == 0) return;
  for (let side: u32 = SIDE_BID; side <= <u32>SIDE_ASK; side++)
    // Below the worst level: that one itself is known.
    if (load<u32>(book + (side << 2), 8) >= levels) raiseHorizon(book, side, keyOf(load<u64>(sideOf(book, side)), side) - 1);
}

/** Copies the best levels into the book record; refuses when levels beyond the horizon would be among them. */
export function copyTop(route: u32, receivedNs: f64): i32 {
  const book = bookOf(route);
  if (book == 0) return APPLY_NO_BOOK;
  let thin = false;
  for (let side: u32 = SIDE_BID; side <= <u32>SIDE_ASK; side++) {
    const count = load<u32>(book + (side << 2), 8);
    thin = thin || (count < depth && load<u64>(book + (side << 3), 16) != 0);
    let from = sideOf(book, side) + count * CHANGE_BYTES;
    let to = record + BOOK_LEVELS + ((<usize>(side * depth)) << 4);
    for (let n: u32 = 0; n < min(count, depth); n++, to += 16) {
      from -= CHANGE_BYTES;
      v128.store(to, v128.load(from));
    }
  }
  if (thin) return APPLY_THIN;
  const bids = min(load<u32>(book, 8), depth);
  const asks = min(load<u32>(book, 12), depth);
  fillBook(route, load<u64>(book, 32), load<u64>(book, 40), receivedNs, bids, asks);
  return APPLIED;
}
