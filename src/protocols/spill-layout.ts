import { crc32 } from 'node:zlib';

// A spill segment, big-endian. It is only ever appended to; no byte is written twice, and no other file says where
// reading stands, so nothing can disagree with it.
//
//   header, 32 bytes
//   0       8   9   10          16                24              28      32
//   | magic | a | f | reserved  | sequence u64    | created s u32 | crc32 |      a = 1: CRC-32 (IEEE); f = 0
//
//   record, 40 bytes, then the envelope as it came in, then 4 bytes
//   0      4        8      9   10           12        16         24          32          40          40+n
//   | sync | n u32  | kind | 0 | deliveries | ordinal | entry ms | entry seq | ts_kernel | envelope  | crc32 |
//                                                                              the crc covers bytes 4 .. 40+n
//   seal, 16 bytes, the last of a finished segment
//   | "TWEND001" | count u32 | crc32 of the 12 bytes before |
//
// Ordinals are dense from 0, so after damage the number of lost records is known exactly.

export const HEADER_BYTES = 32;
export const RECORD_HEAD_BYTES = 40;
export const RECORD_TAIL_BYTES = 4;
export const SEAL_BYTES = 16;
/** The largest entry that can be configured; a length above it is damage. */
export const ENVELOPE_BYTES_LIMIT = 16 * 1024 * 1024;

const MAGIC = Buffer.from('TWSPILL1');
const SEAL_MAGIC = Buffer.from('TWEND001');
const SYNC = 0xa5545753;
const CRC32_IEEE = 1;

export interface SpillRecord {
  readonly ordinal: number;
  /** Redis stream entry id, `ms-seq`. */
  readonly entryId: string;
  readonly tsKernel: bigint;
  readonly deliveries: number;
  readonly envelope: Buffer;
}

export function encodeHeader(sequence: bigint, createdSeconds: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  MAGIC.copy(header);
  header[8] = CRC32_IEEE;
  header.writeBigUInt64BE(sequence, 16);
  header.writeUInt32BE(createdSeconds >>> 0, 24);
  header.writeUInt32BE(crc32(header.subarray(0, 28)), 28);
  return header;
}

/** The segment's sequence number, or undefined when these bytes are no header of ours. */
export function decodeHeader(bytes: Buffer): bigint | undefined {
  if (bytes.length < HEADER_BYTES || !bytes.subarray(0, 8).equals(MAGIC) || bytes[8] !== CRC32_IEEE) return undefined;
  return crc32(bytes.subarray(0, 28)) === bytes.readUInt32BE(28) ? bytes.readBigUInt64BE(16) : undefined;
}

export function recordBytes(envelopeBytes: number): number {
  return RECORD_HEAD_BYTES + envelopeBytes + RECORD_TAIL_BYTES;
}

export function encodeRecords(records: readonly SpillRecord[]): Buffer {
  const size = records.reduce((sum, record) => sum + recordBytes(record.envelope.length), 0);
  const target = Buffer.allocUnsafe(size);
  let at = 0;
  for (const record of records) at = writeRecord(target, at, record);
  return target;
}

function writeRecord(target: Buffer, at: number, record: SpillRecord): number {
  const dash = record.entryId.indexOf('-');
  target.writeUInt32BE(SYNC, at);
  target.writeUInt32BE(record.envelope.length, at + 4);
  target.writeUInt16BE(0, at + 8);
  target.writeUInt16BE(Math.min(record.deliveries, 0xffff), at + 10);
  target.writeUInt32BE(record.ordinal, at + 12);
  target.writeBigUInt64BE(BigInt(record.entryId.slice(0, dash)), at + 16);
  target.writeBigUInt64BE(BigInt(record.entryId.slice(dash + 1)), at + 24);
  target.writeBigInt64BE(record.tsKernel, at + 32);
  record.envelope.copy(target, at + RECORD_HEAD_BYTES);
  const end = at + RECORD_HEAD_BYTES + record.envelope.length;
  target.writeUInt32BE(crc32(target.subarray(at + 4, end)), end);
  return end + RECORD_TAIL_BYTES;
}

export function encodeSeal(count: number): Buffer {
  const seal = Buffer.alloc(SEAL_BYTES);
  SEAL_MAGIC.copy(seal);
  seal.writeUInt32BE(count, 8);
  seal.writeUInt32BE(crc32(seal.subarray(0, 12)), 12);
  return seal;
}

/** What stands at a place in a segment. `more` asks for bytes beyond the window. */
export type Found =
  | { readonly kind: 'record'; readonly record: SpillRecord; readonly next: number }
  | { readonly kind: 'seal'; readonly count: number; readonly next: number }
  | { readonly kind: 'more' }
  | { readonly kind: 'damage' };

/** Reads what stands at `at` in a window of a segment. `last` says that the window reaches the end of the file. */
export function readAt(window: Buffer, at: number, last: boolean): Found {
  const left = window.length - at;
  if (left >= 8 && window.subarray(at, at + 8).equals(SEAL_MAGIC)) return readSeal(window, at, left, last);
  if (left < RECORD_HEAD_BYTES) return last ? { kind: 'damage' } : { kind: 'more' };
  const length = window.readUInt32BE(at + 4);
  if (window.readUInt32BE(at) !== SYNC || length > ENVELOPE_BYTES_LIMIT) return { kind: 'damage' };
  const end = at + RECORD_HEAD_BYTES + length;
  if (end + RECORD_TAIL_BYTES > window.length) return last ? { kind: 'damage' } : { kind: 'more' };
  if (crc32(window.subarray(at + 4, end)) !== window.readUInt32BE(end)) return { kind: 'damage' };
  const record: SpillRecord = {
    ordinal: window.readUInt32BE(at + 12),
    entryId: `${window.readBigUInt64BE(at + 16)}-${window.readBigUInt64BE(at + 24)}`,
    tsKernel: window.readBigInt64BE(at + 32),
    deliveries: window.readUInt16BE(at + 10),
    // A copy: the window is reused for the next part of the file.
    envelope: Buffer.from(window.subarray(at + RECORD_HEAD_BYTES, end)),
  };
  return { kind: 'record', record, next: end + RECORD_TAIL_BYTES };
}

function readSeal(window: Buffer, at: number, left: number, last: boolean): Found {
  if (left < SEAL_BYTES) return last ? { kind: 'damage' } : { kind: 'more' };
  if (crc32(window.subarray(at, at + 12)) !== window.readUInt32BE(at + 12)) return { kind: 'damage' };
  return { kind: 'seal', count: window.readUInt32BE(at + 8), next: at + SEAL_BYTES };
}

/** The next place from `from` on where a record or a seal may start. A sync word may be cut off at the window's end. */
export function nextCandidate(window: Buffer, from: number): number {
  for (let at = from; at + 4 <= window.length; at++) {
    const word = window.readUInt32BE(at);
    // 0x5457454e is "TWEN", the start of a seal.
    if (word === SYNC || word === 0x5457454e) return at;
  }
  return Math.max(from, window.length - 3);
}
