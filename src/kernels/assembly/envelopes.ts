// Reads a reply of XREADGROUP for one stream as it arrives, and makes rows of its plain envelopes. Private memory, one
// instance a connection: the caller appends bytes to the input, calls `advance`, and takes out entries and rows.
//
//   input    *1 *2 $6 events *N | *2 $15 1731700000123-0 *2 $8 envelope $350 {...} | *2 ...
//   entries  one record for each whole entry, see envelope-contract.ts
//   output   the rows of plain envelopes, one behind the other
import {
  ENTRY_BODY, ENTRY_BODY_END, ENTRY_BYTES, ENTRY_COPY_END, ENTRY_ENVELOPE, ENTRY_ID, ENTRY_ID_END, ENTRY_KIND, ENTRY_OTHER,
  ENTRY_ROW, ENTRY_SENDER, ENTRY_TYPE, REPLY_MORE, REPLY_NOTHING, REPLY_ROOM, REPLY_STRANGE, REPLY_WHOLE, SENDER_UNKNOWN,
  SENDERS_MAX,
} from './lib/envelope-contract';
import { ABSENT, CONNECTION, endOf, kindOf, scanEnvelope, SOURCE, startOf } from './lib/envelope-scan';
import { plainType, prepareRows, writeRow } from './lib/envelope-row';

/** Scans load and copies write up to 16 bytes beyond what they need. */
const MARGIN: u32 = 64;
/** What a row has beyond the bytes of its envelope: lengths, uuid, date and times; an entry's frame is part of the input. */
const ROW_FIXED: u32 = 128;
const CR: u8 = 0x0d;
const MORE: i32 = -2;
const SENDER_SLOTS: u32 = 512;
const SENDER_BYTES: u32 = 256;

let input: usize = 0;
let output: usize = 0;
let entries: usize = 0;
let entriesMax: u32 = 0;
let entryBytesMax: u32 = 0;
let depthMax: u32 = 0;

let at: usize = 0;
let arrived: usize = 0;
let expected: i32 = -1;
let count: u32 = 0;
let written: usize = 0;
let tsKernel: i64 = 0;
/** Where the line of the last `number` ended. */
let after: usize = 0;

// Sources and connections that were seen. A slot holds a sender's number plus one; a sender its two lengths and its bytes.
const senderSlots = memory.data(512 * 2);
let senders: usize = 0;
let senderCount: u32 = 0;

export function initialize(inputBytes: u32, entryCapacity: u32): void {
  prepareRows();
  input = heap.alloc(inputBytes + MARGIN);
  output = heap.alloc(inputBytes + entryCapacity * ROW_FIXED + MARGIN);
  entries = heap.alloc(entryCapacity * ENTRY_BYTES);
  senders = heap.alloc(SENDERS_MAX * SENDER_BYTES);
  entriesMax = entryCapacity;
}

export function configure(bytesMax: u32, depth: u32): void {
  entryBytesMax = bytesMax;
  depthMax = depth;
}

export function inputAddress(): usize {
  return input;
}
export function outputAddress(): usize {
  return output;
}
export function entriesAddress(): usize {
  return entries;
}
/** How many entries were read since `rewind`. */
export function entryCount(): u32 {
  return count;
}
/** How many are still to come; -1 before the reply's head is read. */
export function expectedCount(): i32 {
  return expected;
}
/** How much of the input they took. */
export function consumed(): u32 {
  return <u32>(at - input);
}

/** Starts a new reply. */
export function begin(ns: i64): void {
  tsKernel = ns;
  expected = -1;
  rewind();
}

/** After entries were taken out and the rest of the input was moved to its start. */
export function rewind(): void {
  at = input;
  count = 0;
  written = output;
}

/** Reads on, given that the input holds `length` bytes. */
export function advance(length: u32): i32 {
  arrived = input + length;
  if (expected < 0) {
    const head = readHead();
    if (head != REPLY_WHOLE) return head;
  }
  while (expected > 0) {
    if (count == entriesMax) return REPLY_ROOM;
    if (!readEntry()) return REPLY_MORE;
    count++;
    expected--;
  }
  return REPLY_WHOLE;
}

/** Everything before the first entry: REPLY_WHOLE when it is there. */
function readHead(): i32 {
  if (arrived - at < 5) return REPLY_MORE;
  if (load<u32>(at) == 0x0d312d2a) {
    at += 5;
    return REPLY_NOTHING;
  }
  if (load<u32>(at) != 0x0a0d312a) return REPLY_STRANGE;
  if (number(at + 4) == MORE) return REPLY_MORE;
  const name = number(after);
  if (name == MORE) return REPLY_MORE;
  const entryTotal = number(after + name + 2);
  if (entryTotal == MORE) return REPLY_MORE;
  expected = entryTotal;
  at = after;
  return REPLY_WHOLE;
}

/** The number after `*` or `$`, or MORE when its line is not whole. */
function number(from: usize): i32 {
  // What lies between may not have arrived, and may be longer than this memory.
  if (from >= arrived) return MORE;
  let next = from + 1;
  const isNegative = load<u8>(next) == 0x2d;
  if (isNegative) next++;
  let value: i32 = 0;
  for (; next + 1 < arrived; next++) {
    const byte = load<u8>(next);
    if (byte == CR) {
      after = next + 2;
      return isNegative ? -1 : value;
    }
    value = value * 10 + byte - 0x30;
  }
  return MORE;
}

function readEntry(): bool {
  if (number(at) == MORE) return false;
  const idLength = number(after);
  if (idLength == MORE) return false;
  const id = after;
  const fields = id + idLength + 2;
  const fieldCount = number(fields);
  if (fieldCount == MORE) return false;
  const entry = entries + count * ENTRY_BYTES;
  store<u32>(entry, <u32>(id - input), ENTRY_ID);
  store<u32>(entry, <u32>(id + idLength - input), ENTRY_ID_END);
  if (fieldCount == 2) {
    const name = after;
    const nameLength = number(name);
    if (nameLength == MORE) return false;
    const nameStart = after;
    const length = number(nameStart + nameLength + 2);
    if (length == MORE || after + length + 2 > arrived) return false;
    // envelope
    if (nameLength == 8 && load<u64>(nameStart) == 0x65706f6c65766e65) {
      take(entry, after, after + length);
      return true;
    }
    after = fields;
    number(fields);
  }
  return other(entry, fields, fieldCount);
}

/** Fields of any number and names: only measured here. */
function other(entry: usize, fields: usize, fieldCount: i32): bool {
  let next = after;
  for (let n = 0; n < fieldCount; n++) {
    const length = number(next);
    if (length == MORE || after + length + 2 > arrived) return false;
    next = after + length + 2;
  }
  finish(entry, ENTRY_OTHER, fields, next);
  at = next;
  return true;
}

function take(entry: usize, body: usize, end: usize): void {
  at = end + 2;
  if (<u32>(end - body) > entryBytesMax || !scanEnvelope(body, end, depthMax)) {
    finish(entry, ENTRY_ENVELOPE, body, end);
    return;
  }
  const rowEnd = writeRow(written, tsKernel);
  if (rowEnd == 0) {
    finish(entry, ENTRY_ENVELOPE, body, end);
    return;
  }
  written = rowEnd;
  finish(entry, ENTRY_ROW, body, end);
  store<u8>(entry, plainType, ENTRY_TYPE);
  store<u16>(entry, sender(), ENTRY_SENDER);
}

@inline function finish(entry: usize, kind: u32, body: usize, end: usize): void {
  store<u32>(entry, <u32>(body - input), ENTRY_BODY);
  store<u32>(entry, <u32>(end - input), ENTRY_BODY_END);
  store<u32>(entry, <u32>(written - output), ENTRY_COPY_END);
  store<u8>(entry, <u8>kind, ENTRY_KIND);
}

/** The number of this envelope's source and connection; the first SENDERS_MAX that are seen have one. */
function sender(): u16 {
  const source = startOf(SOURCE) + 1;
  const sourceLength = <u32>(endOf(SOURCE) - 1 - source);
  const hasConnection = kindOf(CONNECTION) != ABSENT;
  const connection = hasConnection ? startOf(CONNECTION) + 1 : source;
  const connectionLength = hasConnection ? <u32>(endOf(CONNECTION) - 1 - connection) : 0;
  let slot = hash(hash(0x811c9dc5, source, sourceLength), connection, connectionLength) & (SENDER_SLOTS - 1);
  for (;;) {
    const known = load<u16>(senderSlots + (slot << 1));
    if (known == 0) break;
    const place = senders + (known - 1) * SENDER_BYTES;
    if (
      load<u32>(place) == sourceLength &&
      load<u32>(place, 4) == connectionLength &&
      memory.compare(place + 8, source, sourceLength) == 0 &&
      memory.compare(place + 8 + sourceLength, connection, connectionLength) == 0
    ) return <u16>(known - 1);
    slot = (slot + 1) & (SENDER_SLOTS - 1);
  }
  if (senderCount == SENDERS_MAX) return <u16>SENDER_UNKNOWN;
  const place = senders + senderCount * SENDER_BYTES;
  store<u32>(place, sourceLength);
  store<u32>(place, connectionLength, 4);
  memory.copy(place + 8, source, sourceLength);
  memory.copy(place + 8 + sourceLength, connection, connectionLength);
  store<u16>(senderSlots + (slot << 1), <u16>(senderCount + 1));
  senderCount++;
  return <u16>(senderCount - 1);
}

@inline function hash(seed: u32, from: usize, length: u32): u32 {
  let value = seed ^ length;
  for (let n: u32 = 0; n < length; n++) value = (value ^ load<u8>(from + n)) * 0x01000193;
  return value ^ (value >> 15);
}
