import { requireLayout, requireOffset, roundUp, SEPARATION_BYTES, SEPARATION_WORDS } from './layout.ts';

/**
 * A slot: three buffers of which the writer owns one (back), the reader owns one (front), and one lies between them
 * (middle). Publishing exchanges back and middle, taking exchanges middle and front; the latest value wins.
 *
 *   byte     0        4        8       12                                                            128
 *            +--------+--------+--------+------------------------------------------------------------+
 *       0    | KIND   |PAYLOAD | STRIDE | fixed at format                                            |
 *            +--------+--------+--------+------------------------------------------------------------+
 *     128    | STATE  |                   who owns which buffer, see below                           |
 *            +--------+--------+---------------------------------------------------------------------+
 *     256    |W. LIFE |R. LIFE |          generation of the writer and of the reader                 |
 *            +--------+--------+---------------------------------------------------------------------+
 *     384    | buffer 0 (STRIDE bytes) | buffer 1 | buffer 2
 *
 *   STATE    bit 6     5     4     3     2     1     0
 *               +-----------+-----------+-----+-----------+
 *               |   FRONT   |   BACK    |FRESH|  MIDDLE   |     always a permutation of 0, 1, 2
 *               +-----------+-----------+-----+-----------+
 *
 * The whole ownership is one word, changed by one compare-exchange a side. So a thread that is killed anywhere leaves a
 * slot that is whole, and its next life finds its buffer in STATE. (After an exchange of the middle alone, only the
 * thread's own registers would know for a moment what it owns, and a kill there would let the next life tear a value.)
 * The writer tries at most twice: the reader changes STATE once for each value that it takes.
 *
 * All words are 32-bit little-endian. A reader inside WebAssembly, `slot` being the byte address of the layout:
 *
 *   let state = i32.atomic.load(slot + 128);
 *   while (state & 4) {                                                       // FRESH
 *     let taken = (state >> 5 & 3) | (state & 24) | (state & 3) << 5;         // middle <-> front, no longer fresh
 *     let seen = i32.atomic.rmw.cmpxchg(slot + 128, state, taken);
 *     if (seen == state) { front = state & 3; break; }                        // payload: slot + 384 + front * stride
 *     state = seen;
 *   }
 *
 * and a writer that has filled slot + 384 + (state >> 3 & 3) * stride:
 *
 *   published = (state >> 3 & 3) | 4 | (state & 3) << 3 | (state & 96);       // middle <-> back, fresh
 */
export const SLOT_KIND = 0x5457_534c; // "TWSL"
export const SLOT = {
  KIND: 0,
  PAYLOAD_BYTES: 1,
  STRIDE_BYTES: 2,
  STATE: SEPARATION_WORDS,
  WRITER_LIFE: 2 * SEPARATION_WORDS,
  READER_LIFE: 2 * SEPARATION_WORDS + 1,
} as const;
export const SLOT_BUFFERS_BYTE = 3 * SEPARATION_BYTES;

export const SLOT_FRESH = 4;
/** Nothing published: the writer owns buffer 0, buffer 1 lies between, the reader owns buffer 2. */
export const SLOT_EMPTY = 1 | (0 << 3) | (2 << 5);

export const middleOf = (state: number): number => state & 3;
export const backOf = (state: number): number => (state >> 3) & 3;
export const frontOf = (state: number): number => (state >> 5) & 3;
export const afterPublish = (state: number): number =>
  backOf(state) | SLOT_FRESH | (middleOf(state) << 3) | (state & (3 << 5));
export const afterTake = (state: number): number => frontOf(state) | (state & (3 << 3)) | (middleOf(state) << 5);

const PAYLOAD_BYTES_MAX = 64 * 1024 * 1024;

export function slotStride(payloadBytes: number): number {
  return roundUp(payloadBytes, SEPARATION_BYTES);
}

/** Bytes that a slot for payloads of this size takes: 344-byte books take 384 + 3 * 384 = 1536. */
export function slotBytes(payloadBytes: number): number {
  requireLayout(
    Number.isInteger(payloadBytes) && payloadBytes > 0 && payloadBytes <= PAYLOAD_BYTES_MAX,
    `a slot's payload is 1..${PAYLOAD_BYTES_MAX} bytes`,
    payloadBytes,
  );
  return SLOT_BUFFERS_BYTE + 3 * slotStride(payloadBytes);
}

export function requireSlotPlace(at: number, payloadBytes: number, bufferBytes: number): void {
  requireOffset(at);
  const end = at + slotBytes(payloadBytes);
  requireLayout(end <= bufferBytes, `a slot ending at byte ${end} must fit its buffer`, bufferBytes);
}

requireLayout(SLOT.STATE - SLOT.STRIDE_BYTES >= SEPARATION_WORDS - 2, 'STATE stands on a line of its own', SLOT.STATE);
requireLayout(SLOT.WRITER_LIFE - SLOT.STATE >= SEPARATION_WORDS, 'lives stand apart from STATE', SLOT.WRITER_LIFE);
requireLayout(SLOT_BUFFERS_BYTE % SEPARATION_BYTES === 0, 'buffers start on a line of their own', SLOT_BUFFERS_BYTE);
requireLayout(afterTake(afterPublish(SLOT_EMPTY)) >> 5 === 0, 'what was published is what is taken', SLOT_EMPTY);
