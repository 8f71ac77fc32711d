// What a trade's sequence says: next in order, a duplicate, the filling of a hole, or the far side of a new hole.
//
//   seen ... 7 8 9 [10 11 12] 13 14 | expected = 15        [..] a hole: missing, asked for by REST
//
// Memory is bounded and no trade is turned away for it: when the table is full, the two neighbouring holes with the least
// between them become one. What was seen between them is then no longer known, so nothing is filled in there any more; the
// bars of the span stay gaps until they are rebuilt from the venue's own.
import {
  A_RECENT, ASIDE_BYTES, B_INDEX, B_LATEST, B_SUSPECT_FROM, C_DUPLICATE, C_HOLES, C_HOLES_MERGED, C_REFUSED_FILL, C_TROUBLE_VERSION, E_WINDOW, FLAG_FETCHED, FLAG_OFFERED, H_COARSE,
  H_FIRST, H_FROM, H_LAST, H_TO, HOLE_BYTES, HOLES_MAX, I_FLOOR, NEVER, RECENT_IDS, S_BASE_OPEN, S_EXPECTED, S_FAST_SEQUENCE, S_FLAGS, S_HOLES,
  S_LAST_TIME, S_TOP, S_VENUE, SYMBOL_DENSE, SYMBOL_HAS_TRADED, SYMBOL_SUSPECT,
} from './bars-layout';
import { bodyOf, count, noteDeep, reissueSpan, settle, stateOf } from './bars-ring';
import { clockOf, intervals, lengthOf, windowEnd, windowOpen } from './bars-window';

/** Trades of one venue may be stamped out of order by less than this. */
const RENUMBERED_US: u64 = 1_000_000;

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

let asides: usize = 0;
export function placeAsides(address: usize): void {
  asides = address;
}
export function asideAt(index: u32): usize {
  return asides + <usize>index * ASIDE_BYTES;
}

@inline export function holeAt(symbol: usize, index: u32): usize {
  return asideAt(load<u32>(bodyOf(symbol), B_INDEX)) + index * HOLE_BYTES;
}

@inline function flagsOf(symbol: usize): u32 {
  return load<u32>(symbol, S_FLAGS);
}

/** The short path is open only to dense ids that nothing is in doubt about, and to windows of one length. */
export function refreshFastPath(symbol: usize): void {
  const plain = (flagsOf(symbol) & (SYMBOL_DENSE | SYMBOL_HAS_TRADED | SYMBOL_SUSPECT)) == (SYMBOL_DENSE | SYMBOL_HAS_TRADED) && lengthOf(0) != 0;
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
  if (sequence < expected) {
    if (!(flags & SYMBOL_DENSE)) return fillSparse(symbol, sequence, time, tradeFlags);
    return isRenumbered(symbol, sequence, time) ? renumber(symbol, sequence, time) : fill(symbol, sequence, time);
  }
  // Where ids leave numbers out, a jump proves a loss only when one is feared.
  const lost = sequence > expected && (flags & (SYMBOL_DENSE | SYMBOL_SUSPECT)) != 0;
  if (lost) openHole(symbol, expected, sequence, time);
  clearDoubt(symbol, time);
  return advanceTo(symbol, sequence, time);
}

/** What was counted before cannot have happened after the last trade: the venue counts anew. */
function isRenumbered(symbol: usize, sequence: u64, time: u64): bool {
  return time > latestCounted(symbol) + RENUMBERED_US && indexOfHole(symbol, sequence) < 0;
}

/** Stamps may fall: a duplicate of a trade before the last can be stamped long after that one. */
export function noteLatest(symbol: usize, time: u64): void {
  store<u64>(bodyOf(symbol), max(load<u64>(bodyOf(symbol), B_LATEST), time), B_LATEST);
}

/** After a restart the time of the last trade is not known better than that of its bar. */
function latestCounted(symbol: usize): u64 {
  const last = max(load<u64>(symbol, S_LAST_TIME), load<u64>(bodyOf(symbol), B_LATEST));
  if (!(flagsOf(symbol) & SYMBOL_SUSPECT)) return last;
  const top: usize = load<u32>(symbol, S_TOP);
  const end = top ? windowEnd(0, load<u32>(top, E_WINDOW)) : windowOpen(0, load<u32>(stateOf(symbol, 0), I_FLOOR));
  return max(last, end);
}

/** Nothing tells what was traded since the last bar, nor can old holes be filled: there the venue's own bars must do. */
function renumber(symbol: usize, sequence: u64, time: u64): u32 {
  openHole(symbol, load<u64>(symbol, S_EXPECTED), load<u64>(symbol, S_EXPECTED) + 1, time);
  for (let index: u32 = 0; index < load<u32>(symbol, S_HOLES); index++) {
    const hole = holeAt(symbol, index);
    store<u64>(hole, min(load<u64>(hole, H_FROM), load<u64>(symbol, S_BASE_OPEN)), H_FROM);
    makeCoarse(symbol, hole);
  }
  clearDoubt(symbol, time);
  memory.fill(recentsOf(symbol), 0, RECENT_IDS * 8);
  return advanceTo(symbol, sequence, time);
}

function duplicate(): u32 {
  count(C_DUPLICATE);
  return DROP;
}

function advanceTo(symbol: usize, sequence: u64, time: u64): u32 {
  store<u64>(symbol, sequence + 1, S_EXPECTED);
  if (time < load<u64>(symbol, S_LAST_TIME)) noteLatest(symbol, load<u64>(symbol, S_LAST_TIME));
  store<u64>(symbol, time, S_LAST_TIME);
  if (!(flagsOf(symbol) & SYMBOL_DENSE)) remember(symbol, sequence);
  refreshFastPath(symbol);
  return NEXT;
}

/** A trade in order proves what came before it. */
function clearDoubt(symbol: usize, time: u64): void {
  const flags = flagsOf(symbol);
  if (!(flags & SYMBOL_SUSPECT)) return;
  doubtEnds(symbol, time);
  store<u32>(symbol, flags & ~SYMBOL_SUSPECT, S_FLAGS);
}

/** Every window since the doubt began was issued as a gap, however long after the trade that ends it: all come again. */
function doubtEnds(symbol: usize, time: u64): void {
  change(load<u64>(bodyOf(symbol), B_SUSPECT_FROM), max(time, clockOf(load<u32>(symbol, S_VENUE))));
}

function openHole(symbol: usize, expected: u64, sequence: u64, time: u64): void {
  const last = load<u64>(symbol, S_LAST_TIME);
  const from = flagsOf(symbol) & SYMBOL_SUSPECT ? min(load<u64>(bodyOf(symbol), B_SUSPECT_FROM), last) : last;
  const hole = insertHole(symbol, expected);
  store<u64>(hole, expected, H_FIRST);
  store<u64>(hole, sequence - 1, H_LAST);
  store<u64>(hole, min(from, time), H_FROM);
  store<u64>(hole, max(from, time), H_TO);
  store<u64>(hole, 0, H_COARSE);
  change(from, time);
}

/** Makes room where a hole that begins with this sequence belongs. */
function insertHole(symbol: usize, first: u64): usize {
  if (load<u32>(symbol, S_HOLES) == HOLES_MAX) mergeClosest(symbol);
  const holes = load<u32>(symbol, S_HOLES);
  let index = holes;
  while (index > 0 && load<u64>(holeAt(symbol, index - 1), H_FIRST) > first) index--;
  memory.copy(holeAt(symbol, index + 1), holeAt(symbol, index), (holes - index) * HOLE_BYTES);
  store<u32>(symbol, holes + 1, S_HOLES);
  count(C_HOLES);
  return holeAt(symbol, index);
}

function mergeClosest(symbol: usize): void {
  let closest: u32 = 0;
  let least: u64 = NEVER;
  for (let index: u32 = 0; index + 1 < load<u32>(symbol, S_HOLES); index++) {
    const between = load<u64>(holeAt(symbol, index + 1), H_FIRST) - load<u64>(holeAt(symbol, index), H_LAST);
    if (between < least) {
      least = between;
      closest = index;
    }
  }
  const into = holeAt(symbol, closest);
  const next = holeAt(symbol, closest + 1);
  store<u64>(into, load<u64>(next, H_LAST), H_LAST);
  store<u64>(into, min(load<u64>(into, H_FROM), load<u64>(next, H_FROM)), H_FROM);
  store<u64>(into, max(load<u64>(into, H_TO), load<u64>(next, H_TO)), H_TO);
  removeHole(symbol, closest + 1);
  makeCoarse(symbol, into);
  count(C_HOLES_MERGED);
}

function makeCoarse(symbol: usize, hole: usize): void {
  store<u64>(hole, 1, H_COARSE);
  change(load<u64>(hole, H_FROM), load<u64>(hole, H_TO));
  noteDeep(symbol, (1 << intervals) - 1, load<u64>(hole, H_FROM), load<u64>(hole, H_TO));
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
  if (load<u64>(hole, H_COARSE)) return refuseFill();
  const first = load<u64>(hole, H_FIRST);
  const last = load<u64>(hole, H_LAST);
  const from = load<u64>(hole, H_FROM);
  const to = load<u64>(hole, H_TO);
  if (first < sequence && sequence < last) {
    if (!splitHole(symbol, index, sequence, time)) return refuseFill();
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

/** The trade comes again with the rest of its hole. */
function refuseFill(): u32 {
  count(C_REFUSED_FILL);
  return DROP;
}

function splitHole(symbol: usize, index: u32, sequence: u64, time: u64): bool {
  const holes = load<u32>(symbol, S_HOLES);
  if (holes == HOLES_MAX) return false;
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

/**
 * Where ids are sparse, a hole is filled from below, in order, by who fetches it, and ends when that one says that it has
 * read it all. What comes late by itself is exact as long as the recent ids reach back to it.
 */
function fillSparse(symbol: usize, sequence: u64, time: u64, tradeFlags: u32): u32 {
  if (isRecent(symbol, sequence)) return duplicate();
  const fetched = (tradeFlags & FLAG_FETCHED) != 0;
  const offered = (tradeFlags & FLAG_OFFERED) != 0;
  const index = indexOfHole(symbol, sequence);
  if (index < 0) {
    if (!fetched && !offered && isRenumbered(symbol, sequence, time)) return renumber(symbol, sequence, time);
    // Before there are enough recent ids, an earlier life may have counted what this one has not seen.
    const least = load<u64>(leastRecent(symbol));
    if (sequence >= least && !(offered && least == 0)) {
      remember(symbol, sequence);
      return FILL;
    }
    return fetched || offered ? duplicate() : doubtLate(symbol, sequence, time);
  }
  const hole = holeAt(symbol, index);
  if (!fetched || load<u64>(hole, H_COARSE)) return refuseFill();
  const from = load<u64>(hole, H_FROM);
  store<u64>(hole, sequence + 1, H_FIRST);
  store<u64>(hole, max(from, min(time, load<u64>(hole, H_TO))), H_FROM);
  remember(symbol, sequence);
  change(from, load<u64>(hole, H_TO));
  return FILL;
}

/** Older than the recent ids, so it may have been counted or not: its bar is a gap. */
function doubtLate(symbol: usize, sequence: u64, time: u64): u32 {
  const hole = insertHole(symbol, sequence);
  store<u64>(hole, sequence, H_FIRST);
  store<u64>(hole, sequence, H_LAST);
  store<u64>(hole, time, H_FROM);
  store<u64>(hole, time, H_TO);
  makeCoarse(symbol, hole);
  reissueChanged(symbol);
  return refuseFill();
}

@inline function recentsOf(symbol: usize): usize {
  return asideAt(load<u32>(bodyOf(symbol), B_INDEX)) + A_RECENT;
}

function isRecent(symbol: usize, sequence: u64): bool {
  const recents = recentsOf(symbol);
  for (let at: u32 = 0; at < RECENT_IDS; at++) if (load<u64>(recents + at * 8) == sequence) return true;
  return false;
}

function leastRecent(symbol: usize): usize {
  let least = recentsOf(symbol);
  for (let at = least + 8; at < recentsOf(symbol) + RECENT_IDS * 8; at += 8) if (load<u64>(at) < load<u64>(least)) least = at;
  return least;
}

/** The largest ids are kept: one above the least of them that is not among them was never seen. */
function remember(symbol: usize, sequence: u64): void {
  const least = leastRecent(symbol);
  if (sequence > load<u64>(least)) store<u64>(least, sequence);
}

/** Trades of this span are missing, but nobody knows their numbers: nothing fills it, and nothing has been issued of it. */
export function lack(symbol: usize, from: u64, to: u64): usize {
  const hole = insertHole(symbol, 0);
  store<u64>(hole, 0, H_FIRST);
  store<u64>(hole, 0, H_LAST);
  store<u64>(hole, from, H_FROM);
  store<u64>(hole, to, H_TO);
  store<u64>(hole, 1, H_COARSE);
  count(C_TROUBLE_VERSION);
  return hole;
}

/** The same of a span that was issued. */
export function disprove(symbol: usize, from: u64, to: u64): void {
  makeCoarse(symbol, lack(symbol, from, to));
  reissueChanged(symbol);
}

/** The feed says that it has lost something since the last trade. */
export function lose(symbol: usize): void {
  settle(symbol);
  doubt(symbol, load<u64>(symbol, S_LAST_TIME));
  reissueChanged(symbol);
}

/** From here on the feed may have lost trades; bars stay in doubt until an id or the venue proves otherwise. */
export function doubt(symbol: usize, from: u64): void {
  const flags = flagsOf(symbol);
  const known = flags & SYMBOL_SUSPECT ? load<u64>(bodyOf(symbol), B_SUSPECT_FROM) : NEVER;
  store<u64>(bodyOf(symbol), min(known, from), B_SUSPECT_FROM);
  store<u32>(symbol, flags | SYMBOL_SUSPECT, S_FLAGS);
  refreshFastPath(symbol);
  if (known == NEVER) change(from, from);
}

/** The venue says that `next` has not happened at time `now`: with nothing missing below it, the doubt is over. */
export function confirm(symbol: usize, next: u64, now: u64): bool {
  const flags = flagsOf(symbol);
  if (!(flags & SYMBOL_SUSPECT) || next != load<u64>(symbol, S_EXPECTED)) return false;
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
