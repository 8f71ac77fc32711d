// asc: --importMemory --sharedMemory --initialMemory 1 --maximumMemory 65536 --enable threads
// Merges the books of all venues, symbol by symbol, in the shared memory that merge-layout.ts describes. The module has
// no data of its own in that memory: every address comes from `configure`.
//
// Several threads have an instance over the same memory. Whoever holds the turn merges: the merger sweeps over everything that is
// marked, and a thread whose book the merger does not come for (its core was taken from it) merges that symbol itself. Nobody waits
// for a turn; what is marked stays marked, and the merger comes back to it.
import { LEVEL_BYTES, mergeBookInto, mergeBooks } from './lib/sides-merge';
import { publishSlot, SLOT_FRESH, SLOT_STATE, SLOT_WRITER_LIFE, slotBack, takeSlot } from './lib/slots';

// Nanoseconds of the threads' common clock.
@external('host', 'now')
declare function now(): f64;

// Offsets of book-layout.ts and merge-layout.ts; a test holds both sides together.
const BOOK_LEVELS: usize = 32;
const SUMMARY_VENUES: usize = 48;
const VENUE_ROW_BYTES: usize = 32;
const VENUE_IN: u32 = 1;
const ROW_BYTES: usize = 16;
const LINE: usize = 128;
const MERGES: usize = 128;
const HELPED: usize = 132;
const TURN: usize = 256;
const REDO: usize = 384;
const FLAT_SYMBOLS: u32 = 128;

let venues: u32 = 0;
let symbols: u32 = 0;
let depth: u32 = 0;
let control: usize = 0;
let venueDeadlines: usize = 0;
let bookDeadlines: usize = 0;
let venueDirty: usize = 0;
let venueDirtyBytes: usize = 0;
let bitmapWords: usize = 0;
let bookSlots: usize = 0;
let bookSlotBytes: usize = 0;
let rows: usize = 0;
let outputDirty: usize = 0;
let summarySlots: usize = 0;
let summarySlotBytes: usize = 0;
let scratch: usize = 0;
let asksOffset: usize = 0;
/** Who this instance is when it holds the turn. */
let holder: u32 = 0;
let hasTurn: bool = false;
let isTurnedAway: bool = false;

export function configure(
  venueCount: u32, symbolCount: u32, keptDepth: u32, controlAt: usize, venueDeadlinesAt: usize, bookDeadlinesAt: usize,
  venueDirtyAt: usize, dirtyBytes: usize, bitmapWordsAt: usize, bookSlotsAt: usize, bookBytes: usize, rowsAt: usize,
  outputDirtyAt: usize, summarySlotsAt: usize, summaryBytes: usize, scratchAt: usize, holderNumber: u32,
): void {
  holder = holderNumber;
  venues = venueCount;
  symbols = symbolCount;
  depth = keptDepth;
  control = controlAt;
  venueDeadlines = venueDeadlinesAt;
  bookDeadlines = bookDeadlinesAt;
  venueDirty = venueDirtyAt;
  venueDirtyBytes = dirtyBytes;
  bitmapWords = bitmapWordsAt;
  bookSlots = bookSlotsAt;
  bookSlotBytes = bookBytes;
  rows = rowsAt;
  outputDirty = outputDirtyAt;
  summarySlots = summarySlotsAt;
  summarySlotBytes = summaryBytes;
  scratch = scratchAt;
  asksOffset = BOOK_LEVELS + ((<usize>depth) << 4);
}

/** 0 is out, 1 is in; anything else is in until the clock, modulo 2^32 milliseconds, has reached it. */
@inline
function isBefore(deadline: u32, nowMs: u32): bool {
  return deadline > 1 ? <i32>(deadline - nowMs) > 0 : deadline == 1;
}

@inline
function bookSlot(venue: u32, symbol: u32): usize {
  return bookSlots + <usize>(venue * symbols + symbol) * bookSlotBytes;
}

@inline
function isIn(venue: u32, symbol: u32, nowMs: u32): bool {
  const own = atomic.load<u32>(bookDeadlines + ((<usize>(venue * symbols + symbol)) << 2));
  return isBefore(own, nowMs) && isBefore(atomic.load<u32>(venueDeadlines + <usize>venue * LINE), nowMs);
}

@inline
function millisecondsOf(ns: f64): u32 {
  return <u32>(<u64>ns / 1000000);
}

/** One side of all venues whose bit is set in `live`; their books stand in scratch. Answers how many levels it wrote. */
function mergeVenues(live: u32, out: usize, bids: bool): u32 {
  const countAt: usize = bids ? 24 : 26;
  const levels = bids ? BOOK_LEVELS : asksOffset;
  const spare = scratch + 64;
  if (live == 0) return 0;
  let venue = ctz<u32>(live);
  let rest = live & (live - 1);
  const first = load<u32>(scratch + (venue << 2));
  if (rest == 0) return mergeBooks(first + levels, load<u16>(first + countAt), venue, 0, 0, 0, out, depth, bids);
  // Merged sides go back and forth between out and spare so that the last one lands in out.
  let target = (popcnt<u32>(rest) & 1) == 1 ? out : spare;
  const next = ctz<u32>(rest);
  const second = load<u32>(scratch + (next << 2));
  rest &= rest - 1;
  let count = mergeBooks(
    first + levels, load<u16>(first + countAt), venue, second + levels, load<u16>(second + countAt), next, target, depth, bids,
  );
  while (rest != 0) {
    venue = ctz<u32>(rest);
    rest &= rest - 1;
    const book = load<u32>(scratch + (venue << 2));
    const other = target == out ? spare : out;
    count = mergeBookInto(target, count, book + levels, load<u16>(book + countAt), venue, other, depth, bids);
    target = other;
  }
  return count;
}

/** Signed, and held at the ends of an i64 where two u64 lie farther apart. */
@inline
function spreadOf(bid: u64, ask: u64): i64 {
  if (ask >= bid) return <i64>min<u64>(ask - bid, <u64>i64.MAX_VALUE);
  return -<i64>min<u64>(bid - ask, <u64>i64.MAX_VALUE);
}

/** A mark that still stands serves this summary too: whoever clears it looks at the slot afterwards. */
@inline
function mark(word: usize, bit: u32): void {
  if ((atomic.load<u32>(word) & bit) == 0) atomic.or<u32>(word, bit);
}

@inline
function markSymbol(bitmap: usize, symbol: u32): void {
  mark(bitmap + bitmapWords + ((symbol >> 5) << 2), 1 << (symbol & 31));
  if (symbols > FLAT_SYMBOLS) mark(bitmap + ((symbol >> 10) << 2), 1 << ((symbol >> 5) & 31));
}

/** Where a venue's next book of a symbol is to be written; 0 once a later life of its writer was admitted. */
export function openPlace(venue: u32, symbol: u32, life: u32): usize {
  const slot = bookSlot(venue, symbol);
  return atomic.load<u32>(slot, SLOT_WRITER_LIFE) == life ? slotBack(slot) : 0;
}

/** For a kernel whose memory is another: the two have only calls in common. */
export function putRow(at: usize, a: u64, b: u64, c: u64, d: u64): void {
  store<u64>(at, a);
  store<u64>(at, b, 8);
  store<u64>(at, c, 16);
  store<u64>(at, d, 24);
}

/** Makes what was written into the place that was opened last the symbol's book, to count until the deadline. */
export function publishBook(venue: u32, symbol: u32, deadline: u32): void {
  publishSlot(bookSlot(venue, symbol));
  atomic.store<u32>(bookDeadlines + ((<usize>(venue * symbols + symbol)) << 2), deadline);
  markSymbol(venueDirty + <usize>venue * venueDirtyBytes, symbol);
}

function takeTurn(): bool {
  if (hasTurn) return true;
  hasTurn = atomic.load<u32>(control, TURN) == 0 && atomic.cmpxchg<u32>(control, 0, holder, TURN) == 0;
  if (!hasTurn) isTurnedAway = true;
  return hasTurn;
}

function passTurn(): void {
  if (hasTurn) atomic.store<u32>(control, 0, TURN);
  hasTurn = false;
}

/** Merges one symbol and publishes its summary, stamped with the time at which this began, or at which it was done. */
function mergeSymbol(symbol: u32, started: f64, isTimedAtEnd: bool): void {
  const nowMs = millisecondsOf(started);
  const slot = summarySlots + <usize>symbol * summarySlotBytes;
  const summary = slotBack(slot);
  let live: u32 = 0;
  let known: u32 = 0;
  let newest: u64 = 0;
  for (let venue: u32 = 0; venue < venues; venue++) {
    const book = takeSlot(bookSlot(venue, symbol));
    store<u32>(scratch + (venue << 2), <u32>book);
    const received = load<u64>(book, 8);
    const row = summary + SUMMARY_VENUES + venue * VENUE_ROW_BYTES;
    store<u64>(row, received);
    store<u64>(row, load<u64>(book, 16), 8);
    store<u64>(row, load<u64>(book), 16);
    const counts = received != 0 && isIn(venue, symbol, nowMs);
    store<u64>(row, counts ? <u64>VENUE_IN : 0, 24);
    known |= (<u32>(received != 0)) << venue;
    live |= (<u32>counts) << venue;
    newest = counts && received > newest ? received : newest;
  }

  const bids = summary + SUMMARY_VENUES + venues * VENUE_ROW_BYTES;
  const asks = bids + <usize>depth * LEVEL_BYTES;
  const bidCount = mergeVenues(live, bids, true);
  const askCount = mergeVenues(live, asks, false);
  const row = rows + <usize>symbol * ROW_BYTES;
  const sequence = load<u64>(row) + 1;
  store<u64>(row, sequence);
  store<u32>(row, live, 8);
  store<u32>(row, known, 12);
  store<u64>(summary, sequence);
  store<i64>(summary, bidCount != 0 && askCount != 0 ? spreadOf(load<u64>(bids), load<u64>(asks)) : 0, 8);
  store<u64>(summary, <u64>(isTimedAtEnd ? now() : started), 16);
  store<u64>(summary, newest, 24);
  store<u32>(summary, bidCount | (askCount << 16), 32);
  store<u32>(summary, venues, 36);
  store<u32>(summary, symbol, 40);
  store<u32>(summary, live, 44);
  publishSlot(slot);
  markSymbol(outputDirty, symbol);
}

/** Merges a symbol at the given time, whether it is marked or not. For a memory that no other thread merges. */
export function merge(symbol: u32, nowNs: f64): void {
  mergeSymbol(symbol, nowNs, false);
  count(1);
  ring();
}

/** After a trap in its turn: what was taken is merged by whoever comes next. */
export function giveUp(): void {
  if (hasTurn) atomic.store<u32>(control, 1, REDO);
  passTurn();
}

@inline
function isFresh(venue: u32, symbol: u32): bool {
  return (atomic.load<i32>(bookSlot(venue, symbol), SLOT_STATE) & SLOT_FRESH) != 0;
}

/** Merges a symbol whose book of this venue nobody has taken yet; answers 0 if another has the turn. */
export function help(venue: u32, symbol: u32): u32 {
  if (!takeTurn()) return 0;
  const isWaiting = isFresh(venue, symbol);
  if (isWaiting) {
    // Between two frames others have used the caches: how long it takes is not known beforehand.
    mergeSymbol(symbol, now(), true);
    store<u32>(control, load<u32>(control, HELPED) + 1, HELPED);
    count(1);
  }
  passTurn();
  if (isWaiting) ring();
  return 1;
}

/** For who has the turn, so that this needs no atomic addition. */
function count(published: u32): void {
  store<u32>(control, load<u32>(control, MERGES) + published, MERGES);
}

/** Wakes the publisher if it sleeps or is about to. That takes longer than a merge, so the turn is given back before. */
function ring(): void {
  if (atomic.load<u32>(control, 4) == 0 || atomic.xchg<u32>(control, 0, 4) == 0) return;
  atomic.add<u32>(control, 1);
  atomic.notify(control, -1);
}

/** The symbols of one word of a venue's bitmap. */
function sweepWord(venue: u32, word: u32, bitmap: usize): u32 {
  const at = bitmap + bitmapWords + (word << 2);
  if (atomic.load<u32>(at) == 0 || !takeTurn()) return 0;
  let merged: u32 = 0;
  for (let bits = atomic.xchg<u32>(at, 0); bits != 0; bits &= bits - 1) {
    const symbol = (word << 5) | ctz<u32>(bits);
    // A merge for an earlier venue's mark, or a helper, has taken this book already.
    if (symbol >= symbols || !isFresh(venue, symbol)) continue;
    mergeSymbol(symbol, now(), false);
    merged++;
  }
  return merged;
}

function sweepVenue(venue: u32): u32 {
  let merged: u32 = 0;
  const bitmap = venueDirty + <usize>venue * venueDirtyBytes;
  if (symbols <= FLAT_SYMBOLS) {
    for (let word: u32 = 0; word << 5 < symbols; word++) merged += sweepWord(venue, word, bitmap);
    return merged;
  }
  for (let upper: u32 = 0; upper << 10 < symbols; upper++) {
    if (atomic.load<u32>(bitmap + (upper << 2)) == 0 || !takeTurn()) continue;
    let words = atomic.xchg<u32>(bitmap + (upper << 2), 0);
    for (; words != 0; words &= words - 1) merged += sweepWord(venue, (upper << 5) | ctz<u32>(words), bitmap);
  }
  return merged;
}

/** Merges every symbol that a venue has marked since the last sweep; answers how many, and 1 if another has the turn. */
export function sweep(): u32 {
  let merged: u32 = 0;
  isTurnedAway = false;
  for (let venue: u32 = 0; venue < venues; venue++) merged += sweepVenue(venue);
  if (merged != 0) count(merged);
  passTurn();
  if (merged != 0) ring();
  return isTurnedAway ? 1 : merged;
}

/** Sweeps up to `iterations` times, without a call to the host while there is nothing to do; answers the merges. */
export function spin(iterations: u32): u32 {
  let merged: u32 = 0;
  for (let i: u32 = 0; i < iterations; i++) merged += sweep();
  return merged;
}

/** Whether any venue has ever published a book of the symbol, merged or not. */
function hasBook(symbol: u32): bool {
  for (let venue: u32 = 0; venue < venues; venue++) if (load<u64>(takeSlot(bookSlot(venue, symbol)), 8) != 0) return true;
  return false;
}

/**
 * Merges the symbols whose set of living venues is not that of their last summary, and all of them after a thread has died in its
 * turn: nobody knows what it had taken. Answers how many, and 1 if another has the turn.
 */
export function expire(): u32 {
  if (!takeTurn()) return 1;
  const nowMs = millisecondsOf(now());
  const isRedo = atomic.load<u32>(control, REDO) != 0 && atomic.xchg<u32>(control, 0, REDO) != 0;
  let merged: u32 = 0;
  for (let symbol: u32 = 0; symbol < symbols; symbol++) {
    const row = rows + <usize>symbol * ROW_BYTES;
    let live: u32 = 0;
    for (let known = load<u32>(row, 12); known != 0; known &= known - 1) {
      const venue = ctz<u32>(known);
      live |= (<u32>isIn(venue, symbol, nowMs)) << venue;
    }
    if (live == load<u32>(row, 8) && !(isRedo && hasBook(symbol))) continue;
    mergeSymbol(symbol, now(), false);
    merged++;
  }
  if (merged != 0) count(merged);
  passTurn();
  if (merged != 0) ring();
  return merged;
}
