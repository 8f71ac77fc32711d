import { ENVELOPE_FIELD } from '../../protocols/envelope.ts';

// Reads one reply of XREADGROUP for one stream, in whatever pieces it arrives. A general parser makes three buffers and two
// arrays of each entry; this one makes the id, and one view of the bytes that the entry is about. RESP2:
//
//   *-1                                          nothing came in time
//   -NOGROUP No such key ...                     an error
//   *1 *2 $6 events *N                           one stream with N entries, and for each of them
//     *2 $15 1731700000123-0 *2 $8 envelope $350 {...}
//     *2 $15 1731700000124-0 *-1                 an entry that was trimmed away while it was pending

/** An entry as Redis delivers it. `body` is undefined without the envelope field, `deleted` when it was trimmed away. */
export interface StreamEntry {
  readonly id: string;
  readonly body: Buffer | undefined;
  readonly deleted: boolean;
  /** Names and values in turn; empty where the envelope is the only field. */
  readonly fields: readonly Buffer[];
}

const FIELD = Buffer.from(ENVELOPE_FIELD);
const NO_FIELDS: readonly Buffer[] = [];
const NOTHING = Buffer.alloc(0);
const CR = 0x0d;
const MORE = -2;

export class EntryParser {
  #bytes: Buffer = NOTHING;
  #at = 0;
  #expected: number;
  #entries: StreamEntry[] = [];
  #pieces: Buffer[] = [];
  /** So many bytes must come before the value that was met last is whole. */
  #missing = 0;
  /** Where the last `#length` ended. */
  #after = 0;

  /** With `expected`, the head of the reply was read elsewhere and so many entries are still to come. */
  constructor(expected = -1) {
    this.#expected = expected;
  }

  /** Takes the next piece. Answers the entries once the reply is whole, an error that Redis sent, or undefined. */
  push(piece: Buffer): readonly StreamEntry[] | Error | undefined {
    // A long value is put together once, when it is all there, and not anew with each piece.
    this.#pieces.push(piece);
    this.#missing -= piece.length;
    if (this.#missing > 0) return undefined;
    const kept = this.#bytes.subarray(this.#at);
    this.#bytes = kept.length === 0 && this.#pieces.length === 1 ? piece : Buffer.concat([kept, ...this.#pieces]);
    this.#pieces = [];
    this.#missing = 0;
    this.#at = 0;
    if (this.#expected < 0) {
      const head = this.#head();
      if (head !== 'entries') return head;
    }
    while (this.#entries.length < this.#expected) {
      const entry = this.#entry();
      if (entry === undefined) return undefined;
      this.#entries.push(entry);
    }
    return this.#finish();
  }

  #finish(): readonly StreamEntry[] {
    const entries = this.#entries;
    this.#entries = [];
    this.#expected = -1;
    return entries;
  }

  /** Everything before the first entry. */
  #head(): 'entries' | readonly StreamEntry[] | Error | undefined {
    const end = this.#bytes.indexOf('\r\n', this.#at);
    if (end < 0) return undefined;
    const line = this.#bytes.toString('latin1', this.#at, end);
    if (line.startsWith('-') || line === '*-1') {
      this.#at = end + 2;
      return line === '*-1' ? [] : new Error(line.slice(1));
    }
    if (line !== '*1') return new Error(`an answer that is none: ${line.slice(0, 80)}`);
    let at = end + 2;
    if (this.#length(at) === MORE) return undefined;
    at = this.#after;
    const name = this.#length(at);
    if (name === MORE) return undefined;
    at = this.#after + name + 2;
    const count = this.#length(at);
    if (count === MORE) return undefined;
    this.#expected = count;
    this.#at = this.#after;
    return 'entries';
  }

  /** The number after `*` or `$` at a place, or MORE when its line is not whole. */
  #length(at: number): number {
    const bytes = this.#bytes;
    const isNegative = bytes[at + 1] === 0x2d;
    let value = 0;
    for (let next = at + (isNegative ? 2 : 1); next + 1 < bytes.length; next++) {
      const byte = bytes[next]!;
      if (byte === CR) {
        this.#after = next + 2;
        return isNegative ? -1 : value;
      }
      value = value * 10 + byte - 0x30;
    }
    return MORE;
  }

  #entry(): StreamEntry | undefined {
    if (this.#length(this.#at) === MORE) return undefined;
    const idLength = this.#length(this.#after);
    if (idLength === MORE) return undefined;
    const idStart = this.#after;
    const count = this.#length(idStart + idLength + 2);
    if (count === MORE) return undefined;
    if (count < 0) return this.#done(idStart, idLength, undefined, true, NO_FIELDS);
    return count === 2 ? this.#single(idStart, idLength) : this.#several(idStart, idLength, count);
  }

  /** The usual entry: one field, the envelope. */
  #single(idStart: number, idLength: number): StreamEntry | undefined {
    const nameLength = this.#length(this.#after);
    if (nameLength === MORE) return undefined;
    const nameStart = this.#after;
    const valueLength = this.#length(nameStart + nameLength + 2);
    if (valueLength === MORE || !this.#isThere(valueLength)) return undefined;
    const value = this.#bytes.subarray(this.#after, this.#after + valueLength);
    const isEnvelope = this.#isEnvelope(nameStart, nameLength);
    const fields = isEnvelope ? NO_FIELDS : [this.#bytes.subarray(nameStart, nameStart + nameLength), value];
    this.#after += valueLength + 2;
    return this.#done(idStart, idLength, isEnvelope ? value : undefined, false, fields);
  }

  #several(idStart: number, idLength: number, count: number): StreamEntry | undefined {
    const fields: Buffer[] = [];
    let body: Buffer | undefined;
    for (let n = 0; n < count; n++) {
      const length = this.#length(this.#after);
      if (length === MORE || !this.#isThere(length)) return undefined;
      const field = this.#bytes.subarray(this.#after, this.#after + length);
      if (n % 2 === 1 && fields[n - 1]!.equals(FIELD)) body = field;
      fields.push(field);
      this.#after += length + 2;
    }
    return this.#done(idStart, idLength, body, false, fields);
  }

  /** Whether a value of this length, and the end of its line, have arrived. */
  #isThere(length: number): boolean {
    this.#missing = this.#after + length + 2 - this.#bytes.length;
    return this.#missing <= 0;
  }

  #isEnvelope(start: number, length: number): boolean {
    if (length !== FIELD.length) return false;
    for (let at = 0; at < length; at++) if (this.#bytes[start + at] !== FIELD[at]) return false;
    return true;
  }

  #done(
    idStart: number,
    idLength: number,
    body: Buffer | undefined,
    deleted: boolean,
    fields: readonly Buffer[],
  ): StreamEntry {
    this.#at = this.#after;
    return { id: this.#bytes.toString('latin1', idStart, idStart + idLength), body, deleted, fields };
  }
}
