// Writes the row of a plain envelope in COPY's binary form; src/actors/sink/copy-rows.ts has the picture and is what the
// tests compare with. A function answers 0 when the envelope is not plain after all; what it wrote is then written over.
import {
  ABSENT, CONNECTION, DATA, endOf, EVENT_TYPE, ID, INTEGER, kindOf, META, NULL, OBJECT, PAYLOAD, SOURCE, startOf, STRING,
  SYMBOL, TS, TS_COLLECTOR, TS_EVENT, TYPE, VERSION,
} from './envelope-scan';

const COLUMNS: u16 = 11;
const JSONB_VERSION: u8 = 1;
const DAY_MS: u64 = 86_400_000;
const DAYS_1970_TO_2000: u32 = 10_957;
const SOURCE_MAX: usize = 64;
const SYMBOL_MAX: usize = 64;
const CONNECTION_MAX: usize = 128;
const INVALID: u8 = 255;

/** The value of each digit of a ULID, in both cases. */
const digitValues = memory.data(256);

export function prepareRows(): void {
  memory.fill(digitValues, INVALID, 256);
  const digits = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
  for (let value = 0; value < digits.length; value++) {
    const code = <usize>digits.charCodeAt(value);
    store<u8>(digitValues + code, <u8>value);
    if (code >= 0x41) store<u8>(digitValues + code + 0x20, <u8>value);
  }
}

/** The index of the event's type in PLAIN_TYPES, after `writeRow`. */
export let plainType: u8 = 0;

/** Writes the row of the envelope that was scanned last. Answers where it ends, or 0. */
export function writeRow(to: usize, tsKernel: i64): usize {
  if (!isPlainHead()) return 0;
  const tsEvent = nanoseconds(TS_EVENT);
  const tsCollector = nanoseconds(TS_COLLECTOR);
  if (nanoseconds(TS) == 0 || tsEvent == 0 || tsCollector == 0) return 0;
  if (!isName(SOURCE, SOURCE_MAX) || !isName(SYMBOL, SYMBOL_MAX)) return 0;
  const hasConnection = kindOf(CONNECTION) != ABSENT;
  if (hasConnection && !isName(CONNECTION, CONNECTION_MAX)) return 0;
  store<u16>(to, bswap<u16>(COLUMNS));
  let at = writeId(to + 2);
  if (at == 0) return 0;
  at = writeTime(at, tsEvent);
  at = writeTime(at, tsCollector);
  at = writeTime(at, tsKernel);
  at = writeText(at, EVENT_TYPE);
  at = writeText(at, SOURCE);
  at = writeText(at, SYMBOL);
  if (hasConnection) at = writeText(at, CONNECTION);
  else {
    store<u32>(at, 0);
    at += 4;
  }
  at = writeJson(at, PAYLOAD);
  if (kindOf(META) == OBJECT) return writeJson(at, META);
  store<i32>(at, -1);
  return at + 4;
}

/** A data event of a kind that is only stored: no heartbeat, no status, nothing that asks. */
function isPlainHead(): bool {
  if (kindOf(TYPE) != STRING || kindOf(VERSION) != STRING || kindOf(EVENT_TYPE) != STRING) return false;
  if (kindOf(DATA) != OBJECT || kindOf(PAYLOAD) != OBJECT) return false;
  const meta = kindOf(META);
  if (meta != OBJECT && meta != ABSENT && meta != NULL) return false;
  // "data"
  if (endOf(TYPE) - startOf(TYPE) != 6 || load<u32>(startOf(TYPE), 1) != 0x61746164) return false;
  return isPlainVersion(startOf(VERSION) + 1, endOf(VERSION) - 1) && isPlainType();
}

/** 1.0.0 to 1.9.9; longer ones are read by the full decoder. */
function isPlainVersion(from: usize, to: usize): bool {
  if (to - from != 5 || load<u16>(from) != 0x2e31 || load<u8>(from, 3) != 0x2e) return false;
  return <u8>(load<u8>(from, 2) - 0x30) <= 9 && <u8>(load<u8>(from, 4) - 0x30) <= 9;
}

function isPlainType(): bool {
  const from = startOf(EVENT_TYPE) + 1;
  const length = endOf(EVENT_TYPE) - from - 1;
  const name = load<u64>(from);
  if (length == 5 && (name & 0xffffffffff) == 0x65746f7571) plainType = 0;
  else if (length == 5 && (name & 0xffffffffff) == 0x6564617274) plainType = 1;
  else if (length == 9 && name == 0x6f6f62726564726f && load<u8>(from, 8) == 0x6b) plainType = 2;
  else if (length == 4 && <u32>name == 0x636c686f) plainType = 3;
  else return false;
  return true;
}

/** A name is not empty and holds no DEL; other control characters are not plain in the first place. */
function isName(slot: u32, bytesMax: usize): bool {
  if (kindOf(slot) != STRING) return false;
  const from = startOf(slot) + 1;
  const to = endOf(slot) - 1;
  if (to == from || to - from > bytesMax) return false;
  for (let at = from; at < to; at++) if (load<u8>(at) == 0x7f) return false;
  return true;
}

/** At most 19 digits, as an integer or a string; 0 when it is anything else, or more than 63 bits. */
function nanoseconds(slot: u32): i64 {
  const kind = kindOf(slot);
  if (kind != STRING && kind != INTEGER) return 0;
  const quote: usize = kind == STRING ? 1 : 0;
  const from = startOf(slot) + quote;
  const to = endOf(slot) - quote;
  if (to - from > 19) return 0;
  let value: u64 = 0;
  for (let at = from; at < to; at++) {
    const digit = <u64>load<u8>(at) - 0x30;
    if (digit > 9) return 0;
    value = value * 10 + digit;
  }
  return <i64>value < 0 ? 0 : <i64>value;
}

@inline function writeTime(at: usize, ns: i64): usize {
  store<u32>(at, bswap<u32>(8));
  store<i64>(at, bswap<i64>(ns), 4);
  return at + 12;
}

/** uuid and day. The first ten digits are the milliseconds, 48 bits; eight digits are 40 bits. */
function writeId(at: usize): usize {
  if (kindOf(ID) != STRING) return 0;
  const from = startOf(ID) + 1;
  if (endOf(ID) - from != 27 || digit(from) > 7) return 0;
  let seen: u64 = 0;
  for (let n: usize = 0; n < 26; n++) seen |= digit(from + n);
  if (seen == INVALID) return 0;
  const head = (digit(from) << 5) | digit(from + 1);
  const a = eight(from + 2);
  const b = eight(from + 10);
  const c = eight(from + 18);
  // 8 + 40 + 40 + 40 bits make two words of 64.
  const high = (head << 56) | (a << 16) | (b >> 24);
  const low = (b << 40) | c;
  store<u32>(at, bswap<u32>(16));
  store<u64>(at, bswap<u64>(high), 4);
  store<u64>(at, bswap<u64>(low), 12);
  store<u32>(at, bswap<u32>(4), 20);
  store<u32>(at, bswap<u32>(<u32>((high >> 16) / DAY_MS) - DAYS_1970_TO_2000), 24);
  return at + 28;
}

@inline function digit(at: usize): u64 {
  return load<u8>(digitValues + load<u8>(at));
}

@inline function eight(at: usize): u64 {
  let value: u64 = 0;
  for (let n: usize = 0; n < 8; n++) value = (value << 5) | digit(at + n);
  return value;
}

@inline function writeText(at: usize, slot: u32): usize {
  const from = startOf(slot) + 1;
  const length = endOf(slot) - 1 - from;
  store<u32>(at, bswap<u32>(<u32>length));
  copy(at + 4, from, length);
  return at + 4 + length;
}

@inline function writeJson(at: usize, slot: u32): usize {
  const from = startOf(slot);
  const length = endOf(slot) - from;
  store<u32>(at, bswap<u32>(<u32>length + 1));
  store<u8>(at, JSONB_VERSION, 4);
  copy(at + 5, from, length);
  return at + 5 + length;
}

/** Sixteen bytes at a time; up to fifteen beyond the end are written, and written over by what follows. */
@inline function copy(to: usize, from: usize, length: usize): void {
  for (let at: usize = 0; at < length; at += 16) v128.store(to + at, v128.load(from + at));
}
