// Reads an envelope that is plain: what nearly every producer sends nearly always. It checks the whole JSON grammar in one
// pass and notes where the fields lie. Whatever is unusual (escapes in names, \u, bytes above 0x7f, exponents, doubled or
// forbidden keys) makes it answer "not plain", never "bad": the full decoder then reads the envelope from its start.
//
// Functions take the position of a token and answer the position behind it, or 0. An envelope is followed by CR, which ends
// every token, so only white space is checked against the end. Loads may reach 16 bytes beyond it: the input has a margin.

export const TYPE: u32 = 0;
export const VERSION: u32 = 1;
export const ID: u32 = 2;
export const TS: u32 = 3;
export const DATA: u32 = 4;
export const EVENT_TYPE: u32 = 5;
export const SOURCE: u32 = 6;
export const SYMBOL: u32 = 7;
export const TS_EVENT: u32 = 8;
export const TS_COLLECTOR: u32 = 9;
export const PAYLOAD: u32 = 10;
export const META: u32 = 11;
export const OPERATION: u32 = 12;
export const CONNECTION: u32 = 13;
const NONE: u32 = 14;

export const ABSENT: u8 = 0;
export const STRING: u8 = 1;
/** A string with a backslash, which is plain only inside payload and meta. */
export const ESCAPED: u8 = 2;
export const INTEGER: u8 = 3;
export const OBJECT: u8 = 4;
export const NULL: u8 = 5;
export const OTHER: u8 = 6;

const AT_ENVELOPE: u32 = 0;
const AT_EVENT: u32 = 1;
const AT_META: u32 = 2;
const AT_NOTHING: u32 = 3;

/** A double holds every number of so few characters without an exponent. */
const NUMBER_MAX: usize = 300;

const kinds = memory.data(16);
const places = memory.data(16 * 8);

let end: usize = 0;
let depthMax: u32 = 0;
let kind: u8 = 0;

@inline export function kindOf(slot: u32): u8 {
  return load<u8>(kinds + slot);
}
@inline export function startOf(slot: u32): usize {
  return load<u32>(places + (slot << 3));
}
@inline export function endOf(slot: u32): usize {
  return load<u32>(places + (slot << 3), 4);
}

/** True when the bytes from `from` to `to` are one JSON object of plain tokens. */
export function scanEnvelope(from: usize, to: usize, depth: u32): bool {
  store<u64>(kinds, 0);
  store<u64>(kinds, 0, 8);
  end = to;
  depthMax = depth;
  const start = blank(from);
  if (start >= end || load<u8>(start) != 0x7b) return false;
  const after = object(start, 1, AT_ENVELOPE);
  return after != 0 && blank(after) == end;
}

@inline function blank(from: usize): usize {
  let at = from;
  while (at < end) {
    const byte = load<u8>(at);
    if (byte > 0x20 || (byte != 0x20 && byte != 0x0a && byte != 0x0d && byte != 0x09)) break;
    at++;
  }
  return at;
}

function value(at: usize, depth: u32, level: u32): usize {
  switch (load<u8>(at)) {
    case 0x22:
      return text(at);
    case 0x7b:
      return depth >= depthMax ? 0 : object(at, depth + 1, level);
    case 0x5b:
      return depth >= depthMax ? 0 : array(at, depth + 1);
    case 0x74:
      kind = OTHER;
      return load<u32>(at) == 0x65757274 ? at + 4 : 0;
    case 0x66:
      kind = OTHER;
      return load<u32>(at + 1) == 0x65736c61 ? at + 5 : 0;
    case 0x6e:
      kind = NULL;
      return load<u32>(at) == 0x6c6c756e ? at + 4 : 0;
    default:
      return number(at);
  }
}

function text(start: usize): usize {
  let at = start + 1;
  let found = STRING;
  while (at < end) {
    const bytes = v128.load(at);
    // Signed: bytes from 0x80 on are below 0x20 too.
    const special = v128.or(
      v128.or(i8x16.eq(bytes, i8x16.splat(0x22)), i8x16.eq(bytes, i8x16.splat(0x5c))),
      i8x16.lt_s(bytes, i8x16.splat(0x20)),
    );
    const mask = i8x16.bitmask(special);
    if (mask == 0) {
      at += 16;
      continue;
    }
    at += ctz(mask);
    const byte = load<u8>(at);
    if (byte == 0x22) {
      kind = found;
      return at + 1;
    }
    if (byte != 0x5c || !isPlainEscape(load<u8>(at + 1))) return 0;
    found = ESCAPED;
    at += 2;
  }
  return 0;
}

/** " \ / b f n r t */
@inline function isPlainEscape(byte: u8): bool {
  return (
    byte == 0x22 || byte == 0x5c || byte == 0x2f || byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 || byte == 0x74
  );
}

@inline function isDigit(byte: u8): bool {
  return <u8>(byte - 0x30) <= 9;
}

function number(start: usize): usize {
  let at = load<u8>(start) == 0x2d ? start + 1 : start;
  const whole = at;
  while (isDigit(load<u8>(at))) at++;
  if (at == whole || (load<u8>(whole) == 0x30 && at > whole + 1)) return 0;
  kind = whole == start ? INTEGER : OTHER;
  if (load<u8>(at) == 0x2e) {
    kind = OTHER;
    const fraction = ++at;
    while (isDigit(load<u8>(at))) at++;
    if (at == fraction) return 0;
  }
  return (load<u8>(at) | 0x20) == 0x65 || at - start > NUMBER_MAX ? 0 : at;
}

function array(start: usize, depth: u32): usize {
  let at = blank(start + 1);
  if (load<u8>(at) != 0x5d) {
    for (;;) {
      at = value(at, depth, AT_NOTHING);
      if (at == 0) return 0;
      at = blank(at);
      const byte = load<u8>(at);
      if (byte == 0x5d) break;
      if (byte != 0x2c) return 0;
      at = blank(at + 1);
    }
  }
  kind = OTHER;
  return at + 1;
}

function object(start: usize, depth: u32, level: u32): usize {
  let at = blank(start + 1);
  if (load<u8>(at) != 0x7d) {
    for (;;) {
      if (load<u8>(at) != 0x22) return 0;
      const key = at + 1;
      at = text(at);
      if (at == 0 || kind == ESCAPED) return 0;
      const length = <u32>(at - key - 1);
      if (mayBeForbidden(key, length)) return 0;
      const slot = slotOf(level, key, length);
      if (slot != NONE && kindOf(slot) != ABSENT) return 0;
      at = blank(at);
      if (load<u8>(at) != 0x3a) return 0;
      const from = blank(at + 1);
      at = value(from, depth, slot == DATA ? AT_EVENT : slot == META ? AT_META : AT_NOTHING);
      if (at == 0) return 0;
      if (slot != NONE) note(slot, from, at);
      at = blank(at);
      const byte = load<u8>(at);
      if (byte == 0x7d) break;
      if (byte != 0x2c) return 0;
      at = blank(at + 1);
    }
  }
  kind = OBJECT;
  return at + 1;
}

@inline function note(slot: u32, from: usize, to: usize): void {
  store<u8>(kinds + slot, kind);
  store<u32>(places + (slot << 3), <u32>from);
  store<u32>(places + (slot << 3), <u32>to, 4);
}

/** __proto__, prototype and constructor have these lengths and first letters. */
@inline function mayBeForbidden(key: usize, length: u32): bool {
  if (length != 9 && length != 11) return false;
  const first = load<u8>(key);
  return first == 0x5f || first == 0x70 || first == 0x63;
}

function slotOf(level: u32, key: usize, length: u32): u32 {
  if (level == AT_EVENT) return eventSlot(key, length);
  if (level == AT_ENVELOPE) return envelopeSlot(key, length);
  if (level == AT_META && length == 13) {
    // connection_id
    if (load<u64>(key) == 0x697463656e6e6f63 && load<u64>(key, 5) == 0x64695f6e6f697463) return CONNECTION;
  }
  return NONE;
}

function envelopeSlot(key: usize, length: u32): u32 {
  if (length == 2) {
    const name = load<u16>(key);
    return name == 0x6469 ? ID : name == 0x7374 ? TS : NONE;
  }
  if (length == 4) {
    const name = load<u32>(key);
    return name == 0x65707974 ? TYPE : name == 0x61746164 ? DATA : NONE;
  }
  return length == 7 && (load<u64>(key) & 0xffffffffffffff) == 0x6e6f6973726576 ? VERSION : NONE;
}

function eventSlot(key: usize, length: u32): u32 {
  const first = load<u64>(key);
  switch (length) {
    case 2:
      return <u16>first == 0x706f ? OPERATION : NONE;
    case 4:
      return <u32>first == 0x6174656d ? META : NONE;
    case 6: {
      const name = first & 0xffffffffffff;
      return name == 0x656372756f73 ? SOURCE : name == 0x6c6f626d7973 ? SYMBOL : NONE;
    }
    case 7:
      return (first & 0xffffffffffffff) == 0x64616f6c796170 ? PAYLOAD : NONE;
    case 8:
      return first == 0x746e6576655f7374 ? TS_EVENT : NONE;
    case 10:
      return first == 0x79745f746e657665 && load<u16>(key, 8) == 0x6570 ? EVENT_TYPE : NONE;
    case 12:
      return first == 0x656c6c6f635f7374 && load<u32>(key, 8) == 0x726f7463 ? TS_COLLECTOR : NONE;
    default:
      return NONE;
  }
}
