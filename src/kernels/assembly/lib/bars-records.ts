// Bars on their way out: an entry and the totals after it become a self-contained record; a reader's snapshot is all
// records that changed since its last committed one.
//
//   committed --snapshot--> in flight --commit--> committed
//                               \----abort----> (as before: the next snapshot carries the same bars again)
import {
  B_GLOBAL, B_READERS, B_SUSPECT_FROM, E_CLOSE, E_COUNT, E_FIRST_ID, E_HIGH, E_LAST_ID, E_LOW, E_MARKS, E_OPEN, E_WINDOW, H_FROM, H_TO, I_COUNT, I_FLOOR,
  I_FLOOR_CLOSE, I_QUIET_REVISIONS, I_READERS, MARK_REVISIONS, MARK_WAS_GAP, QUALITY_COMPLETE, QUALITY_GAP,
  QUALITY_PARTIAL_FIRST, QUALITY_QUIET, QUALITY_REPAIRED, R_CLOSE, R_CLOSE_US, R_CLOSED, R_COUNT, R_FIRST_ID, R_HIGH,
  R_INTERVAL, R_LAST_ID, R_LOW, R_NEXT_SEQUENCE, R_OPEN, R_OPEN_US, R_QUALITY, R_REVISION, R_SUMS, R_SYMBOL, R_VENUE,
  R_WINDOW, READER_BYTES, READER_COMMITTED, READER_IN_FLIGHT, READER_REWOUND, READERS, RECORD_BYTES, S_COUNT, S_EXPECTED,
  S_FLAGS, S_HOLES, S_SINCE, S_VENUE, S_VERSION, SYMBOL_SUSPECT,
} from './bars-layout';
import { holeAt } from './bars-ids';
import { bodyOf, complete, entryAt, stateOf } from './bars-ring';
import { copyTotals, joinSides, subtractTotals } from './bars-totals';
import { closedWindow, intervals, windowEnd, windowOpen } from './bars-window';

// What left its ring before a reader had committed it: an area a reader, and of each how many there are and are in flight.
let unread: usize = 0;
let unreadMax: u32 = 0;
const unreadCounts: usize = memory.data(2 * 8, 8);

export function placeUnread(address: usize, records: u32): void {
  unread = address;
  unreadMax = records;
  memory.fill(unreadCounts, 0, READERS * 8);
}

@inline function unreadArea(reader: u32): usize {
  return unread + <usize>reader * unreadMax * RECORD_BYTES;
}

/** A place for one more record of a reader; 0 where there is no room. */
function nextUnread(reader: u32): usize {
  const kept = load<u32>(unreadCounts + reader * 8);
  if (kept == unreadMax) return 0;
  store<u32>(unreadCounts + reader * 8, kept + 1);
  return unreadArea(reader) + kept * RECORD_BYTES;
}

export function keepBar(reader: u32, symbol: usize, k: u32, entry: usize, above: usize): bool {
  const to = nextUnread(reader);
  if (to) writeBar(to, symbol, k, entry, above + E_COUNT, true);
  return to != 0;
}

export function keepQuiet(reader: u32, symbol: usize, k: u32, window: u32, price: u64): bool {
  const to = nextUnread(reader);
  if (to) writeQuiet(to, symbol, k, window, price);
  return to != 0;
}

function overlapsMissing(symbol: usize, open: u64, end: u64): bool {
  if (load<u32>(symbol, S_FLAGS) & SYMBOL_SUSPECT && load<u64>(bodyOf(symbol), B_SUSPECT_FROM) < end) return true;
  for (let index: u32 = 0; index < load<u32>(symbol, S_HOLES); index++) {
    const hole = holeAt(symbol, index);
    if (load<u64>(hole, H_FROM) < end && load<u64>(hole, H_TO) >= open) return true;
  }
  return false;
}

function qualityOf(symbol: usize, open: u64, end: u64, quiet: bool, wasGap: bool): u8 {
  if (overlapsMissing(symbol, open, end)) return QUALITY_GAP;
  if (open < load<u64>(symbol, S_SINCE)) return QUALITY_PARTIAL_FIRST;
  if (quiet) return QUALITY_QUIET;
  return wasGap ? QUALITY_REPAIRED : QUALITY_COMPLETE;
}

function writeHead(to: usize, symbol: usize, k: u32, window: u32, closed: bool, quiet: bool, wasGap: bool): void {
  const open = windowOpen(k, window);
  const end = windowEnd(k, window);
  store<u32>(to, load<u32>(bodyOf(symbol), B_GLOBAL), R_SYMBOL);
  store<u8>(to, <u8>k, R_INTERVAL);
  store<u8>(to, qualityOf(symbol, open, end, quiet, wasGap), R_QUALITY);
  store<u8>(to, <u8>closed, R_CLOSED);
  store<u8>(to, <u8>load<u32>(symbol, S_VENUE), R_VENUE);
  store<u32>(to, window, R_WINDOW);
  store<u64>(to, open, R_OPEN_US);
  store<u64>(to, end - 1, R_CLOSE_US);
  store<u64>(to, load<u64>(symbol, S_EXPECTED), R_NEXT_SEQUENCE);
}

function writeBar(to: usize, symbol: usize, k: u32, entry: usize, totalsAfter: usize, closed: bool): void {
  const marks = load<u32>(entry, E_MARKS);
  writeHead(to, symbol, k, load<u32>(entry, E_WINDOW), closed, false, (marks & MARK_WAS_GAP) != 0);
  store<u32>(to, closed ? 1 + (marks & MARK_REVISIONS) : 0, R_REVISION);
  store<u64>(to, load<u64>(entry, E_OPEN), R_OPEN);
  store<u64>(to, load<u64>(entry, E_HIGH), R_HIGH);
  store<u64>(to, load<u64>(entry, E_LOW), R_LOW);
  store<u64>(to, load<u64>(entry, E_CLOSE), R_CLOSE);
  store<u64>(to, load<u64>(entry, E_FIRST_ID), R_FIRST_ID);
  store<u64>(to, load<u64>(entry, E_LAST_ID), R_LAST_ID);
  copyTotals(to + R_COUNT, totalsAfter);
  subtractTotals(to + R_COUNT, entry + E_COUNT);
  joinSides(to + R_SUMS);
}

function writeQuiet(to: usize, symbol: usize, k: u32, window: u32, price: u64): void {
  writeHead(to, symbol, k, window, true, true, false);
  store<u32>(to, 1 + load<u32>(stateOf(symbol, k), I_QUIET_REVISIONS), R_REVISION);
  for (let at: usize = R_OPEN; at <= R_CLOSE; at += 8) store<u64>(to + at, price);
  memory.fill(to + R_FIRST_ID, 0, R_NEXT_SEQUENCE - R_FIRST_ID);
}

@inline function readerOf(symbol: usize, k: u32, reader: u32): usize {
  return stateOf(symbol, k) + I_READERS + <usize>reader * READER_BYTES;
}

/**
 * Writes what a reader has not yet committed of one interval and returns how many records that took. Closed windows go
 * in order, so that where the room ends is where the next snapshot goes on.
 */
function writeInterval(to: usize, room: u32, symbol: usize, k: u32, reader: u32, withOpen: bool): u32 {
  const state = stateOf(symbol, k);
  const at = readerOf(symbol, k, reader);
  const closed = closedWindow(symbol, k);
  const entries = load<u32>(state, I_COUNT);
  let window = max(load<u32>(at, READER_COMMITTED) + 1, load<u32>(state, I_FLOOR));
  let position = entries;
  while (position > 0 && load<u32>(entryAt(state, k, position - 1), E_WINDOW) >= window) position--;
  let price = position > 0 ? load<u64>(entryAt(state, k, position - 1), E_CLOSE) : load<u64>(state, I_FLOOR_CLOSE);
  let written: u32 = 0;
  while (written < room) {
    const entry: usize = position < entries ? entryAt(state, k, position) : 0;
    const filled = entry && (load<u32>(entry, E_WINDOW) == window || price == 0);
    if (filled) {
      window = load<u32>(entry, E_WINDOW);
      if (window > closed && !withOpen) break;
      const after = position + 1 < entries ? entryAt(state, k, position + 1) + E_COUNT : symbol + S_COUNT;
      writeBar(to, symbol, k, entry, after, window <= closed);
      price = load<u64>(entry, E_CLOSE);
      position++;
    } else {
      if (price == 0) break;
      if (window > closed) {
        if (!entry) break;
        window = load<u32>(entry, E_WINDOW);
        continue;
      }
      writeQuiet(to, symbol, k, window, price);
    }
    to += RECORD_BYTES;
    written++;
    window++;
  }
  const through = price == 0 ? load<u32>(at, READER_COMMITTED) : min(window - 1, closed);
  store<u32>(at, max(through, load<u32>(at, READER_COMMITTED)), READER_IN_FLIGHT);
  store<u32>(at, u32.MAX_VALUE, READER_REWOUND);
  return written;
}

/** Changes with every trade, by its count, and with every amendment. */
@inline function versionOf(symbol: usize): u32 {
  return load<u32>(symbol, S_VERSION) + <u32>load<u64>(symbol, S_COUNT);
}

/** Whether a reader has anything to get from a symbol: a trade since, or a window that the clock has closed since. */
function hasNews(symbol: usize, reader: u32): bool {
  const versions = bodyOf(symbol) + B_READERS + reader * 8;
  if (load<u32>(versions) != versionOf(symbol)) return true;
  return load<u32>(readerOf(symbol, 0, reader), READER_COMMITTED) < closedWindow(symbol, 0);
}

/**
 * Writes one symbol's part of a snapshot, all intervals as of one moment. Returns the records written; fewer than
 * `room` unless something was left for the next snapshot.
 */
export function writeSymbol(to: usize, room: u32, symbol: usize, reader: u32): u32 {
  const versions = bodyOf(symbol) + B_READERS + reader * 8;
  if (!hasNews(symbol, reader)) return 0;
  complete(symbol);
  const changed = load<u32>(versions) != versionOf(symbol);
  let written: u32 = 0;
  for (let k: u32 = 0; k < intervals; k++) {
    written += writeInterval(to + written * RECORD_BYTES, room - written, symbol, k, reader, changed);
  }
  // Cut short: a version that is not the symbol's keeps it among those with news.
  if (written == room) store<u32>(versions, versionOf(symbol) - 1);
  store<u32>(versions, written < room ? versionOf(symbol) : load<u32>(versions), 4);
  return written;
}

export function commitSymbol(symbol: usize, reader: u32): void {
  const versions = bodyOf(symbol) + B_READERS + reader * 8;
  store<u32>(versions, load<u32>(versions, 4));
  for (let k: u32 = 0; k < intervals; k++) {
    const at = readerOf(symbol, k, reader);
    store<u32>(at, min(load<u32>(at, READER_IN_FLIGHT), load<u32>(at, READER_REWOUND)), READER_COMMITTED);
  }
}

export function writeUnread(reader: u32, to: usize, room: u32): u32 {
  const counts = unreadCounts + reader * 8;
  const written = min(room, load<u32>(counts));
  store<u32>(counts, written, 4);
  memory.copy(to, unreadArea(reader), written * RECORD_BYTES);
  return written;
}

export function commitUnread(reader: u32): void {
  const counts = unreadCounts + reader * 8;
  const written = load<u32>(counts, 4);
  const left = load<u32>(counts) - written;
  store<u32>(counts, left);
  store<u32>(counts, 0, 4);
  memory.copy(unreadArea(reader), unreadArea(reader) + written * RECORD_BYTES, left * RECORD_BYTES);
}
