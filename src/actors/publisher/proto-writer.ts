// Writes protobuf into one buffer that is reused. Numbers come as the two halves of a u64 or as safe integers, so that
// nothing is allocated and nothing passes through a float that it does not fit.

const LOW = 0x1_0000_0000;

export const VARINT = 0;
export const DOUBLE = 1;
export const BYTES = 2;

export class ProtoWriter {
  readonly bytes: Buffer;
  #at = 0;

  constructor(capacity: number) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  get length(): number {
    return this.#at;
  }

  reset(): void {
    this.#at = 0;
  }

  /** Field numbers up to 15 take one byte, up to 2047 two. */
  tag(field: number, type: number): void {
    this.varint((field << 3) | type);
  }

  varint(value: number): void {
    let rest = value;
    while (rest >= 0x80) {
      this.bytes[this.#at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.#at++] = rest;
  }

  /** A u64 from its halves. */
  varint64(low: number, high: number): void {
    if (high < 0x20_0000) {
      this.varint(high * LOW + low);
      return;
    }
    // Eight bytes of seven bits each carry 56 bits; what is above stands in the ninth and tenth.
    let bits = low;
    let above = high;
    while (above !== 0 || bits >= 0x80) {
      this.bytes[this.#at++] = (bits & 0x7f) | 0x80;
      bits = ((bits >>> 7) | (above << 25)) >>> 0;
      above >>>= 7;
    }
    this.bytes[this.#at++] = bits;
  }

  double(value: number): void {
    this.bytes.writeDoubleLE(value, this.#at);
    this.#at += 8;
  }

  /** Bytes that are the same every time, such as a venue's name with its tag. */
  put(ready: Uint8Array): void {
    this.bytes.set(ready, this.#at);
    this.#at += ready.length;
  }

  /** Opens a field whose length is not known yet and is below 128 bytes; close it with the mark that this answers. */
  openShort(field: number): number {
    this.tag(field, BYTES);
    return this.#at++;
  }

  closeShort(mark: number): void {
    this.bytes[mark] = this.#at - mark - 1;
  }

  ascii(code: number): void {
    this.bytes[this.#at++] = code;
  }
}
