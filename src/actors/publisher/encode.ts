import {
  SUMMARY,
  SUMMARY_LEVEL,
  SUMMARY_LEVEL_BYTES,
  SUMMARY_VENUE,
  SUMMARY_VENUE_BYTES,
  SUMMARY_VENUE_IN,
  summaryAsksOffset,
  summaryBidsOffset,
} from '../../protocols/book-layout.ts';
import { toDouble, writeDecimal } from './decimal.ts';
import { BYTES, DOUBLE, ProtoWriter, VARINT } from './proto-writer.ts';

/** What the records do not say themselves. */
export interface SummaryShape {
  readonly venues: readonly string[];
  readonly depth: number;
}

/** What a symbol is called and how its fixed point is scaled. */
export interface SymbolShape {
  readonly name: string;
  readonly priceDecimals: number;
  readonly amountDecimals: number;
}

/** The longest level, venue row and head, with names of up to 64 bytes and all numbers at their longest. */
const LEVEL_BYTES_MAX = 160;
const VENUE_BYTES_MAX = 128;
const HEAD_BYTES_MAX = 256;

/** Encodes summary records as orderbook.Summary, each once for all subscribers that want the same depth. */
export class SummaryEncoder {
  readonly #shape: SummaryShape;
  readonly #words: Uint32Array;
  readonly #out: ProtoWriter;
  readonly #venueNames: readonly Buffer[];
  readonly #unixOffsetNs: number;

  /** `unixOffsetNs` is what turns the machine's monotonic clock into Unix time. */
  constructor(memory: SharedArrayBuffer, shape: SummaryShape, unixOffsetNs: number) {
    this.#shape = shape;
    this.#words = new Uint32Array(memory);
    this.#unixOffsetNs = unixOffsetNs;
    const size = HEAD_BYTES_MAX + shape.venues.length * VENUE_BYTES_MAX + 2 * shape.depth * LEVEL_BYTES_MAX;
    this.#out = new ProtoWriter(size);
    this.#venueNames = shape.venues.map(nameField);
  }

  /** A fresh Buffer: grpc keeps it until the slowest subscriber has it. */
  encode(record: number, symbol: SymbolShape, depth: number): Buffer {
    const out = this.#out;
    out.reset();
    const { venues, depth: kept } = this.#shape;
    this.#spread(record, symbol);
    this.#side(2, record + summaryBidsOffset(venues.length), this.#u16(record + SUMMARY.bid_count), symbol, depth);
    this.#side(
      3,
      record + summaryAsksOffset(venues.length, kept),
      this.#u16(record + SUMMARY.ask_count),
      symbol,
      depth,
    );
    const name = Buffer.from(symbol.name);
    out.tag(10, BYTES);
    out.varint(name.length);
    out.put(name);
    this.#u64(11, record + SUMMARY.sequence);
    this.#venues(record);
    const receivedNs = this.#number(record + SUMMARY.received_ns);
    out.tag(14, VARINT);
    out.varint(this.#unixUs(receivedNs));
    out.tag(15, VARINT);
    out.varint(Math.max(0, this.#number(record + SUMMARY.merged_ns) - receivedNs));
    return Buffer.from(out.bytes.subarray(0, out.length));
  }

  #spread(record: number, symbol: SymbolShape): void {
    const at = (record + SUMMARY.spread) >>> 2;
    let low = this.#words[at]!;
    let high = this.#words[at + 1]!;
    const isNegative = high >= 0x8000_0000;
    if (isNegative) {
      low = (~low + 1) >>> 0;
      high = (~high + (low === 0 ? 1 : 0)) >>> 0;
    }
    const out = this.#out;
    const size = toDouble(low, high, symbol.priceDecimals);
    out.tag(1, DOUBLE);
    out.double(isNegative ? -size : size);
    const mark = out.openShort(12);
    writeDecimal(out, low, high, symbol.priceDecimals, isNegative);
    out.closeShort(mark);
  }

  #side(field: number, first: number, count: number, symbol: SymbolShape, depth: number): void {
    const out = this.#out;
    for (let level = 0; level < Math.min(count, depth); level++) {
      const at = (first + level * SUMMARY_LEVEL_BYTES) >>> 2;
      const priceLow = this.#words[at + (SUMMARY_LEVEL.price >> 2)]!;
      const priceHigh = this.#words[at + (SUMMARY_LEVEL.price >> 2) + 1]!;
      const amountLow = this.#words[at + (SUMMARY_LEVEL.amount >> 2)]!;
      const amountHigh = this.#words[at + (SUMMARY_LEVEL.amount >> 2) + 1]!;
      const mark = out.openShort(field);
      out.put(this.#venueNames[this.#words[at + (SUMMARY_LEVEL.venue >> 2)]!]!);
      out.tag(2, DOUBLE);
      out.double(toDouble(priceLow, priceHigh, symbol.priceDecimals));
      out.tag(3, DOUBLE);
      out.double(toDouble(amountLow, amountHigh, symbol.amountDecimals));
      const price = out.openShort(10);
      writeDecimal(out, priceLow, priceHigh, symbol.priceDecimals);
      out.closeShort(price);
      const amount = out.openShort(11);
      writeDecimal(out, amountLow, amountHigh, symbol.amountDecimals);
      out.closeShort(amount);
      out.closeShort(mark);
    }
  }

  #venues(record: number): void {
    const out = this.#out;
    const mergedNs = this.#number(record + SUMMARY.merged_ns);
    for (let venue = 0; venue < this.#shape.venues.length; venue++) {
      const row = record + SUMMARY.venues + venue * SUMMARY_VENUE_BYTES;
      const receivedNs = this.#number(row + SUMMARY_VENUE.received_ns);
      const mark = out.openShort(13);
      out.put(this.#venueNames[venue]!);
      if ((this.#words[(row + SUMMARY_VENUE.flags) >>> 2]! & SUMMARY_VENUE_IN) !== 0) {
        out.tag(2, VARINT);
        out.varint(1);
      }
      if (receivedNs > 0) {
        out.tag(3, VARINT);
        out.varint(Math.max(0, Math.round((mergedNs - receivedNs) / 1000)));
        out.tag(4, VARINT);
        out.varint(this.#unixUs(receivedNs));
        this.#u64(5, row + SUMMARY_VENUE.venue_time_us);
        this.#u64(6, row + SUMMARY_VENUE.sequence);
      }
      out.closeShort(mark);
    }
  }

  #u64(field: number, byte: number): void {
    this.#out.tag(field, VARINT);
    this.#out.varint64(this.#words[byte >>> 2]!, this.#words[(byte >>> 2) + 1]!);
  }

  #u16(byte: number): number {
    return (this.#words[byte >>> 2]! >>> ((byte & 2) * 8)) & 0xffff;
  }

  /** A u64 that is known to be a safe integer, such as a time. */
  #number(byte: number): number {
    return this.#words[(byte >>> 2) + 1]! * 0x1_0000_0000 + this.#words[byte >>> 2]!;
  }

  #unixUs(monotonicNs: number): number {
    return Math.round((monotonicNs + this.#unixOffsetNs) / 1000);
  }
}

/** Field 1 of Level and of Venue alike: the venue's name. */
function nameField(name: string): Buffer {
  const text = Buffer.from(name);
  return Buffer.from([(1 << 3) | BYTES, text.length, ...text]);
}
