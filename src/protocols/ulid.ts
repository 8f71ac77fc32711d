import { randomFillSync } from 'node:crypto';

// A ULID is 26 digits of Crockford's base 32 for 128 bits: 48 bits of milliseconds, then 80 of randomness. Postgres has no
// such type but uuid has the same 16 bytes and the same order, so ids are stored as uuid, and ids that differ only in
// case are one id, as they must be.
//
//   01JCQ8Z6V4 3N5K8T2M7R9X0QWERT        first digit <= 7, else the value would need 130 bits
//   '--- ms --' '-- randomness -'

const DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const ULID_LENGTH = 26;
const INVALID = 255;

const VALUE_OF = new Uint8Array(256).fill(INVALID);
for (let value = 0; value < DIGITS.length; value++) {
  VALUE_OF[DIGITS.charCodeAt(value)] = value;
  VALUE_OF[DIGITS.toLowerCase().charCodeAt(value)] = value;
}

/** True when `length` bytes from `start` are one ULID, in either case. */
export function isUlidAt(bytes: Uint8Array, start: number, length: number): boolean {
  if (length !== ULID_LENGTH || VALUE_OF[bytes[start]!]! > 7) return false;
  for (let at = start; at < start + ULID_LENGTH; at++) if (VALUE_OF[bytes[at]!] === INVALID) return false;
  return true;
}

/** The id's creation time in milliseconds. */
export function ulidMilliseconds(ulid: string): number {
  let value = 0;
  for (let at = 0; at < 10; at++) value = value * 32 + VALUE_OF[ulid.charCodeAt(at)]!;
  return value;
}

/** Writes the 16 bytes of a valid ULID. Eight digits are 40 bits, which is five whole bytes: 2 + 8 + 8 + 8 digits. */
export function writeUlidBytes(ulid: string, target: Uint8Array, offset: number): void {
  target[offset] = (VALUE_OF[ulid.charCodeAt(0)]! << 5) | VALUE_OF[ulid.charCodeAt(1)]!;
  for (let group = 0; group < 3; group++) {
    const from = 2 + group * 8;
    const a = VALUE_OF[ulid.charCodeAt(from)]!;
    const b = VALUE_OF[ulid.charCodeAt(from + 1)]!;
    const c = VALUE_OF[ulid.charCodeAt(from + 2)]!;
    const d = VALUE_OF[ulid.charCodeAt(from + 3)]!;
    const e = VALUE_OF[ulid.charCodeAt(from + 4)]!;
    const f = VALUE_OF[ulid.charCodeAt(from + 5)]!;
    const g = VALUE_OF[ulid.charCodeAt(from + 6)]!;
    const h = VALUE_OF[ulid.charCodeAt(from + 7)]!;
    const to = offset + 1 + group * 5;
    target[to] = (a << 3) | (b >> 2);
    target[to + 1] = (b << 6) | (c << 1) | (d >> 4);
    target[to + 2] = (d << 4) | (e >> 1);
    target[to + 3] = (e << 7) | (f << 2) | (g >> 3);
    target[to + 4] = (g << 5) | h;
  }
}

export function ulidToUuid(ulid: string): string {
  const bytes = Buffer.alloc(16);
  writeUlidBytes(ulid, bytes, 0);
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function uuidToUlid(uuid: string): string {
  let value = BigInt(`0x${uuid.replaceAll('-', '')}`);
  let text = '';
  for (let at = 0; at < ULID_LENGTH; at++) {
    text = DIGITS[Number(value & 31n)]! + text;
    value >>= 5n;
  }
  return text;
}

/** Randomness is drawn for this many ids at once: one call of the system's generator costs more than the bytes. */
const POOLED_IDS = 256;

/**
 * Makes ids that only ever rise, for one sender. Within a millisecond, and when the clock steps back, the last id's
 * randomness plus one is taken; its top bit starts as 0, so that 2^79 ids fit before it could overflow.
 */
export function ulidFactory(): (milliseconds: number) => string {
  const pool = Buffer.alloc(POOLED_IDS * 16);
  const digits = new Uint8Array(16);
  let drawn = POOLED_IDS;
  let last = -1;
  let prefix = '';
  return (milliseconds) => {
    if (milliseconds > last) {
      last = milliseconds;
      prefix = encodeTime(milliseconds);
      if (drawn === POOLED_IDS) {
        randomFillSync(pool);
        drawn = 0;
      }
      for (let at = 0; at < 16; at++) digits[at] = pool[drawn * 16 + at]! & 31;
      digits[0] = digits[0]! & 15;
      drawn++;
    } else {
      let at = 15;
      while (digits[at] === 31) digits[at--] = 0;
      digits[at] = digits[at]! + 1;
    }
    let text = prefix;
    for (let at = 0; at < 16; at++) text += DIGITS[digits[at]!];
    return text;
  };
}

function encodeTime(milliseconds: number): string {
  let text = '';
  let left = milliseconds;
  for (let at = 0; at < 10; at++) {
    text = DIGITS[left % 32]! + text;
    left = Math.floor(left / 32);
  }
  return text;
}
