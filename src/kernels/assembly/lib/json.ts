// The strict reader: checks every byte of a frame against the JSON grammar and notes where the fields of an object
// stand. Functions take the position of a token and answer the position behind it, or 0 after `refuse`.
import { FIELDS_MAX, NESTING_MAX, REFUSED_DEPTH, REFUSED_ESCAPE, REFUSED_FIELDS, REFUSED_JSON } from './contract';
import { frameEnd, refuse } from './state';

//   field   0 key u32 | 4 key length u32 (ESCAPED set when it holds a backslash) | 8 value u32
const FIELD_BYTES: u32 = 12;
const ESCAPED: u32 = 0x80000000;
// A walker looks into at most three objects at once: frame, data, element.

const fields = memory.data(64 * 12 * 3);

const fieldCounts = memory.data(4 * 3);
/** Whether the string that was skipped last holds an escape. */
let escaped = false;

@inline
export function blank(at: usize): usize {
  let byte = load<u8>(at);
  while (byte <= 0x20 && (byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09)) byte = load<u8>(++at);
  return at;
}

function isHex(byte: u32): bool {
  return byte - 0x30 <= 9 || (byte | 0x20) - 0x61 <= 5;
}

/** From the opening quote to behind the closing one. */
export function skipString(start: usize): usize {
  escaped = false;
  let at = start + 1;
  while (at < frameEnd) {
    const text = v128.load(at);
    const special = v128.or(
      v128.or(i8x16.eq(text, i8x16.splat(0x22)), i8x16.eq(text, i8x16.splat(0x5c))),
      i8x16.lt_u(text, i8x16.splat(0x20)),
    );
    if (!v128.any_true(special)) {
      at += 16;
      continue;
    }
    at += ctz<u32>(<u32>i8x16.bitmask(special));
    const byte = load<u8>(at);
    if (byte == 0x22) return at + 1;
    if (byte != 0x5c) return refuse(REFUSED_JSON, at);
    escaped = true;
    const kind = load<u8>(++at);
    if (kind == 0x75) {
      for (let i: usize = 1; i <= 4; i++) if (!isHex(load<u8>(at + i))) return refuse(REFUSED_JSON, at);
      at += 5;
    } else if (
      kind == 0x22 || kind == 0x5c || kind == 0x2f || kind == 0x62 || kind == 0x66 || kind == 0x6e || kind == 0x72 || kind == 0x74
    ) {
      at++;
    } else {
      return refuse(REFUSED_JSON, at);
    }
  }
  return refuse(REFUSED_JSON, frameEnd);
}

@inline
function skipDigits(at: usize): usize {
  while (<u32>load<u8>(at) - 0x30 <= 9) at++;
  return at;
}

function skipNumber(start: usize): usize {
  let at = start;
  if (load<u8>(at) == 0x2d) at++;
  const whole = at;
  at = skipDigits(at);
  if (at == whole || (load<u8>(whole) == 0x30 && at > whole + 1)) return refuse(REFUSED_JSON, start);
  if (load<u8>(at) == 0x2e) {
    const fraction = at + 1;
    at = skipDigits(fraction);
    if (at == fraction) return refuse(REFUSED_JSON, start);
  }
  if ((load<u8>(at) | 0x20) == 0x65) {
    at++;
    const sign = load<u8>(at);
    if (sign == 0x2b || sign == 0x2d) at++;
    const exponent = at;
    at = skipDigits(at);
    if (at == exponent) return refuse(REFUSED_JSON, start);
  }
  return at;
}

/** Any value, checked to its last byte. */
export function skipValue(at: usize, nesting: u32): usize {
  const byte = load<u8>(at);
  if (byte == 0x22) return skipString(at);
  if (byte == 0x7b) return skipMembers(at, nesting, true);
  if (byte == 0x5b) return skipMembers(at, nesting, false);
  if (byte == 0x74 && load<u32>(at) == 0x65757274) return at + 4; // true
  if (byte == 0x6e && load<u32>(at) == 0x6c6c756e) return at + 4; // null
  if (byte == 0x66 && load<u32>(at, 1) == 0x65736c61) return at + 5; // false
  return skipNumber(at);
}

/** `at` stands on a key's quote; answers where its value begins. */
@inline
function skipKey(at: usize): usize {
  if (load<u8>(at) != 0x22) return refuse(REFUSED_JSON, at);
  at = skipString(at);
  if (at == 0) return 0;
  at = blank(at);
  if (load<u8>(at) != 0x3a) return refuse(REFUSED_JSON, at);
  return blank(at + 1);
}

function skipMembers(at: usize, nesting: u32, object: bool): usize {
  if (nesting >= <u32>NESTING_MAX) return refuse(REFUSED_DEPTH, at);
  const close: u8 = object ? 0x7d : 0x5d;
  at = blank(at + 1);
  if (load<u8>(at) == close) return at + 1;
  while (true) {
    if (object) {
      at = skipKey(at);
      if (at == 0) return 0;
    }
    at = skipValue(at, nesting + 1);
    if (at == 0) return 0;
    at = blank(at);
    const byte = load<u8>(at);
    if (byte == close) return at + 1;
    if (byte != 0x2c) return refuse(REFUSED_JSON, at);
    at = blank(at + 1);
  }
}

/** Checks the object at `at` whole and notes its fields as open object number `level` (0 is the frame itself). */
export function openObject(at: usize, level: u32): usize {
  store<u32>(fieldCounts + (level << 2), 0);
  if (load<u8>(at) != 0x7b) return refuse(REFUSED_JSON, at);
  let count: u32 = 0;
  let field = fields + level * FIELDS_MAX * FIELD_BYTES;
  at = blank(at + 1);
  if (load<u8>(at) == 0x7d) return at + 1;
  while (true) {
    if (count == FIELDS_MAX) return refuse(REFUSED_FIELDS, at);
    if (load<u8>(at) != 0x22) return refuse(REFUSED_JSON, at);
    const key = at + 1;
    at = skipString(at);
    if (at == 0) return 0;
    store<u32>(field, <u32>key);
    store<u32>(field, (<u32>(at - key) - 1) | (escaped ? ESCAPED : 0), 4);
    at = blank(at);
    if (load<u8>(at) != 0x3a) return refuse(REFUSED_JSON, at);
    at = blank(at + 1);
    store<u32>(field, <u32>at, 8);
    at = skipValue(at, level + 1);
    if (at == 0) return 0;
    field += FIELD_BYTES;
    store<u32>(fieldCounts + (level << 2), ++count);
    at = blank(at);
    const byte = load<u8>(at);
    if (byte == 0x7d) return at + 1;
    if (byte != 0x2c) return refuse(REFUSED_JSON, at);
    at = blank(at + 1);
  }
}

/** The frame as one object with nothing but white space around it. */
export function openFrameObject(start: usize): bool {
  const end = openObject(blank(start), 0);
  if (end == 0) return false;
  if (blank(end) == frameEnd) return true;
  refuse(REFUSED_JSON, end);
  return false;
}

function isText(at: usize, length: u32, text: string): bool {
  if (length != <u32>text.length) return false;
  const other = changetype<usize>(text);
  for (let i: u32 = 0; i < length; i++) if (<u16>load<u8>(at + i) != load<u16>(other + (i << 1))) return false;
  return true;
}

/** Where the value of a key stands, 0 when the object does not have it. Of a key given twice the first counts. */
export function field(level: u32, key: string): usize {
  const count = load<u32>(fieldCounts + (level << 2));
  let at = fields + level * FIELDS_MAX * FIELD_BYTES;
  for (let i: u32 = 0; i < count; i++, at += FIELD_BYTES)
    if (isText(load<u32>(at), load<u32>(at, 4), key)) return load<u32>(at, 8);
  return 0;
}

/** Refuses an object one of whose keys is spelled with escapes, because it might be a key that is looked for. */
export function hasPlainKeys(level: u32): bool {
  const count = load<u32>(fieldCounts + (level << 2));
  let at = fields + level * FIELDS_MAX * FIELD_BYTES;
  for (let i: u32 = 0; i < count; i++, at += FIELD_BYTES) {
    if ((load<u32>(at, 4) & ESCAPED) == 0) continue;
    refuse(REFUSED_ESCAPE, load<u32>(at));
    return false;
  }
  return true;
}

/** Whether the value at `at` is exactly this string. */
export function isString(at: usize, text: string): bool {
  if (at == 0 || load<u8>(at) != 0x22) return false;
  return isText(at + 1, <u32>text.length, text) && load<u8>(at + 1 + text.length) == 0x22;
}

/** Length of the string whose opening quote is at `at`; refuses anything else, and escapes. Call it on checked JSON. */
export function plainStringLength(at: usize): i32 {
  if (at == 0 || load<u8>(at) != 0x22) return -1;
  const end = skipString(at);
  if (end == 0) return -1;
  if (!escaped) return <i32>(end - at) - 2;
  refuse(REFUSED_ESCAPE, at);
  return -1;
}

/** Whether the value at `at` is a string that begins like this. */
export function startsString(at: usize, text: string): bool {
  return at != 0 && load<u8>(at) == 0x22 && isText(at + 1, <u32>text.length, text);
}
