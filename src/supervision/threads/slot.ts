import { FENCED, requireKind, requireLayout, WORD_BYTES } from './layout.ts';
import type { Memory } from './memory.ts';
import {
  requireSlotPlace,
  SLOT,
  SLOT_BUFFERS_BYTE,
  SLOT_FRESH,
  SLOT_INDEX,
  SLOT_KIND,
  slotStride,
} from './slot-layout.ts';

/** What became of a published value: it stands alone, or it replaced one that nobody had taken. */
export const PUBLISHED = 0;
export const CONFLATED = 1;

/** Bound on looking for a moment at which a living peer is not between its exchange and its own note of it. */
const REPAIR_TRIES = 1 << 20;

/** Makes an empty slot at a byte offset. Call once, before either side attaches. */
export function formatSlot(memory: Memory, at: number, payloadBytes: number): void {
  requireSlotPlace(at, payloadBytes, memory.byteLength);
  const base = at / WORD_BYTES;
  memory.store(base + SLOT.PAYLOAD_BYTES, payloadBytes);
  memory.store(base + SLOT.STRIDE_BYTES, slotStride(payloadBytes));
  memory.store(base + SLOT.BACK, 0);
  memory.store(base + SLOT.STATE, 1);
  memory.store(base + SLOT.FRONT, 2);
  memory.store(base + SLOT.WRITER_LIFE, 0);
  memory.store(base + SLOT.READER_LIFE, 0);
  memory.store(base + SLOT.KIND, SLOT_KIND);
}

export type SlotSide = 'writer' | 'reader';

/** Begins a new life of one side; earlier holders of that side are fenced off from now on. */
export function admitToSlot(memory: Memory, at: number, side: SlotSide): number {
  const word = at / WORD_BYTES + (side === 'writer' ? SLOT.WRITER_LIFE : SLOT.READER_LIFE);
  return memory.add(word, 1) + 1;
}

/**
 * Makes the slot whole after the thread of one side has ended. That thread may have died between its exchange and the
 * note of what the exchange gave it, so its own note is not trusted: its buffer is the one that neither the middle nor
 * the peer holds. A living peer only swaps two buffers with the middle, so the answer does not depend on when we look,
 * except in the peer's own gap, when its note equals the middle; then we look again. With both sides gone any assignment
 * of the two buffers that are not in the middle will do; the published value stays.
 *
 * False when a peer said to be alive stays in its gap: it is dead too, and the caller repairs with it once it knows.
 */
export function repairSlot(memory: Memory, at: number, side: SlotSide, peer: 'alive' | 'gone'): boolean {
  const base = at / WORD_BYTES;
  const own = base + (side === 'writer' ? SLOT.BACK : SLOT.FRONT);
  const other = base + (side === 'writer' ? SLOT.FRONT : SLOT.BACK);
  if (peer === 'gone') {
    const middle = memory.load(base + SLOT.STATE) & SLOT_INDEX;
    memory.store(own, (middle + 1) % 3);
    memory.store(other, (middle + 2) % 3);
    return true;
  }
  for (let tries = 0; tries < REPAIR_TRIES; tries++) {
    const held = memory.load(other);
    const middle = memory.load(base + SLOT.STATE) & SLOT_INDEX;
    if (held === middle) continue;
    memory.store(own, 3 - held - middle);
    return true;
  }
  return false;
}

function attach(memory: Memory, at: number, side: SlotSide, life: number): number {
  const base = at / WORD_BYTES;
  requireKind(memory, base + SLOT.KIND, SLOT_KIND, 'slot');
  const current = memory.load(base + (side === 'writer' ? SLOT.WRITER_LIFE : SLOT.READER_LIFE));
  requireLayout(life === current, `only life ${current} of the ${side} may attach`, life);
  return base;
}

/** The one thread that fills the slot. Fill the payload at `offset`, then publish; `offset` then names another buffer. */
export class SlotWriter {
  readonly #memory: Memory;
  readonly #base: number;
  readonly #buffers: number;
  readonly #stride: number;
  readonly #life: number;
  #back: number;

  constructor(memory: Memory, at: number, life: number) {
    this.#memory = memory;
    this.#base = attach(memory, at, 'writer', life);
    this.#buffers = at + SLOT_BUFFERS_BYTE;
    this.#stride = memory.load(this.#base + SLOT.STRIDE_BYTES);
    this.#life = life;
    this.#back = memory.load(this.#base + SLOT.BACK);
  }

  /** Byte offset of the buffer to fill; its old content is that of some earlier value. */
  get offset(): number {
    return this.#buffers + this.#back * this.#stride;
  }

  /** True once a later life of the writer was admitted: this one may no longer fill its buffer. */
  get fenced(): boolean {
    return this.#memory.load(this.#base + SLOT.WRITER_LIFE) !== this.#life;
  }

  /** Makes the filled buffer the latest value: PUBLISHED, CONFLATED, or FENCED. */
  publish(): number {
    if (this.fenced) return FENCED;
    const before = this.#memory.exchange(this.#base + SLOT.STATE, this.#back | SLOT_FRESH);
    this.#back = before & SLOT_INDEX;
    this.#memory.store(this.#base + SLOT.BACK, this.#back);
    return (before & SLOT_FRESH) === 0 ? PUBLISHED : CONFLATED;
  }
}

/** The one thread that reads the slot. `offset` is its own buffer: nobody writes there until the next take. */
export class SlotReader {
  readonly #memory: Memory;
  readonly #base: number;
  readonly #buffers: number;
  readonly #stride: number;
  readonly #life: number;
  #front: number;

  constructor(memory: Memory, at: number, life: number) {
    this.#memory = memory;
    this.#base = attach(memory, at, 'reader', life);
    this.#buffers = at + SLOT_BUFFERS_BYTE;
    this.#stride = memory.load(this.#base + SLOT.STRIDE_BYTES);
    this.#life = life;
    this.#front = memory.load(this.#base + SLOT.FRONT);
  }

  get offset(): number {
    return this.#buffers + this.#front * this.#stride;
  }

  /** Takes the latest value if there is one that was not taken yet; then `offset` points at it. */
  take(): boolean {
    const state = this.#base + SLOT.STATE;
    if ((this.#memory.load(state) & SLOT_FRESH) === 0) return false;
    if (this.#memory.load(this.#base + SLOT.READER_LIFE) !== this.#life) return false;
    this.#front = this.#memory.exchange(state, this.#front) & SLOT_INDEX;
    this.#memory.store(this.#base + SLOT.FRONT, this.#front);
    return true;
  }
}
