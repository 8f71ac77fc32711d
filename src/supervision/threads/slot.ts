import { FENCED, requireKind, requireLayout, WORD_BYTES } from './layout.ts';
import type { Memory } from './memory.ts';
import {
  afterPublish,
  afterTake,
  backOf,
  frontOf,
  middleOf,
  requireSlotPlace,
  SLOT,
  SLOT_BUFFERS_BYTE,
  SLOT_EMPTY,
  SLOT_FRESH,
  SLOT_KIND,
  slotStride,
} from './slot-layout.ts';

/** What became of a published value: it stands alone, or it replaced one that nobody had taken. */
export const PUBLISHED = 0;
export const CONFLATED = 1;

/** Makes an empty slot at a byte offset. Call once, before either side attaches. */
export function formatSlot(memory: Memory, at: number, payloadBytes: number): void {
  requireSlotPlace(at, payloadBytes, memory.byteLength);
  const base = at / WORD_BYTES;
  memory.store(base + SLOT.PAYLOAD_BYTES, payloadBytes);
  memory.store(base + SLOT.STRIDE_BYTES, slotStride(payloadBytes));
  memory.store(base + SLOT.STATE, SLOT_EMPTY);
  memory.store(base + SLOT.WRITER_LIFE, 0);
  memory.store(base + SLOT.READER_LIFE, 0);
  memory.store(base + SLOT.KIND, SLOT_KIND);
}

export type SlotSide = 'writer' | 'reader';

function lifeWord(at: number, side: SlotSide): number {
  return at / WORD_BYTES + (side === 'writer' ? SLOT.WRITER_LIFE : SLOT.READER_LIFE);
}

/**
 * Begins a new life of one side, after the thread of the earlier life has ended; the answer is the life's number. An
 * earlier holder of that side that outlived its thread (an object in a late callback) is fenced off from now on.
 */
export function admitToSlot(memory: Memory, at: number, side: SlotSide): number {
  return memory.add(lifeWord(at, side), 1) + 1;
}

abstract class SlotEnd {
  protected readonly memory: Memory;
  protected readonly state: number;
  readonly life: number;
  readonly #lifeWord: number;
  readonly #buffers: number;
  readonly #stride: number;

  protected constructor(memory: Memory, at: number, side: SlotSide, life: number) {
    const base = at / WORD_BYTES;
    requireKind(memory, base + SLOT.KIND, SLOT_KIND, 'slot');
    this.memory = memory;
    this.state = base + SLOT.STATE;
    this.life = life;
    this.#lifeWord = lifeWord(at, side);
    this.#buffers = at + SLOT_BUFFERS_BYTE;
    this.#stride = memory.load(base + SLOT.STRIDE_BYTES);
    const current = memory.load(this.#lifeWord);
    requireLayout(life === current, `only life ${current} of the ${side} may attach`, life);
  }

  /** True once a later life of this side was admitted: this one may no longer touch its buffer. */
  get fenced(): boolean {
    return this.memory.load(this.#lifeWord) !== this.life;
  }

  protected bufferOffset(index: number): number {
    return this.#buffers + index * this.#stride;
  }
}

/** The one thread that fills the slot. Fill the payload at `offset`, then publish; `offset` then names another buffer. */
export class SlotWriter extends SlotEnd {
  #back: number;

  constructor(memory: Memory, at: number, life: number) {
    super(memory, at, 'writer', life);
    this.#back = backOf(memory.load(this.state));
  }

  /** Byte offset of the buffer to fill; its old content is that of some earlier value. */
  get offset(): number {
    return this.bufferOffset(this.#back);
  }

  /** The reader has taken the latest value. */
  get isTaken(): boolean {
    return (this.memory.load(this.state) & SLOT_FRESH) === 0;
  }

  /** Makes the filled buffer the latest value: PUBLISHED, CONFLATED, or FENCED. */
  publish(): number {
    if (this.fenced) return FENCED;
    let state = this.memory.load(this.state);
    for (;;) {
      const seen = this.memory.compareExchange(this.state, state, afterPublish(state));
      if (seen === state) break;
      state = seen;
    }
    this.#back = middleOf(state);
    return (state & SLOT_FRESH) === 0 ? PUBLISHED : CONFLATED;
  }
}

/** The one thread that reads the slot. `offset` is its own buffer: nobody writes there until the next take. */
export class SlotReader extends SlotEnd {
  #front: number;

  constructor(memory: Memory, at: number, life: number) {
    super(memory, at, 'reader', life);
    this.#front = frontOf(memory.load(this.state));
  }

  get offset(): number {
    return this.bufferOffset(this.#front);
  }

  /** Takes the latest value if there is one that was not taken yet; then `offset` points at it. */
  take(): boolean {
    let state = this.memory.load(this.state);
    if ((state & SLOT_FRESH) === 0 || this.fenced) return false;
    for (;;) {
      const seen = this.memory.compareExchange(this.state, state, afterTake(state));
      if (seen === state) break;
      state = seen;
    }
    this.#front = middleOf(state);
    return true;
  }
}
