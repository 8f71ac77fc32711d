import type { DeadLetterCode } from './dead-letter.ts';

// One pass over the bytes of a JSON text. It checks the whole grammar, and beyond it what Postgres or a reader in
// JavaScript would choke on, and notes where the fields of interest lie, so that a payload is passed on as the bytes it
// came in: no object is built, nothing is serialized again.
//
// Input is bounded (the caller checks the size) and so is nesting, hence so is the recursion.

export const DEPTH_MAX = 32;
const NUMBER_LENGTH_MAX = 400;
/** A double holds the powers of ten from 10^-324 to 10^308. */
const EXPONENT_MIN = -324;
const EXPONENT_MAX = 308;

export const KIND = {
  absent: 0,
  string: 1,
  /** A string with at least one backslash: its bytes are not its text. */
  escaped: 2,
  integer: 3,
  number: 4,
  object: 5,
  array: 6,
  literal: 7,
  null: 8,
} as const;

/** A level of the text whose fields are noted: name, the slot it goes to, and the level its object value opens. */
export interface Level {
  readonly fields: readonly { readonly name: Buffer; readonly slot: number; readonly opens?: Level }[];
}

export function level(fields: Readonly<Record<string, { readonly slot: number; readonly opens?: Level }>>): Level {
  return { fields: Object.entries(fields).map(([name, field]) => ({ name: Buffer.from(name), ...field })) };
}

const FORBIDDEN = new Set(['__proto__', 'constructor', 'prototype']);

export class JsonScanner {
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  readonly kinds: Uint8Array;
  /** What was wrong and at which byte, after a scan that returned false. */
  code: DeadLetterCode = 'not_json';
  at = 0;
  /** The bits of all bytes in strings, or-ed: below 0x80 when the text is plain ASCII, hence UTF-8. */
  seen = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #end = 0;
  #depthMax = DEPTH_MAX;
  #kind = 0;

  constructor(slots: number) {
    this.starts = new Int32Array(slots);
    this.ends = new Int32Array(slots);
    this.kinds = new Uint8Array(slots);
  }

  /** Scans a whole text whose top value should be an object with the fields of `top`. */
  scan(bytes: Uint8Array, top: Level, depthMax = DEPTH_MAX): boolean {
    this.#depthMax = depthMax;
    for (let slot = 0; slot < this.kinds.length; slot++) this.kinds[slot] = KIND.absent;
    this.seen = 0;
    this.#bytes = bytes;
    this.#end = bytes.length;
    const start = this.#blank(0);
    if (start >= this.#end) return this.#fail('empty', 0) > 0;
    const done = this.#value(start, 0, top);
    if (done < 0) return false;
    if (this.#kind !== KIND.object) return this.#fail('not_an_object', start) > 0;
    const rest = this.#blank(done);
    return rest === this.#end || this.#fail('trailing_bytes', rest) > 0;
  }

  #fail(code: DeadLetterCode, at: number): -1 {
    this.code = at >= this.#end && code === 'not_json' ? 'truncated' : code;
    this.at = at;
    return -1;
  }

  #blank(from: number): number {
    let at = from;
    while (at < this.#end) {
      const byte = this.#bytes[at]!;
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break;
      at++;
    }
    return at;
  }

  /** Scans one value that starts at `at`; returns the position after it, or -1. Leaves its kind in #kind. */
  #value(at: number, depth: number, open: Level | undefined): number {
    switch (this.#bytes[at]) {
      case 0x22:
        return this.#string(at);
      case 0x7b:
        return depth >= this.#depthMax ? this.#fail('too_deep', at) : this.#object(at, depth + 1, open);
      case 0x5b:
        return depth >= this.#depthMax ? this.#fail('too_deep', at) : this.#array(at, depth + 1);
      case 0x74:
        return this.#word(at, 'true', KIND.literal);
      case 0x66:
        return this.#word(at, 'false', KIND.literal);
      case 0x6e:
        return this.#word(at, 'null', KIND.null);
      default:
        return this.#number(at);
    }
  }

  #word(at: number, word: string, kind: number): number {
    for (let n = 1; n < word.length; n++) {
      if (this.#bytes[at + n] !== word.charCodeAt(n)) return this.#fail('not_json', at + n);
    }
    this.#kind = kind;
    return at + word.length;
  }

  #object(start: number, depth: number, open: Level | undefined): number {
    let at = this.#blank(start + 1);
    let expected = 0;
    if (this.#bytes[at] === 0x7d) {
      this.#kind = KIND.object;
      return at + 1;
    }
    for (;;) {
      if (this.#bytes[at] !== 0x22) return this.#fail('not_json', at);
      const keyEnd = this.#string(at);
      if (keyEnd < 0) return -1;
      if (this.#isForbidden(at + 1, keyEnd - 1)) return this.#fail('forbidden_key', at);
      const field = open === undefined ? undefined : this.#fieldNamed(open, expected++, at + 1, keyEnd - 1);
      if (field !== undefined && this.kinds[field.slot] !== KIND.absent) return this.#fail('duplicate_key', at);
      at = this.#blank(keyEnd);
      if (this.#bytes[at] !== 0x3a) return this.#fail('not_json', at);
      const from = this.#blank(at + 1);
      at = this.#value(from, depth, field?.opens);
      if (at < 0) return -1;
      if (field !== undefined) {
        this.starts[field.slot] = from;
        this.ends[field.slot] = at;
        this.kinds[field.slot] = this.#kind;
      }
      at = this.#blank(at);
      if (this.#bytes[at] === 0x7d) break;
      if (this.#bytes[at] !== 0x2c) return this.#fail('not_json', at);
      at = this.#blank(at + 1);
    }
    this.#kind = KIND.object;
    return at + 1;
  }

  #array(start: number, depth: number): number {
    let at = this.#blank(start + 1);
    if (this.#bytes[at] === 0x5d) {
      this.#kind = KIND.array;
      return at + 1;
    }
    for (;;) {
      at = this.#value(at, depth, undefined);
      if (at < 0) return -1;
      at = this.#blank(at);
      if (this.#bytes[at] === 0x5d) break;
      if (this.#bytes[at] !== 0x2c) return this.#fail('not_json', at);
      at = this.#blank(at + 1);
    }
    this.#kind = KIND.array;
    return at + 1;
  }

  #string(start: number): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = start + 1;
    let kind: number = KIND.string;
    let seen = 0;
    while (at < end) {
      const byte = bytes[at]!;
      seen |= byte;
      if (byte === 0x22) {
        this.#kind = kind;
        this.seen |= seen;
        return at + 1;
      }
      if (byte < 0x20) return this.#fail('not_json', at);
      if (byte === 0x5c) {
        kind = KIND.escaped;
        at = this.#escape(at);
        if (at < 0) return -1;
      } else at++;
    }
    return this.#fail('truncated', at);
  }

  /** One escape; a surrogate must come as a pair of two escapes. */
  #escape(at: number): number {
    const letter = this.#bytes[at + 1];
    if (letter !== 0x75) {
      // " \ / b f n r t
      const plain = letter !== undefined && '"\\/bfnrt'.includes(String.fromCharCode(letter));
      return plain ? at + 2 : this.#fail('not_json', at + 1);
    }
    const unit = this.#hex(at + 2);
    if (unit < 0) return -1;
    if (unit === 0) return this.#fail('nul_character', at);
    if (unit < 0xd800 || unit > 0xdfff) return at + 6;
    const paired = unit < 0xdc00 && this.#bytes[at + 6] === 0x5c && this.#bytes[at + 7] === 0x75;
    if (!paired) return this.#fail('lone_surrogate', at);
    const low = this.#hex(at + 8);
    if (low < 0) return -1;
    return low >= 0xdc00 && low <= 0xdfff ? at + 12 : this.#fail('lone_surrogate', at);
  }

  #hex(at: number): number {
    let value = 0;
    for (let n = at; n < at + 4; n++) {
      const byte = this.#bytes[n] ?? 0;
      const digit =
        byte >= 0x30 && byte <= 0x39
          ? byte - 0x30
          : (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66
            ? (byte | 0x20) - 0x57
            : -1;
      if (digit < 0) return this.#fail('not_json', n);
      value = value * 16 + digit;
    }
    return value;
  }

  #number(start: number): number {
    let at = this.#bytes[start] === 0x2d ? start + 1 : start;
    const whole = at;
    at = this.#digits(at);
    if (at === whole) return this.#fail('not_json', at);
    if (this.#bytes[whole] === 0x30 && at > whole + 1) return this.#fail('not_json', whole + 1);
    // The power of ten of the first digit that is not zero decides whether a double can hold the number.
    let power = this.#bytes[whole] === 0x30 ? 0 : at - whole - 1;
    let kind: number = KIND.integer;
    if (this.#bytes[at] === 0x2e) {
      kind = KIND.number;
      const fraction = at + 1;
      at = this.#digits(fraction);
      if (at === fraction) return this.#fail('not_json', at);
    }
    if (((this.#bytes[at] ?? 0) | 0x20) === 0x65) {
      kind = KIND.number;
      const sign = this.#bytes[at + 1];
      const digits = sign === 0x2b || sign === 0x2d ? at + 2 : at + 1;
      at = this.#digits(digits);
      if (at === digits) return this.#fail('not_json', at);
      const exponent = at - digits > 6 ? 1_000_000 : this.#decimal(digits, at);
      power += sign === 0x2d ? -exponent : exponent;
    }
    if (at - start > NUMBER_LENGTH_MAX || power > EXPONENT_MAX || power < EXPONENT_MIN)
      return this.#fail('number_out_of_range', start);
    this.#kind = kind;
    return at;
  }

  #digits(from: number): number {
    let at = from;
    while (at < this.#end && this.#bytes[at]! >= 0x30 && this.#bytes[at]! <= 0x39) at++;
    return at;
  }

  #decimal(from: number, to: number): number {
    let value = 0;
    for (let at = from; at < to; at++) value = value * 10 + this.#bytes[at]! - 0x30;
    return value;
  }

  /** Producers write fields in a steady order, so the field at the same place in the level is the first guess. */
  #fieldNamed(open: Level, expected: number, from: number, to: number): Level['fields'][number] | undefined {
    const guess = open.fields[expected];
    if (guess !== undefined && this.#isNamed(guess.name, from, to)) return guess;
    for (const field of open.fields) if (this.#isNamed(field.name, from, to)) return field;
    return undefined;
  }

  #isNamed(name: Uint8Array, from: number, to: number): boolean {
    if (name.length !== to - from) return false;
    for (let at = 0; at < name.length; at++) if (name[at] !== this.#bytes[from + at]) return false;
    return true;
  }

  #isForbidden(from: number, to: number): boolean {
    const length = to - from;
    if (this.#kind === KIND.escaped) return FORBIDDEN.has(textOf(this.#bytes, from - 1, to + 1));
    if (length !== 9 && length !== 11) return false;
    const first = this.#bytes[from];
    if (first !== 0x5f && first !== 0x63 && first !== 0x70) return false;
    return FORBIDDEN.has(textOf(this.#bytes, from - 1, to + 1));
  }
}

/** The text of a scanned string, quotes included in the span. */
export function textOf(bytes: Uint8Array, start: number, end: number): string {
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')) as string;
}
