// The same few names (sources, symbols, connections) arrive in every message. Making a string of bytes costs more than
// finding the one made last time, so recent ones are kept in a fixed table: no growth, a collision just replaces.

const SLOTS = 1024;

/** A text that was seen before, and whether it may name something: it is not empty and has no control characters. */
export interface Known {
  readonly bytes: Buffer;
  readonly text: string;
  readonly isName: boolean;
}

export class Interner {
  readonly #known: (Known | undefined)[] = new Array<Known | undefined>(SLOTS).fill(undefined);

  /** The UTF-8 text of the bytes from `start` to `end`. */
  find(bytes: Buffer, start: number, end: number): Known {
    let hash = 0x811c9dc5;
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ bytes[at]!, 0x01000193);
    const slot = (hash ^ (hash >>> 16)) & (SLOTS - 1);
    const known = this.#known[slot];
    if (known !== undefined && isSame(known.bytes, bytes, start, end)) return known;
    const text = bytes.toString('utf8', start, end);
    const fresh = { bytes: Buffer.from(bytes.subarray(start, end)), text, isName: isName(text) };
    this.#known[slot] = fresh;
    return fresh;
  }
}

export function isName(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x20 || (unit >= 0x7f && unit <= 0x9f)) return false;
  }
  return text !== '';
}

function isSame(known: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (known.length !== end - start) return false;
  for (let at = 0; at < known.length; at++) if (known[at] !== bytes[start + at]) return false;
  return true;
}
