// What a trade's sequence says: next in order, a duplicate, the filling of a hole, or the far side of a new hole.
//
//   seen ... 7 8 9 [10 11 12] 13 14 | expected = 15        [..] a hole: missing, asked for by REST
//
// When the hole table is full, a further jump starts a tail: nothing beyond `expected` is taken until the missing
// trades have come in order. So what was seen is always known exactly, with bounded memory.
import {
  C_DUPLICATE, C_HOLES, C_REFUSED_FILL, C_TAIL_DROPPED, C_TROUBLE_VERSION, FLAG_AFTER_LOSS, H_FIRST, H_FROM, H_LAST,
  H_TO, HEAD_BYTES, HOLE_BYTES, HOLES_MAX, INTERVAL_BYTES, NEVER, RECENT_IDS, S_EXPECTED, S_FAST_SEQUENCE, S_FLAGS,
  S_HOLES, S_LAST_TIME, S_RECENT, S_SUSPECT_FROM, S_TAIL_LAST, S_VENUE, SYMBOL_DENSE, SYMBOL_HAS_TRADED,
  SYMBOL_SUSPECT, SYMBOL_TAIL,
} from './bars-layout';
import { count, reissueSpan } from './bars-ring';
import { clockOf, intervals, lengthOf } from './bars-window';

export const DROP: u32 = 0;
export const NEXT: u32 = 1;
export const FILL: u32 = 2;

/** The span whose bars must be issued again once the trade is in; empty when `from` is NEVER. */
export let changedFrom: u64 = NEVER;
export let changedTo: u64 = 0;

function change(from: u64, to: u64): void {
  changedFrom = min(changedFrom, min(from, to));
  changedTo = max(changedTo, max(from, to));
  count(C_TROUBLE_VERSION);
}

export function reissueChanged(symbol: usize): void {
  if (changedFrom == NEVER) return;
  const from = changedFrom;
  changedFrom = NEVER;
  reissueSpan(symbol, from, changedTo);
  changedTo = 0;
}

@inline export function holeAt(symbol: usize, index: u32): usize {
  return symbol + HEAD_BYTES + intervals * INTERVAL_BYTES + index * HOLE_BYTES;
}

@inline function flagsOf(symbol: usize): u32 {
  return load<u32>(symbol, S_FLAGS);
}

/** The short path is open only to dense ids that nothing is in doubt about, and to windows of one length. */
export function refreshFastPath(symbol: usize): void {
  const plain = (flagsOf(symbol) & (SYMBOL_DENSE | SYMBOL_HAS_TRADED | SYMBOL_SUSPECT | SYMBOL_TAIL)) == (SYMBOL_DENSE | SYMBOL_HAS_TRADED) && lengthOf(0) != 0;
  store<u64>(symbol, plain ? load<u64>(symbol, S_EXPECTED) : NEVER, S_FAST_SEQUENCE);
}

export function admit(symbol: usize, sequence: u64, time: u64, tradeFlags: u32): u32 {
  const expected = load<u64>(symbol, S_EXPECTED);
  const flags = flagsOf(symbol);
  if (!(flags & SYMBOL_HAS_TRADED)) {
    store<u32>(symbol, flags | SYMBOL_HAS_TRADED, S_FLAGS);
    clearDoubt(symbol, time);
    return advanceTo(symbol, sequence, time);
  }
  if (flags & SYMBOL_DENSE) {
    if (sequence < expected) return fill(symbol, sequence, time);
    if (sequence > expected && !openHole(symbol, expected, sequence, time)) return DROP;
    clearDoubt(symbol, time);
    return advanceTo(symbol, sequence, time);
  }
  if (tradeFlags & FLAG_AFTER_LOSS) doubt(symbol, load<u64>(symbol, S_LAST_TIME));
  if (sequence < expected) return isRecent(symbol, sequence) ? duplicate() : fillSparse(symbol, sequence, time);
  if (flagsOf(symbol) & SYMBOL_SUSPECT) {
    if (sequence > expected && !openHole(symbol, expected, sequence, time)) return DROP;
    clearDoubt(symbol, time);
  }
  return advanceTo(symbol, sequence, time);
}

function duplicate(): u32 {
  count(C_DUPLICATE);
  return DROP;
}

function advanceTo(symbol: usize, sequence: u64, time: u64): u32 {
  store<u64>(symbol, sequence + 1, S_EXPECTED);
  store<u64>(symbol, time, S_LAST_TIME);
  if (!(flagsOf(symbol) & SYMBOL_DENSE)) remember(symbol, sequence);
  refreshFastPath(symbol);
  return NEXT;
}

/** A trade in order proves what came before it: a doubt ends, a tail ends once it has been read to its end. */
function clearDoubt(symbol: usize, time: u64): void {
  const flags = flagsOf(symbol);
  if (!(flags & (SYMBOL_SUSPECT | SYMBOL_TAIL))) return;
  doubtEnds(symbol, time);
  if (flags & SYMBOL_TAIL && load<u64>(symbol, S_EXPECTED) < load<u64>(symbol, S_TAIL_LAST)) {
    store<u64>(symbol, time, S_SUSPECT_FROM);
    return;
  }
  store<u32>(symbol, flags & ~(SYMBOL_SUSPECT | SYMBOL_TAIL), S_FLAGS);
}

/** Every window since the doubt began was issued as a gap, however long after the trade that ends it: all come again. */
function doubtEnds(symbol: usize, time: u64): void {
  change(load<u64>(symbol, S_SUSPECT_FROM), max(time, clockOf(load<u32>(symbol, S_VENUE))));
}

function openHole(symbol: usize, expected: u64, sequence: u64, time: u64): bool {
  const holes = load<u32>(symbol, S_HOLES);
  const flags = flagsOf(symbol);
  const last = load<u64>(symbol, S_LAST_TIME);
  const from = flags & SYMBOL_SUSPECT ? min(load<u64>(symbol, S_SUSPECT_FROM), last) : last;
  if (flags & SYMBOL_TAIL || holes == HOLES_MAX) {
    if (!(flags & SYMBOL_TAIL)) {
      store<u64>(symbol, from, S_SUSPECT_FROM);
      store<u64>(symbol, 0, S_TAIL_LAST);
      count(C_HOLES);
    }
    store<u32>(symbol, flags | SYMBOL_TAIL | SYMBOL_SUSPECT, S_FLAGS);
    store<u64>(symbol, max(sequence, load<u64>(symbol, S_TAIL_LAST)), S_TAIL_LAST);
    refreshFastPath(symbol);
    count(C_TAIL_DROPPED);
    count(C_TROUBLE_VERSION);
    return false;
  }
  const hole = holeAt(symbol, holes);
  store<u64>(hole, expected, H_FIRST);
  store<u64>(hole, sequence - 1, H_LAST);
  store<u64>(hole, min(from, time), H_FROM);
  store<u64>(hole, max(from, time), H_TO);
  store<u32>(symbol, holes + 1, S_HOLES);
  count(C_HOLES);
  change(from, time);
  return true;
}

function indexOfHole(symbol: usize, sequence: u64): i32 {
  for (let index: u32 = 0; index < load<u32>(symbol, S_HOLES); index++) {
    const hole = holeAt(symbol, index);
    if (sequence >= load<u64>(hole, H_FIRST) && sequence <= load<u64>(hole, H_LAST)) return index;
  }
  return -1;
}

function removeHole(symbol: usize, index: u32): void {
  const holes = load<u32>(symbol, S_HOLES) - 1;
  memory.copy(holeAt(symbol, index), holeAt(symbol, index + 1), (holes - index) * HOLE_BYTES);
  store<u32>(symbol, holes, S_HOLES);
}

function fill(symbol: usize, sequence: u64, time: u64): u32 {
  const index = indexOfHole(symbol, sequence);
  if (index < 0) return duplicate();
  const hole = holeAt(symbol, index);
  const first = load<u64>(hole, H_FIRST);
  const last = load<u64>(hole, H_LAST);
  const from = load<u64>(hole, H_FROM);
  const to = load<u64>(hole, H_TO);
  if (first < sequence && sequence < last) {
    if (!splitHole(symbol, index, sequence, time)) return DROP;
  } else if (first == last) removeHole(symbol, index);
  else if (sequence == first) {
    store<u64>(hole, sequence + 1, H_FIRST);
    store<u64>(hole, min(time, to), H_FROM);
  } else {
    store<u64>(hole, sequence - 1, H_LAST);
    store<u64>(hole, max(time, from), H_TO);
  }
  change(from, to);
  return FILL;
}

function splitHole(symbol: usize, index: u32, sequence: u64, time: u64): bool {
  const holes = load<u32>(symbol, S_HOLES);
  if (holes == HOLES_MAX) {
    count(C_REFUSED_FILL);
    return false;
  }
  memory.copy(holeAt(symbol, index + 1), holeAt(symbol, index), (holes - index) * HOLE_BYTES);
  const lower = holeAt(symbol, index);
  const upper = holeAt(symbol, index + 1);
  store<u64>(lower, sequence - 1, H_LAST);
  store<u64>(lower, max(time, load<u64>(lower, H_FROM)), H_TO);
  store<u64>(upper, sequence + 1, H_FIRST);
  store<u64>(upper, min(time, load<u64>(upper, H_TO)), H_FROM);
  store<u32>(symbol, holes + 1, S_HOLES);
  return true;
}

/** Where ids are sparse, a hole is filled from below, in order, and ends when the fetcher says that it has read it all. */
function fillSparse(symbol: usize, sequence: u64, time: u64): u32 {
  const index = indexOfHole(symbol, sequence);
  if (index < 0) return lateSparse(symbol, sequence);
  const hole = holeAt(symbol, index);
  const from = load<u64>(hole, H_FROM);
  store<u64>(hole, sequence + 1, H_FIRST);
  store<u64>(hole, min(time, load<u64>(hole, H_TO)), H_FROM);
  remember(symbol, sequence);
  change(from, load<u64>(hole, H_TO));
  return FILL;
}

/** The RECENT_IDS largest ids are remembered: one above the least of them that is not among them was never seen. */
function lateSparse(symbol: usize, sequence: u64): u32 {
  if (sequence < load<u64>(leastRecent(symbol))) return duplicate();
  remember(symbol, sequence);
  return FILL;
}

function isRecent(symbol: usize, sequence: u64): bool {
  for (let at: u32 = 0; at < RECENT_IDS; at++) if (load<u64>(symbol + S_RECENT + at * 8) == sequence) return true;
  return false;
}

function leastRecent(symbol: usize): usize {
  let least = symbol + S_RECENT;
  for (let at = least + 8; at < symbol + S_RECENT + RECENT_IDS * 8; at += 8) if (load<u64>(at) < load<u64>(least)) least = at;
  return least;
}

function remember(symbol: usize, sequence: u64): void {
  const least = leastRecent(symbol);
  if (sequence > load<u64>(least)) store<u64>(least, sequence);
}

/** From here on the feed may have lost trades; bars stay in doubt until an id or the venue proves otherwise. */
export function doubt(symbol: usize, from: u64): void {
  const flags = flagsOf(symbol);
  const known = flags & SYMBOL_SUSPECT ? load<u64>(symbol, S_SUSPECT_FROM) : NEVER;
  store<u64>(symbol, min(known, from), S_SUSPECT_FROM);
  store<u32>(symbol, flags | SYMBOL_SUSPECT, S_FLAGS);
  refreshFastPath(symbol);
  if (known == NEVER) change(from, from);
}

/** The venue says that `next` has not happened at time `now`: with nothing missing below it, the doubt is over. */
export function confirm(symbol: usize, next: u64, now: u64): bool {
  const flags = flagsOf(symbol);
  if (!(flags & SYMBOL_SUSPECT) || flags & SYMBOL_TAIL || next != load<u64>(symbol, S_EXPECTED)) return false;
  doubtEnds(symbol, now);
  store<u32>(symbol, flags & ~SYMBOL_SUSPECT, S_FLAGS);
  store<u64>(symbol, max(now, load<u64>(symbol, S_LAST_TIME)), S_LAST_TIME);
  refreshFastPath(symbol);
  return true;
}

/** Whatever of first..last was not filled does not exist at the venue. */
export function resolveHole(symbol: usize, first: u64, last: u64): bool {
  let found = false;
  for (let index: i32 = load<u32>(symbol, S_HOLES) - 1; index >= 0; index--) {
    const hole = holeAt(symbol, index);
    if (load<u64>(hole, H_FIRST) < first || load<u64>(hole, H_LAST) > last) continue;
    change(load<u64>(hole, H_FROM), load<u64>(hole, H_TO));
    removeHole(symbol, index);
    found = true;
  }
  return found;
}
