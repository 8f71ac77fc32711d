// The rings of recent bars: one a symbol and interval, holding only windows that had trades. A window without an entry
// was quiet. Entries are in the order of their windows; the newest is the top.
import {
  C_BEYOND, C_EVICTED_UNREAD, C_LOST_UNHEARD, C_LOST_UNSAVED, C_TROUBLE_VERSION, E_CLOSE, E_COUNT, E_FIRST_ID, E_HIGH,
  E_LAST_ID, E_LOW, E_MARKS, E_OPEN, E_WINDOW, ENTRY_BYTES, I_COUNT, I_END, I_FLOOR, I_FLOOR_CLOSE,
  I_HEAD, I_QUIET_REVISIONS, I_READERS, I_RING, I_TOP, INTERVAL_BYTES, MARK_REVISIONS, MARK_WAS_GAP,
  READER_BYTES, READER_COMMITTED, READER_REWOUND, READERS, DETACHED, S_COUNT, B_DEEP_FROM, B_DEEP_MASK, B_DEEP_TO,
  NEVER, S_BASE_OPEN, S_BASE_STATE, S_BODY, S_CLOSE, S_EXPECTED, S_FAST_SEQUENCE, S_HIGH, S_LAST_ID, S_LOW, S_PENDING_HIGH, S_PENDING_LOW,
  S_PENDING_UNTIL, S_SINCE, S_TOP, S_VERSION,
} from './bars-layout';
import { keepBar, keepQuiet } from './bars-records';
import { addTotals, copyEntry, copyTotals, fold, subtractTotals } from './bars-totals';
import { childOf, closedWindow, intervals, windowAt, windowEnd, windowOpen } from './bars-window';

export const counters: usize = memory.data(104, 16);
@inline export function count(counter: usize): void {
  store<u64>(counters + counter, load<u64>(counters + counter) + 1);
}

@inline export function bodyOf(symbol: usize): usize {
  return load<u32>(symbol, S_BODY);
}
@inline export function stateOf(symbol: usize, k: u32): usize {
  return k ? bodyOf(symbol) + k * INTERVAL_BYTES : symbol + S_BASE_STATE;
}

let baseMask: u32 = 0;
let longMask: u32 = 0;
/** Depths are powers of two. */
export function setDepths(base: u32, long: u32): void {
  baseMask = base - 1;
  longMask = long - 1;
}
@inline export function maskOf(k: u32): u32 {
  return k ? longMask : baseMask;
}

/** The entry at a position from the oldest (0) to the top (count - 1). */
@inline export function entryAt(state: usize, k: u32, position: u32): usize {
  const slot = (load<u32>(state, I_HEAD) - load<u32>(state, I_COUNT) + position) & maskOf(k);
  return load<u32>(state, I_RING) + slot * ENTRY_BYTES;
}

/** Makes room for a new top. The bar that leaves is kept for the readers that have never committed it. */
@inline export function push(symbol: usize, k: u32, window: u32): usize {
  const state = stateOf(symbol, k);
  const head = load<u32>(state, I_HEAD);
  const entries = load<u32>(state, I_COUNT);
  const entry: usize = load<u32>(state, I_RING) + (head & maskOf(k)) * ENTRY_BYTES;
  if (entries > maskOf(k)) giveUp(symbol, k, entry);
  else store<u32>(state, entries + 1, I_COUNT);
  store<u32>(state, head + 1, I_HEAD);
  store<u32>(state, <u32>entry, I_TOP);
  store<u32>(entry, window, E_WINDOW);
  return entry;
}

/** Keeps what leaves the ring before a reader has committed it: the quiet windows up to the oldest bar, and that bar. */
function keepEvicted(reader: u32, symbol: usize, k: u32, oldest: usize, above: usize): void {
  const state = stateOf(symbol, k);
  const window = load<u32>(oldest, E_WINDOW);
  const price = load<u64>(state, I_FLOOR_CLOSE);
  const first = max(committedBy(state, reader) + 1, load<u32>(state, I_FLOOR));
  for (let quiet = price ? first : window; quiet < window; quiet++) {
    count(C_EVICTED_UNREAD);
    if (!keepQuiet(reader, symbol, k, quiet, price)) return loseEvicted(reader, symbol, k, quiet, window);
  }
  count(C_EVICTED_UNREAD);
  if (!keepBar(reader, symbol, k, oldest, above)) loseEvicted(reader, symbol, k, window, window);
}

/** What was not stored is rebuilt from the venue; what was not heard can be read where it is stored. */
function loseEvicted(reader: u32, symbol: usize, k: u32, first: u32, last: u32): void {
  const counter = counters + (reader ? C_LOST_UNHEARD : C_LOST_UNSAVED);
  store<u64>(counter, load<u64>(counter) + (last - first + 1));
  if (!reader) noteDeep(symbol, 1 << k, windowOpen(k, first), windowEnd(k, last) - 1);
}

@inline function committedBy(state: usize, reader: u32): u32 {
  return load<u32>(state + I_READERS + <usize>reader * READER_BYTES, READER_COMMITTED);
}

/** The oldest bar's place is about to be taken. */
@inline function giveUp(symbol: usize, k: u32, oldest: usize): void {
  const state = stateOf(symbol, k);
  const window = load<u32>(oldest, E_WINDOW);
  if (min(committedBy(state, 0), committedBy(state, 1)) < window) keepForReaders(symbol, k, oldest, window);
  store<u32>(state, window + 1, I_FLOOR);
  store<u64>(state, load<u64>(oldest, E_CLOSE), I_FLOOR_CLOSE);
}

function keepForReaders(symbol: usize, k: u32, oldest: usize, window: u32): void {
  const state = stateOf(symbol, k);
  for (let reader: u32 = 0; reader < READERS; reader++) {
    if (committedBy(state, reader) < window) keepEvicted(reader, symbol, k, oldest, entryAt(state, k, 1));
  }
}

/** Bars that the kernel can no longer amend: their span and intervals, for a rebuild outside. */
export function noteDeep(symbol: usize, mask: u32, from: u64, to: u64): void {
  const body = bodyOf(symbol);
  const known = load<u32>(body, B_DEEP_MASK);
  store<u32>(body, known | mask, B_DEEP_MASK);
  store<u64>(body, known ? min(load<u64>(body, B_DEEP_FROM), from) : from, B_DEEP_FROM);
  store<u64>(body, known ? max(load<u64>(body, B_DEEP_TO), to) : to, B_DEEP_TO);
  count(C_TROUBLE_VERSION);
}

/** Folds the top of interval k into each interval that it feeds; a window that is passed is fed onwards first. */
export function feed(symbol: usize, k: u32, parents: u32): void {
  const top: usize = load<u32>(stateOf(symbol, k), I_TOP);
  feedFrom(symbol, top, windowOpen(k, load<u32>(top, E_WINDOW)), parents);
}

@inline export function feedFrom(symbol: usize, top: usize, open: u64, parents: u32): void {
  while (parents) {
    const parent: u32 = ctz(parents);
    parents &= parents - 1;
    const state = stateOf(symbol, parent);
    if (open < load<u64>(state, I_END)) {
      const into: usize = load<u32>(state, I_TOP);
      fold(into, top);
      store<u32>(into, load<u32>(into, E_MARKS) | (load<u32>(top, E_MARKS) & MARK_WAS_GAP), E_MARKS);
    } else openParent(symbol, parent, top, open);
  }
}

function openParent(symbol: usize, k: u32, part: usize, time: u64): void {
  const state = stateOf(symbol, k);
  if (load<u32>(state, I_COUNT)) feed(symbol, k, parentsOf(k));
  const window = windowAt(k, time);
  const entry = push(symbol, k, window);
  copyEntry(entry, part);
  store<u32>(entry, window, E_WINDOW);
  store<u32>(entry, load<u32>(part, E_MARKS) & MARK_WAS_GAP, E_MARKS);
  store<u64>(state, windowEnd(k, window), I_END);
}

const parentMasks: usize = memory.data(16 * 4, 16);
@inline export function parentsOf(k: u32): u32 {
  return load<u32>(parentMasks + k * 4);
}
export function linkIntervals(): void {
  memory.fill(parentMasks, 0, 64);
  for (let k: u32 = 1; k < intervals; k++) {
    const child = parentMasks + childOf(k) * 4;
    store<u32>(child, load<u32>(child) | (1 << k));
  }
}

/** Brings the open base bar's entry and the expected sequence up to what the short path has left in the head. */
@inline export function settle(symbol: usize): void {
  const next = load<u64>(symbol, S_FAST_SEQUENCE);
  if (next != NEVER) store<u64>(symbol, next, S_EXPECTED);
  if (load<u32>(symbol, S_TOP)) settleBar(symbol);
}

@inline export function settleBar(symbol: usize): void {
  const top: usize = load<u32>(symbol, S_TOP);
  store<u64>(top, load<u64>(symbol, S_HIGH), E_HIGH);
  store<u64>(top, load<u64>(symbol, S_LOW), E_LOW);
  store<u64>(top, load<u64>(symbol, S_CLOSE), E_CLOSE);
  store<u64>(top, load<u64>(symbol, S_LAST_ID), E_LAST_ID);
}

/** Takes the newest base bar into the head, after it was changed in the ring. */
export function wake(symbol: usize): void {
  const top: usize = load<u32>(symbol, S_TOP);
  store<u64>(symbol, windowOpen(0, load<u32>(top, E_WINDOW)), S_BASE_OPEN);
  store<u64>(symbol, load<u64>(top, E_HIGH), S_HIGH);
  store<u64>(symbol, load<u64>(top, E_LOW), S_LOW);
  store<u64>(symbol, load<u64>(top, E_CLOSE), S_CLOSE);
  store<u64>(symbol, load<u64>(top, E_LAST_ID), S_LAST_ID);
}

/** A base bar has closed. Within the windows that are open above it, only its extremes are noted, in the head. */
@inline export function passBase(symbol: usize, top: usize, open: u64): void {
  if (open < load<u64>(symbol, S_PENDING_UNTIL) && !(load<u32>(top, E_MARKS) & MARK_WAS_GAP)) {
    store<u64>(symbol, max(load<u64>(symbol, S_HIGH), load<u64>(symbol, S_PENDING_HIGH)), S_PENDING_HIGH);
    store<u64>(symbol, min(load<u64>(symbol, S_LOW), load<u64>(symbol, S_PENDING_LOW)), S_PENDING_LOW);
  } else feedBase(symbol, top, open);
}

/** Loads are for the cache alone; their sum goes here, so that nobody leaves them out. */
export const warmed: usize = memory.data(8, 8);

/** Loads the newest bar of an interval and the place of the next. Loads that do not wait for each other miss together. */
@inline export function warmNext(state: usize, k: u32): u64 {
  const next: usize = load<u32>(state, I_RING) + (load<u32>(state, I_HEAD) & maskOf(k)) * ENTRY_BYTES;
  return load<u64>(load<u32>(state, I_TOP)) + load<u64>(next) + load<u64>(next, 64);
}

/** Loads what `feedBase` will touch of a symbol: the newest bars of the intervals that the base feeds, and of those that these feed. */
export function warmFeeds(symbol: usize): u64 {
  let sum: u64 = 0;
  for (let parents = parentsOf(0); parents; parents &= parents - 1) {
    const k: u32 = ctz(parents);
    sum += warmNext(stateOf(symbol, k), k);
    for (let above = parentsOf(k); above; above &= above - 1) sum += load<u64>(load<u32>(stateOf(symbol, ctz(above)), I_TOP));
  }
  return sum;
}

function feedBase(symbol: usize, top: usize, open: u64): void {
  settlePending(symbol);
  feedFrom(symbol, top, open, parentsOf(0));
  let until = NEVER;
  for (let parents = parentsOf(0); parents; parents &= parents - 1) {
    until = min(until, load<u64>(stateOf(symbol, ctz(parents)), I_END));
  }
  store<u64>(symbol, until, S_PENDING_UNTIL);
}

/** Folds the base bars that were only noted into the intervals that they feed. The last of them is next to the top. */
function settlePending(symbol: usize): void {
  if (!load<u64>(symbol, S_PENDING_HIGH)) return;
  const base = stateOf(symbol, 0);
  const last = entryAt(base, 0, load<u32>(base, I_COUNT) - 2);
  for (let parents = parentsOf(0); parents; parents &= parents - 1) {
    const into: usize = load<u32>(stateOf(symbol, ctz(parents)), I_TOP);
    store<u64>(into, max(load<u64>(symbol, S_PENDING_HIGH), load<u64>(into, E_HIGH)), E_HIGH);
    store<u64>(into, min(load<u64>(symbol, S_PENDING_LOW), load<u64>(into, E_LOW)), E_LOW);
    if (load<u64>(into, E_LAST_ID) > load<u64>(last, E_LAST_ID) && endsBase(base, load<u64>(into, E_LAST_ID))) continue;
    store<u64>(into, load<u64>(last, E_CLOSE), E_CLOSE);
    store<u64>(into, load<u64>(last, E_LAST_ID), E_LAST_ID);
  }
  store<u64>(symbol, 0, S_PENDING_HIGH);
  store<u64>(symbol, NEVER, S_PENDING_LOW);
}

/** A trade stamped before the one that it follows ends an earlier base bar. A higher id that none has is of another count. */
function endsBase(base: usize, id: u64): bool {
  for (let at = load<u32>(base, I_COUNT); at > 0; at--) if (load<u64>(entryAt(base, 0, at - 1), E_LAST_ID) == id) return true;
  return false;
}

/** Brings every longer interval up to the last trade. Folding the same part twice changes nothing. */
export function complete(symbol: usize): void {
  const top: usize = load<u32>(symbol, S_TOP);
  if (!top) return;
  settle(symbol);
  feedBase(symbol, top, windowOpen(0, load<u32>(top, E_WINDOW)));
  for (let k: u32 = 1; k < intervals; k++) if (parentsOf(k)) feed(symbol, k, parentsOf(k));
}

/** Every reader gets the windows from this one on once more. */
export function rewind(state: usize, window: u32): void {
  for (let reader: u32 = 0; reader < READERS; reader++) {
    const at = state + I_READERS + <usize>reader * READER_BYTES;
    if (load<u32>(at, READER_COMMITTED) == DETACHED) continue;
    store<u32>(at, min(load<u32>(at, READER_COMMITTED), window - 1), READER_COMMITTED);
    store<u32>(at, min(load<u32>(at, READER_REWOUND), window - 1), READER_REWOUND);
  }
}

@inline function revise(entry: usize): void {
  const marks = load<u32>(entry, E_MARKS);
  if ((marks & MARK_REVISIONS) < MARK_REVISIONS) store<u32>(entry, marks + 1, E_MARKS);
}

/** Quiet windows after a bar carry its close: when that changes, they are issued again with a higher revision. */
@inline function reviseQuiet(state: usize): void {
  store<u32>(state, load<u32>(state, I_QUIET_REVISIONS) + 1, I_QUIET_REVISIONS);
}

/**
 * Puts a trade, shaped as an entry whose totals are its own sums, into the windows of every interval where it belongs,
 * whether they are open or closed. Intervals whose ring no longer reaches so far back are noted for a rebuild.
 */
export function amend(symbol: usize, time: u64, part: usize): void {
  complete(symbol);
  let sum: u64 = 0;
  for (let k: u32 = 0; k < intervals; k++) sum += warmNext(stateOf(symbol, k), k);
  store<u64>(warmed, sum);
  let beyond = false;
  for (let k: u32 = 0; k < intervals; k++) if (!amendInterval(symbol, k, time, part)) beyond = true;
  addTotals(symbol + S_COUNT, part + E_COUNT);
  if (load<u32>(stateOf(symbol, 0), I_COUNT)) wake(symbol);
  if (beyond) count(C_BEYOND);
  store<u32>(symbol, load<u32>(symbol, S_VERSION) + 1, S_VERSION);
}

function amendInterval(symbol: usize, k: u32, time: u64, part: usize): bool {
  const state = stateOf(symbol, k);
  const window = windowAt(k, time);
  let above = load<u32>(state, I_COUNT);
  while (above > 0 && load<u32>(entryAt(state, k, above - 1), E_WINDOW) > window) above--;
  const here: usize = above > 0 ? entryAt(state, k, above - 1) : 0;
  const exists = here && load<u32>(here, E_WINDOW) == window;
  const full = load<u32>(state, I_COUNT) > maskOf(k);
  const reachable = window >= load<u32>(state, I_FLOOR) && (exists || above > 0 || !full);
  // What leaves the ring is written with the totals as they are, so it goes before they change.
  if (reachable && !exists && full) {
    giveUp(symbol, k, entryAt(state, k, 0));
    store<u32>(state, load<u32>(state, I_COUNT) - 1, I_COUNT);
    above--;
  }
  for (let at = above; at < load<u32>(state, I_COUNT); at++) addTotals(entryAt(state, k, at) + E_COUNT, part + E_COUNT);
  if (window < windowAt(k, load<u64>(symbol, S_SINCE))) return carryFromBefore(symbol, k, part);
  if (!reachable && !full) return leaveStored(symbol, k, time, part);
  if (!reachable) return leaveToRebuild(symbol, k, time, above);
  if (exists) amendEntry(symbol, k, here, window, part);
  else insert(symbol, k, above, window, part);
  if (window <= closedWindow(symbol, k)) rewind(state, window);
  return true;
}

/** A trade from before the symbol was watched is in no bar of ours; quiet windows before the first bar carry its price. */
function carryFromBefore(symbol: usize, k: u32, part: usize): bool {
  if (!load<u32>(stateOf(symbol, k), I_COUNT)) carryFromFloor(symbol, k, part);
  return true;
}

function carryFromFloor(symbol: usize, k: u32, part: usize): void {
  const state = stateOf(symbol, k);
  const floor = load<u32>(state, I_FLOOR);
  store<u64>(state, load<u64>(part, E_CLOSE), I_FLOOR_CLOSE);
  if (floor > closedWindow(symbol, k)) return;
  reviseQuiet(state);
  rewind(state, floor);
}

/**
 * A trade of a window that an earlier life had stored: it came after all that this one had counted. Only that bar is to be rebuilt, and quiet
 * windows after it carry its price; those from the floor on are issued from here.
 */
function leaveStored(symbol: usize, k: u32, time: u64, part: usize): bool {
  noteDeep(symbol, 1 << k, time, max(time, windowOpen(k, load<u32>(stateOf(symbol, k), I_FLOOR)) - 1));
  carryFromFloor(symbol, k, part);
  return false;
}

/**
 * A trade older than the ring reaches: its bar, and the quiet windows that carry its close, must be rebuilt where they
 * are stored, and are no longer issued from here.
 */
function leaveToRebuild(symbol: usize, k: u32, time: u64, above: u32): bool {
  const state = stateOf(symbol, k);
  const next = above < load<u32>(state, I_COUNT) ? load<u32>(entryAt(state, k, above), E_WINDOW) : closedWindow(symbol, k) + 1;
  store<u32>(state, max(load<u32>(state, I_FLOOR), next), I_FLOOR);
  noteDeep(symbol, 1 << k, time, max(time, windowOpen(k, next) - 1));
  return false;
}

function amendEntry(symbol: usize, k: u32, entry: usize, window: u32, part: usize): void {
  const close = load<u64>(entry, E_CLOSE);
  fold(entry, part);
  if (window > closedWindow(symbol, k)) return;
  revise(entry);
  if (load<u64>(entry, E_CLOSE) != close) reviseQuiet(stateOf(symbol, k));
}

/** Inserts where the window belongs. The totals before it are those of the entry above, less this trade. */
function insert(symbol: usize, k: u32, position: u32, window: u32, part: usize): void {
  const state = stateOf(symbol, k);
  push(symbol, k, window);
  for (let at = load<u32>(state, I_COUNT) - 1; at > position; at--) {
    copyEntry(entryAt(state, k, at), entryAt(state, k, at - 1));
  }
  const entry = entryAt(state, k, position);
  copyEntry(entry, part);
  store<u32>(entry, window, E_WINDOW);
  const closed = window <= closedWindow(symbol, k);
  store<u32>(entry, closed ? load<u32>(state, I_QUIET_REVISIONS) + 1 : 0, E_MARKS);
  if (closed) reviseQuiet(state);
  if (position + 1 == load<u32>(state, I_COUNT)) {
    copyTotals(entry + E_COUNT, symbol + S_COUNT);
    store<u64>(state, windowEnd(k, window), I_END);
  } else {
    copyTotals(entry + E_COUNT, entryAt(state, k, position + 1) + E_COUNT);
    subtractTotals(entry + E_COUNT, part + E_COUNT);
  }
}

/** Issues every bar of a span again, because what is known about missing trades in it has changed. */
export function reissueSpan(symbol: usize, from: u64, to: u64): void {
  complete(symbol);
  for (let k: u32 = 0; k < intervals; k++) {
    const state = stateOf(symbol, k);
    const closed = closedWindow(symbol, k);
    const first = windowAt(k, from);
    const last = windowAt(k, to);
    for (let position = load<u32>(state, I_COUNT); position > 0; position--) {
      const entry = entryAt(state, k, position - 1);
      const window = load<u32>(entry, E_WINDOW);
      if (window < first) break;
      if (window > last) continue;
      store<u32>(entry, load<u32>(entry, E_MARKS) | MARK_WAS_GAP, E_MARKS);
      if (window <= closed) revise(entry);
    }
    if (first <= closed) {
      reviseQuiet(state);
      rewind(state, first);
    }
    const floor = load<u32>(state, I_FLOOR);
    if (first < floor) noteDeep(symbol, 1 << k, from, min(to, windowOpen(k, floor) - 1));
  }
  store<u32>(symbol, load<u32>(symbol, S_VERSION) + 1, S_VERSION);
}
