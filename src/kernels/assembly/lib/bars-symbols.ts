// The symbols of one worker: where their state lies, how they come, go and move, and the snapshots over all of them.
//
//   heads, bodies, asides: one a symbol, packed             mapping: global index -> address of the head, 0 if not here
//   rings: a column an interval, in it a ring a symbol       input, output, transfer: areas that the host writes and reads
//
// Columns keep the rings that trades touch (the base and what it feeds) on few pages, however many symbols there are.
import {
  ASIDE_BYTES, B_DEEP_MASK, B_GLOBAL, B_INDEX, COUNTERS_BYTES, DETACHED, E_CLOSE, E_COUNT, E_FIRST_ID, E_HIGH, E_LAST_ID, E_LOW, E_MARKS, E_OPEN, ENTRY_BYTES,
  HEAD_BYTES, I_COUNT, I_END, I_FLOOR, I_FLOOR_CLOSE, I_READERS, I_RING, I_TOP,
  INTERVAL_BYTES, NEVER, R_CLOSE, R_COUNT, R_FIRST_ID, R_HIGH, R_LAST_ID, R_LOW, R_OPEN, R_REVISION, R_SUMS, R_WINDOW,
  READER_BYTES, READER_COMMITTED, READERS, RECORD_BYTES, S_BASE_OPEN, S_BODY, S_COUNT, S_EXPECTED,
  S_FAST_SEQUENCE, S_FLAGS, S_HOLES, S_LAST_TIME, S_PENDING_LOW, S_SINCE, S_VENUE, SYMBOL_DENSE,
  SYMBOL_HAS_TRADED, SYMBOL_SUSPECT, TRADE_BYTES, TRADE_SYMBOL,
} from './bars-layout';
import { asideAt, confirm, disprove, doubt, lack, placeAsides, reissueChanged, resolveHole } from './bars-ids';
import { commitSymbol, commitUnread, placeUnread, writeSymbol, writeUnread } from './bars-records';
import { bodyOf, counters, entryAt, linkIntervals, maskOf, push, setDepths, settle, stateOf, wake } from './bars-ring';
import { copyTotals, partSides, subtractTotals } from './bars-totals';
import { intervals, plan, setIntervals, windowAt, windowEnd } from './bars-window';

export let symbols: u32 = 0;
export let globals: u32 = 0;
export let mapping: usize = 0;
export let heads: usize = 0;
let symbolsMax: u32 = 0;
let bodies: usize = 0;
let bodyBytes: u32 = 0;
let ringBytes: u32 = 0;
let rings: usize = 0;
let input: usize = 0;
let output: usize = 0;
let outputRecords: u32 = 0;
let transfer: usize = 0;
let readersAttached: u32 = 3;

/** An odd number of cache lines, so that neighbours do not compete for the same sets of the cache. */
function oddLines(bytes: u32): u32 {
  return (((bytes + 63) >> 6) | 1) << 6;
}

@inline export function symbolAt(index: u32): usize {
  return heads + index * HEAD_BYTES;
}

@inline function bodyAt(index: u32): usize {
  return bodies + index * bodyBytes;
}

function place(cursor: usize, bytes: usize): usize {
  return (cursor + bytes + 255) & ~255;
}

/** Lays everything out and grows the memory to fit. The host has written the plan of intervals before. */
export function configure(intervalCount: u32, base: u32, long: u32, symbolLimit: u32, globalLimit: u32, inputTrades: u32, records: u32, unreadRecords: u32): usize {
  setIntervals(intervalCount);
  linkIntervals();
  setDepths(base, long);
  symbolsMax = symbolLimit;
  globals = globalLimit;
  outputRecords = records;
  bodyBytes = oddLines(intervals * INTERVAL_BYTES);
  ringBytes = (base + (intervals - 1) * long) * ENTRY_BYTES;
  symbols = 0;
  mapping = place(__heap_base, 0);
  heads = place(mapping, <usize>globals * 4);
  bodies = place(heads, <usize>symbolsMax * HEAD_BYTES);
  input = place(bodies, <usize>symbolsMax * bodyBytes);
  output = place(input, <usize>inputTrades * TRADE_BYTES);
  const unread = place(output, <usize>records * RECORD_BYTES);
  transfer = place(unread, <usize>unreadRecords * READERS * RECORD_BYTES);
  const asides = place(transfer, cellBytes());
  rings = place(asides, <usize>symbolsMax * ASIDE_BYTES);
  const end = place(rings, <usize>symbolsMax * ringBytes);
  const pages = <i32>((end + 0xffff) >> 16) - memory.size();
  if (pages > 0 && memory.grow(pages) < 0) return 0;
  memory.fill(mapping, 0, <usize>globals * 4);
  memory.fill(counters, 0, COUNTERS_BYTES);
  placeUnread(unread, unreadRecords);
  placeAsides(asides);
  endSnapshots();
  return end;
}

/** Bit 0: persistence, bit 1: live. Told before the first symbol. */
export function attachReaders(mask: u32): void {
  readersAttached = mask;
}

export function planAddress(): usize {
  return plan;
}
export function countersAddress(): usize {
  return counters;
}
export function inputAddress(): usize {
  return input;
}
export function outputAddress(): usize {
  return output;
}
export function transferAddress(): usize {
  return transfer;
}
/** Bytes of one symbol, head, body, aside and rings: what a hand-off carries. */
export function cellBytes(): u32 {
  return HEAD_BYTES + bodyBytes + ASIDE_BYTES + ringBytes;
}
export function symbolCount(): u32 {
  return symbols;
}
export function symbolAddress(global: u32): usize {
  return global < globals ? <usize>load<u32>(mapping + global * 4) : 0;
}

/** The head of a trade's symbol, 0 if it is not here. */
@inline export function headOf(trade: usize): usize {
  const global = load<u32>(trade, TRADE_SYMBOL);
  return global < globals ? <usize>load<u32>(mapping + global * 4) : 0;
}

/** A symbol's address, with nothing about its ids left in the short path's hands. */
function settledSymbol(global: u32): usize {
  const symbol = symbolAddress(global);
  if (symbol) settle(symbol);
  return symbol;
}

/** Takes a symbol in. Bars that opened before `since` are partial. Returns 0, 1 when it is full, 2 when it is there. */
export function addSymbol(global: u32, venue: u32, dense: u32, since: u64): u32 {
  if (symbolAddress(global)) return 2;
  if (global >= globals || symbols == symbolsMax) return 1;
  const symbol = symbolAt(symbols);
  const body = bodyAt(symbols);
  memory.fill(symbol, 0, HEAD_BYTES);
  memory.fill(body, 0, bodyBytes);
  store<u32>(symbol, <u32>body, S_BODY);
  store<u32>(body, global, B_GLOBAL);
  store<u32>(symbol, venue, S_VENUE);
  store<u32>(symbol, dense ? SYMBOL_DENSE : 0, S_FLAGS);
  store<u64>(symbol, since, S_SINCE);
  store<u64>(symbol, since, S_LAST_TIME);
  store<u64>(symbol, NEVER, S_FAST_SEQUENCE);
  store<u64>(symbol, NEVER, S_BASE_OPEN);
  store<u64>(symbol, NEVER, S_PENDING_LOW);
  placeParts(symbol, symbols);
  memory.fill(asideAt(symbols), 0, ASIDE_BYTES);
  for (let k: u32 = 0; k < intervals; k++) {
    const state = stateOf(symbol, k);
    const first = windowAt(k, since);
    store<u32>(state, first, I_FLOOR);
    startReaders(state, first);
  }
  store<u32>(mapping + global * 4, <u32>symbol);
  symbols++;
  return 0;
}

/** Readers get the windows from `first` on; for one that nobody reads, everything counts as read. */
function startReaders(state: usize, first: u32): void {
  for (let reader: u32 = 0; reader < READERS; reader++) {
    const committed = readersAttached & (1 << reader) ? first - 1 : DETACHED;
    store<u32>(state + I_READERS + <usize>reader * READER_BYTES, committed, READER_COMMITTED);
  }
}

@inline function ringBytesOf(k: u32): u32 {
  return (maskOf(k) + 1) * ENTRY_BYTES;
}

@inline function ringAt(k: u32, index: u32): usize {
  const column = k ? rings + <usize>symbolsMax * (maskOf(0) + 1 + (k - 1) * (maskOf(1) + 1)) * ENTRY_BYTES : rings;
  return column + <usize>index * (maskOf(k) + 1) * ENTRY_BYTES;
}

/** Points a symbol at the body, and its intervals at the rings, of its index; tops keep their slots. */
function placeParts(symbol: usize, index: u32): void {
  const body = bodyAt(index);
  store<u32>(symbol, <u32>body, S_BODY);
  store<u32>(body, index, B_INDEX);
  for (let k: u32 = 0; k < intervals; k++) {
    const state = stateOf(symbol, k);
    const ring = <u32>ringAt(k, index);
    const top = load<u32>(state, I_TOP);
    if (top) store<u32>(state, top - load<u32>(state, I_RING) + ring, I_TOP);
    store<u32>(state, ring, I_RING);
  }
}

/** Lets a symbol go and moves the last one into its place, so that the heads stay packed. */
export function removeSymbol(global: u32): bool {
  const symbol = symbolAddress(global);
  if (!symbol) return false;
  endSnapshots();
  const index = symbolIndex(symbol);
  store<u32>(mapping + global * 4, 0);
  symbols--;
  if (index == symbols) return true;
  const last = symbolAt(symbols);
  memory.copy(symbol, last, HEAD_BYTES);
  memory.copy(bodyAt(index), bodyAt(symbols), bodyBytes);
  memory.copy(asideAt(index), asideAt(symbols), ASIDE_BYTES);
  for (let k: u32 = 0; k < intervals; k++) memory.copy(ringAt(k, index), ringAt(k, symbols), ringBytesOf(k));
  placeParts(symbol, index);
  store<u32>(mapping + load<u32>(bodyAt(index), B_GLOBAL) * 4, <u32>symbol);
  return true;
}

/** Copies a symbol's whole state into the transfer area. */
export function exportSymbol(global: u32): u32 {
  const symbol = symbolAddress(global);
  if (!symbol) return 0;
  let to = transfer;
  memory.copy(to, symbol, HEAD_BYTES);
  to += HEAD_BYTES;
  memory.copy(to, bodyOf(symbol), bodyBytes);
  to += bodyBytes;
  memory.copy(to, asideAddress(symbol), ASIDE_BYTES);
  to += ASIDE_BYTES;
  for (let k: u32 = 0; k < intervals; k++) {
    memory.copy(to, load<u32>(stateOf(symbol, k), I_RING), ringBytesOf(k));
    to += ringBytesOf(k);
  }
  return cellBytes();
}

/** Takes in what another worker exported. Returns as addSymbol does. */
export function importSymbol(global: u32): u32 {
  if (symbolAddress(global)) return 2;
  if (global >= globals || symbols == symbolsMax) return 1;
  endSnapshots();
  const symbol = symbolAt(symbols);
  let from = transfer;
  memory.copy(symbol, from, HEAD_BYTES);
  from += HEAD_BYTES;
  memory.copy(bodyAt(symbols), from, bodyBytes);
  from += bodyBytes;
  memory.copy(asideAt(symbols), from, ASIDE_BYTES);
  from += ASIDE_BYTES;
  for (let k: u32 = 0; k < intervals; k++) {
    memory.copy(ringAt(k, symbols), from, ringBytesOf(k));
    from += ringBytesOf(k);
  }
  placeParts(symbol, symbols);
  store<u32>(mapping + global * 4, <u32>symbol);
  symbols++;
  return 0;
}

/** Sets where a symbol goes on reading after a restart; the seeded bars hold everything below. */
export function seedSequence(global: u32, next: u64, lastTime: u64): bool {
  const symbol = settledSymbol(global);
  if (!symbol) return false;
  store<u64>(symbol, next, S_EXPECTED);
  store<u64>(symbol, lastTime, S_LAST_TIME);
  store<u32>(symbol, load<u32>(symbol, S_FLAGS) | SYMBOL_HAS_TRADED, S_FLAGS);
  doubt(symbol, lastTime);
  reissueChanged(symbol);
  return true;
}

/**
 * Puts back a stored bar, taken from the transfer area as a record: of each interval the last closed one, which only gives
 * the price, and those after it, in order. Two windows can be open at once, the older one for its late trades.
 */
export function seedBar(global: u32, k: u32, closed: u32): bool {
  const symbol = symbolAddress(global);
  if (!symbol || k >= intervals) return false;
  const state = stateOf(symbol, k);
  const window = load<u32>(transfer, R_WINDOW);
  if (closed || !load<u64>(state, I_FLOOR_CLOSE)) seedFloor(state, closed ? window + 1 : window);
  if (closed) {
    store<u64>(state, load<u64>(transfer, R_CLOSE), I_FLOOR_CLOSE);
    return true;
  }
  partSides(transfer + R_SUMS);
  // The symbol's totals stay as they are: what the bars before it held is before them.
  for (let at: u32 = 0; at < load<u32>(state, I_COUNT); at++) {
    subtractTotals(entryAt(state, k, at) + E_COUNT, transfer + R_COUNT);
  }
  const entry = push(symbol, k, window);
  store<u64>(entry, load<u64>(transfer, R_OPEN), E_OPEN);
  store<u64>(entry, load<u64>(transfer, R_HIGH), E_HIGH);
  store<u64>(entry, load<u64>(transfer, R_LOW), E_LOW);
  store<u64>(entry, load<u64>(transfer, R_CLOSE), E_CLOSE);
  store<u64>(entry, load<u64>(transfer, R_FIRST_ID), E_FIRST_ID);
  store<u64>(entry, load<u64>(transfer, R_LAST_ID), E_LAST_ID);
  store<u32>(entry, load<u32>(transfer, R_REVISION), E_MARKS);
  copyTotals(entry + E_COUNT, symbol + S_COUNT);
  subtractTotals(entry + E_COUNT, transfer + R_COUNT);
  store<u64>(state, windowEnd(k, window), I_END);
  if (k == 0) wake(symbol);
  return true;
}

/** Windows before this one are stored; the first bar that is put back says which. */
function seedFloor(state: usize, first: u32): void {
  if (load<u32>(state, I_COUNT)) return;
  store<u32>(state, first, I_FLOOR);
  startReaders(state, first);
}

export function lackTrades(global: u32, from: u64, to: u64, issued: bool): void {
  const symbol = settledSymbol(global);
  if (symbol && issued) disprove(symbol, from, to);
  else if (symbol) lack(symbol, from, to);
}

/** What came before the last trade, or before the venue last said that there was nothing more, is in no doubt. */
export function doubtSymbol(global: u32, from: u64): bool {
  const symbol = settledSymbol(global);
  if (!symbol) return false;
  doubt(symbol, max(from, max(load<u64>(symbol, S_SINCE), load<u64>(symbol, S_LAST_TIME))));
  reissueChanged(symbol);
  return true;
}

export function confirmSymbol(global: u32, next: u64, now: u64): bool {
  const symbol = settledSymbol(global);
  if (!symbol || !confirm(symbol, next, now)) return false;
  reissueChanged(symbol);
  return true;
}

export function resolveHoles(global: u32, first: u64, last: u64): bool {
  const symbol = settledSymbol(global);
  if (!symbol || !resolveHole(symbol, first, last)) return false;
  reissueChanged(symbol);
  return true;
}

/** The host has taken over the rebuild of the symbol's deep span. */
export function forgetDeep(global: u32): void {
  const symbol = symbolAddress(global);
  if (symbol) store<u32>(bodyOf(symbol), 0, B_DEEP_MASK);
}

/** Address of the first symbol from `index` on with holes, doubt or a deep span; 0 when there is none. */
export function troubledSymbol(index: u32): usize {
  for (; index < symbols; index++) {
    const symbol = symbolAt(index);
    if (load<u32>(symbol, S_HOLES) || load<u32>(bodyOf(symbol), B_DEEP_MASK) || load<u32>(symbol, S_FLAGS) & SYMBOL_SUSPECT) {
      settle(symbol);
      return symbol;
    }
  }
  return 0;
}

/** Where the holes of a symbol lie. */
export function asideAddress(symbol: usize): usize {
  return asideAt(symbolIndex(symbol));
}

export function symbolIndex(symbol: usize): u32 {
  return load<u32>(bodyOf(symbol), B_INDEX);
}

// Per reader: 1 + the number of symbols its snapshot in flight covers (0: none), where it started, where the next starts.
const flights: usize = memory.data(2 * 12, 16);

function endSnapshots(): void {
  for (let reader: u32 = 0; reader < READERS; reader++) store<u32>(flights + reader * 12, 0);
}

/** Writes a reader's next snapshot into the output area. One that was in flight and never committed is void. */
export function snapshot(reader: u32, room: u32): u32 {
  const flight = flights + reader * 12;
  room = min(room, outputRecords);
  let written = writeUnread(reader, output, room);
  let index = symbols ? load<u32>(flight, 8) % symbols : 0;
  store<u32>(flight, index, 4);
  let covered: u32 = 0;
  while (covered < symbols && written < room) {
    written += writeSymbol(output + <usize>written * RECORD_BYTES, room - written, symbolAt(index), reader);
    if (written < room) index = index + 1 == symbols ? 0 : index + 1;
    covered++;
  }
  store<u32>(flight, covered + 1);
  store<u32>(flight, index, 8);
  return written;
}

/** What the snapshot in flight carried is durable: it will not be carried again. False when there is none. */
export function commitSnapshot(reader: u32): bool {
  const flight = flights + reader * 12;
  const covered = load<u32>(flight);
  if (!covered) return false;
  store<u32>(flight, 0);
  let index = load<u32>(flight, 4);
  for (let done: u32 = 1; done < covered; done++) {
    commitSymbol(symbolAt(index), reader);
    index = index + 1 == symbols ? 0 : index + 1;
  }
  commitUnread(reader);
  return true;
}
