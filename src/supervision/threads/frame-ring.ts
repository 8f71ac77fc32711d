import { TOO_LONG, WORD_BYTES } from './layout.ts';
import type { Memory } from './memory.ts';
import { ConsumingEnd, ProducingEnd } from './ring-ends.ts';
import { FRAME_HEADER_BYTES, FRAME_PADDING, FRAME_UNIT_BYTES, RING } from './ring-layout.ts';

function unitsOf(payloadBytes: number): number {
  return (FRAME_HEADER_BYTES + payloadBytes + FRAME_UNIT_BYTES - 1) >>> 3;
}

/** The one thread that fills a ring of frames: byte strings of any length up to half of the ring. */
export class FrameProducer extends ProducingEnd {
  readonly #mask: number;
  /** The longest payload that always finds room once the ring is empty, whatever padding the wrap needs. */
  readonly payloadBytesMax: number;

  constructor(memory: Memory, at: number, life: number) {
    super(memory, at, life, true);
    this.#mask = this.capacity - 1;
    this.payloadBytesMax = (this.capacity * FRAME_UNIT_BYTES) / 2 - FRAME_HEADER_BYTES;
  }

  /** Byte offset at which `payloadBytes` may be filled in; or NO_ROOM, FENCED, TOO_LONG. Visible after `publish`. */
  claim(payloadBytes: number, tag = 0): number {
    if (payloadBytes > this.payloadBytesMax) return TOO_LONG;
    const wanted = unitsOf(payloadBytes);
    const toEnd = this.capacity - (this.next & this.#mask);
    const padding = wanted > toEnd ? toEnd : 0;
    const refusal = this.refusal(wanted + padding);
    if (refusal < 0) return refusal;
    if (padding > 0) {
      this.memory.set(this.#wordOf(this.next), FRAME_PADDING);
      this.next = (this.next + padding) | 0;
    }
    const header = this.#wordOf(this.next);
    this.memory.set(header, payloadBytes);
    this.memory.set(header + 1, tag);
    this.next = (this.next + wanted) | 0;
    return header * WORD_BYTES + FRAME_HEADER_BYTES;
  }

  /** Claims, copies and publishes one frame: 0, NO_ROOM, FENCED or TOO_LONG. */
  offer(payload: Uint8Array, tag = 0): number {
    const offset = this.claim(payload.length, tag);
    if (offset < 0) return offset;
    this.memory.write(offset, payload);
    this.publish();
    return 0;
  }

  #wordOf(position: number): number {
    return (this.units + (position & this.#mask) * FRAME_UNIT_BYTES) / WORD_BYTES;
  }
}

export type FrameHandler = (offset: number, payloadBytes: number, tag: number) => void;

/** The one thread that reads a ring of frames, in place. */
export class FrameConsumer extends ConsumingEnd {
  readonly #mask: number;

  constructor(memory: Memory, at: number, life: number) {
    super(memory, at, life, true);
    this.#mask = this.capacity - 1;
  }

  /** Hands up to `limit` frames to the handler, valid during the call only; a frame that the handler throws on is gone. */
  drain(handler: FrameHandler, limit: number): number {
    const end = (this.head + this.available()) | 0;
    if (end === this.head) return 0;
    let position = this.head;
    let handled = 0;
    try {
      while (position !== end && handled < limit) {
        const place = position & this.#mask;
        const header = (this.units + place * FRAME_UNIT_BYTES) / WORD_BYTES;
        const payloadBytes = this.memory.get(header);
        if (payloadBytes === FRAME_PADDING) {
          position = (position + this.capacity - place) | 0;
          continue;
        }
        position = (position + unitsOf(payloadBytes)) | 0;
        handled++;
        this.memory.set(this.base + RING.CURSOR, position);
        handler(header * WORD_BYTES + FRAME_HEADER_BYTES, payloadBytes, this.memory.get(header + 1));
      }
    } finally {
      this.release(position);
    }
    return handled;
  }
}
