import { isPowerOfTwo, requireLayout, requireOffset, SEPARATION_BYTES, SEPARATION_WORDS } from './layout.ts';

/**
 * A ring for one producer and one consumer.
 *
 *   byte     0        4        8       12       16                                                   128
 *            +--------+--------+--------+--------+---------------------------------------------------+
 *       0    | KIND   |CAPACITY| UNIT   | FRAMED |    fixed at format                                |
 *            +--------+--------+--------+--------+---------------------------------------------------+
 *     128    | TAIL   |                   how many units were ever published, modulo 2^32             |
 *            +--------+------------------------------------------------------------------------------+
 *     256    | HEAD   | CURSOR |          units ever released / handed out, modulo 2^32               |
 *            +--------+--------+---------------------------------------------------------------------+
 *     384    |P. LIFE |C. LIFE |          generation of the producer and of the consumer              |
 *            +--------+--------+---------------------------------------------------------------------+
 *     512    |REFUSED |                   claims refused because the ring was full                   |
 *            +--------+------------------------------------------------------------------------------+
 *     640    | unit 0 | unit 1 | ...      CAPACITY units of UNIT bytes
 *
 * Positions count up for ever and wrap at 2^32; a position's place is `position & (CAPACITY - 1)`, which stays right
 * across the wrap because CAPACITY divides 2^32. What is in the ring is `(TAIL - HEAD) | 0`.
 *
 * A ring of records has one record a unit. A ring of frames has units of 8 bytes; a frame is
 *
 *     0        4        8                        8 + LENGTH       next multiple of 8
 *     +--------+--------+------------------------+----------------+
 *     | LENGTH |  TAG   | LENGTH bytes           | unused         |
 *     +--------+--------+------------------------+----------------+
 *
 * and never wraps round the end: what is left there is filled by a frame of LENGTH PADDING, which the consumer skips.
 */
export const RING_KIND = 0x5457_5247; // "TWRG"
export const RING = {
  KIND: 0,
  CAPACITY: 1,
  UNIT_BYTES: 2,
  FRAMED: 3,
  TAIL: SEPARATION_WORDS,
  HEAD: 2 * SEPARATION_WORDS,
  CURSOR: 2 * SEPARATION_WORDS + 1,
  PRODUCER_LIFE: 3 * SEPARATION_WORDS,
  CONSUMER_LIFE: 3 * SEPARATION_WORDS + 1,
  REFUSED: 4 * SEPARATION_WORDS,
} as const;
export const RING_UNITS_BYTE = 5 * SEPARATION_BYTES;

export const FRAME_UNIT_BYTES = 8;
export const FRAME_HEADER_BYTES = 8;
export const FRAME_PADDING = -1;

const RING_BYTES_MAX = 1 << 30;

export interface RingShape {
  /** Records or 8-byte units that fit; a power of two. */
  readonly capacity: number;
  readonly unitBytes: number;
  readonly framed: boolean;
}

/** 1024 records of 64 bytes take 640 + 65536 bytes. */
export function recordRing(capacity: number, recordBytes: number): RingShape {
  requireLayout(isPowerOfTwo(capacity), "a ring's capacity is a power of two", capacity);
  const fits = Number.isInteger(recordBytes) && recordBytes > 0 && recordBytes % 8 === 0;
  requireLayout(fits, 'a record is a multiple of 8 bytes', recordBytes);
  requireLayout(
    capacity * recordBytes <= RING_BYTES_MAX,
    `a ring is at most ${RING_BYTES_MAX} bytes`,
    capacity * recordBytes,
  );
  return { capacity, unitBytes: recordBytes, framed: false };
}

/** A ring of frames holds `bytes` of frames, headers included; the longest frame is half of that. */
export function frameRing(bytes: number): RingShape {
  const fits = isPowerOfTwo(bytes) && bytes >= 64 && bytes <= RING_BYTES_MAX;
  requireLayout(fits, `a ring of frames has a power of two of bytes, 64..${RING_BYTES_MAX}`, bytes);
  return { capacity: bytes / FRAME_UNIT_BYTES, unitBytes: FRAME_UNIT_BYTES, framed: true };
}

export function ringBytes(shape: RingShape): number {
  return RING_UNITS_BYTE + shape.capacity * shape.unitBytes;
}

export function requireRingPlace(at: number, shape: RingShape, bufferBytes: number): void {
  requireOffset(at);
  const end = at + ringBytes(shape);
  requireLayout(end <= bufferBytes, `a ring ending at byte ${end} must fit its buffer`, bufferBytes);
}

requireLayout(RING.HEAD - RING.TAIL >= SEPARATION_WORDS, 'TAIL and HEAD stand apart', RING.HEAD - RING.TAIL);
requireLayout(RING.PRODUCER_LIFE - RING.CURSOR >= SEPARATION_WORDS - 1, 'lives stand apart', RING.PRODUCER_LIFE);
requireLayout(RING_UNITS_BYTE % SEPARATION_BYTES === 0, 'units start on a line of their own', RING_UNITS_BYTE);
requireLayout(FRAME_HEADER_BYTES % FRAME_UNIT_BYTES === 0, 'a frame header is whole units', FRAME_HEADER_BYTES);
