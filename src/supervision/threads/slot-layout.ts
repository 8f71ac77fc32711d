import { requireLayout, requireOffset, roundUp, SEPARATION_BYTES, SEPARATION_WORDS } from './layout.ts';

/**
 * A slot: three buffers of which the writer owns one (back), the reader owns one (front), and one lies between them
 * (middle). Publishing exchanges back and middle, taking exchanges middle and front; the latest value wins.
 *
 *   byte     0        4        8       12                                                            128
 *            +--------+--------+--------+------------------------------------------------------------+
 *       0    | KIND   |PAYLOAD | STRIDE | fixed at format                                            |
 *            +--------+--------+--------+------------------------------------------------------------+
 *     128    | STATE  |                    bits 0-1: index of the middle buffer, bit 2: FRESH        |
 *            +--------+------------------------------------------------------------------------------+
 *     256    | BACK   |                    index of the writer's buffer                              |
 *            +--------+------------------------------------------------------------------------------+
 *     384    | FRONT  |                    index of the reader's buffer                              |
 *            +--------+--------+---------------------------------------------------------------------+
 *     512    |W. LIFE |R. LIFE |           generation of the writer and of the reader                |
 *            +--------+--------+---------------------------------------------------------------------+
 *     640    | buffer 0 (STRIDE bytes) | buffer 1 | buffer 2
 *
 * All words are 32-bit little-endian. A reader inside WebAssembly, with `slot` the byte address of the layout and
 * `front` a local that starts as i32.atomic.load(slot + 384), does:
 *
 *   if (i32.atomic.load(slot + 128) & 4) {
 *     front = i32.atomic.rmw.xchg(slot + 128, front) & 3;
 *     i32.atomic.store(slot + 384, front);
 *   }
 *   payload = slot + 640 + front * i32.load(slot + 8);
 *
 * and a writer, with `back` from slot + 256: fill slot + 640 + back * stride, then
 *
 *   back = i32.atomic.rmw.xchg(slot + 128, back | 4) & 3;
 *   i32.atomic.store(slot + 256, back);
 */
export const SLOT_KIND = 0x5457_534c; // "TWSL"
export const SLOT = {
  KIND: 0,
  PAYLOAD_BYTES: 1,
  STRIDE_BYTES: 2,
  STATE: SEPARATION_WORDS,
  BACK: 2 * SEPARATION_WORDS,
  FRONT: 3 * SEPARATION_WORDS,
  WRITER_LIFE: 4 * SEPARATION_WORDS,
  READER_LIFE: 4 * SEPARATION_WORDS + 1,
} as const;
export const SLOT_BUFFERS_BYTE = 5 * SEPARATION_BYTES;
export const SLOT_INDEX = 3;
export const SLOT_FRESH = 4;

const PAYLOAD_BYTES_MAX = 64 * 1024 * 1024;

export function slotStride(payloadBytes: number): number {
  return roundUp(payloadBytes, SEPARATION_BYTES);
}

/** Bytes that a slot for payloads of this size takes: 344-byte books take 640 + 3 * 384 = 1792. */
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

requireLayout(SLOT.BACK - SLOT.STATE >= SEPARATION_WORDS, 'STATE and BACK stand apart', SLOT.BACK - SLOT.STATE);
requireLayout(SLOT.FRONT - SLOT.BACK >= SEPARATION_WORDS, 'BACK and FRONT stand apart', SLOT.FRONT - SLOT.BACK);
requireLayout(SLOT_BUFFERS_BYTE % SEPARATION_BYTES === 0, 'buffers start on a line of their own', SLOT_BUFFERS_BYTE);
requireLayout((SLOT_FRESH & SLOT_INDEX) === 0, 'FRESH does not overlap the index', SLOT_FRESH);
