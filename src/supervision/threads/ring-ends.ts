import { FENCED, NO_ROOM, requireKind, requireLayout, WORD_BYTES } from './layout.ts';
import type { Memory } from './memory.ts';
import { RING, RING_KIND, RING_UNITS_BYTE, type RingShape, requireRingPlace } from './ring-layout.ts';

/**
 * Makes an empty ring at a byte offset. Call once, before either end attaches. `firstPosition` exists so that a test can
 * stand just before the wrap of the 32-bit counters.
 */
export function formatRing(memory: Memory, at: number, shape: RingShape, firstPosition = 0): void {
  requireRingPlace(at, shape, memory.byteLength);
  const base = at / WORD_BYTES;
  memory.store(base + RING.CAPACITY, shape.capacity);
  memory.store(base + RING.UNIT_BYTES, shape.unitBytes);
  memory.store(base + RING.FRAMED, shape.framed ? 1 : 0);
  memory.store(base + RING.TAIL, firstPosition | 0);
  memory.store(base + RING.HEAD, firstPosition | 0);
  memory.store(base + RING.CURSOR, firstPosition | 0);
  memory.store(base + RING.PRODUCER_LIFE, 0);
  memory.store(base + RING.CONSUMER_LIFE, 0);
  memory.store(base + RING.REFUSED, 0);
  memory.store(base + RING.KIND, RING_KIND);
}

export type RingEnd = 'producer' | 'consumer';

/**
 * Begins a new life of one end, after the thread of the earlier life has ended; the answer is the life's number, which
 * the new end shows at each step. An earlier holder that outlived its thread (an object in a late callback) is fenced off.
 */
export function admitToRing(memory: Memory, at: number, end: RingEnd): number {
  const word = at / WORD_BYTES + (end === 'producer' ? RING.PRODUCER_LIFE : RING.CONSUMER_LIFE);
  return memory.add(word, 1) + 1;
}

/** What anybody may ask of a ring from any thread: for gauges, not for decisions. */
export function inspectRing(memory: Memory, at: number): { capacity: number; used: number; refused: number } {
  const base = at / WORD_BYTES;
  const head = memory.load(base + RING.HEAD);
  return {
    capacity: memory.load(base + RING.CAPACITY),
    used: (memory.load(base + RING.TAIL) - head) | 0,
    refused: memory.load(base + RING.REFUSED) >>> 0,
  };
}

interface Attached {
  readonly base: number;
  readonly capacity: number;
  readonly unitBytes: number;
}

function attach(memory: Memory, at: number, end: RingEnd, life: number, framed: boolean): Attached {
  const base = at / WORD_BYTES;
  requireKind(memory, base + RING.KIND, RING_KIND, 'ring');
  const current = memory.load(base + (end === 'producer' ? RING.PRODUCER_LIFE : RING.CONSUMER_LIFE));
  requireLayout(life === current, `only life ${current} of the ${end} may attach`, life);
  requireLayout(memory.load(base + RING.FRAMED) === (framed ? 1 : 0), 'records and frames do not mix in a ring', at);
  return { base, capacity: memory.load(base + RING.CAPACITY), unitBytes: memory.load(base + RING.UNIT_BYTES) };
}

/**
 * The producing end of either kind of ring. Room is judged by the head as last seen; the shared word is read again only
 * when that says full, so a producer that is ahead of a busy consumer does not touch the consumer's line at all.
 */
export abstract class ProducingEnd {
  protected readonly memory: Memory;
  protected readonly base: number;
  protected readonly units: number;
  protected readonly capacity: number;
  protected readonly unitBytes: number;
  readonly life: number;
  /** Where the next claim begins; what lies between the published tail and here is claimed and private. */
  protected next: number;
  #headSeen: number;

  protected constructor(memory: Memory, at: number, life: number, framed: boolean) {
    const ring = attach(memory, at, 'producer', life, framed);
    this.memory = memory;
    this.base = ring.base;
    this.units = at + RING_UNITS_BYTE;
    this.capacity = ring.capacity;
    this.unitBytes = ring.unitBytes;
    this.life = life;
    this.next = memory.load(ring.base + RING.TAIL);
    this.#headSeen = memory.load(ring.base + RING.HEAD);
  }

  /** True once a later life was admitted. */
  get fenced(): boolean {
    return this.memory.load(this.base + RING.PRODUCER_LIFE) !== this.life;
  }

  /** Free units, by a fresh look at the consumer. A sender that would rather wait than be refused asks this first. */
  room(): number {
    this.#headSeen = this.memory.load(this.base + RING.HEAD);
    return this.capacity - ((this.next - this.#headSeen) | 0);
  }

  /** Makes everything claimed so far visible to the consumer in one store. False, and nothing happens, when fenced. */
  publish(): boolean {
    if (this.fenced) return false;
    this.memory.store(this.base + RING.TAIL, this.next);
    return true;
  }

  /** Gives back what was claimed and not published. */
  abandon(): void {
    this.next = this.memory.load(this.base + RING.TAIL);
  }

  /** NO_ROOM or FENCED when `wanted` units cannot be claimed, else 0. */
  protected refusal(wanted: number): number {
    if (this.fenced) return FENCED;
    if (((this.next - this.#headSeen) | 0) + wanted <= this.capacity) return 0;
    if (this.room() >= wanted) return 0;
    this.memory.add(this.base + RING.REFUSED, 1);
    return NO_ROOM;
  }
}

/**
 * The consuming end of either kind of ring. CURSOR is noted, plainly, before a unit is handed out, and HEAD is stored
 * once a batch: a consumer killed in the middle of a batch loses the message that it had in hand and no other, and none is
 * handed out twice. Only the next life reads CURSOR, after the thread of this one has ended.
 */
export abstract class ConsumingEnd {
  protected readonly memory: Memory;
  protected readonly base: number;
  protected readonly units: number;
  protected readonly capacity: number;
  protected readonly unitBytes: number;
  readonly life: number;
  protected head: number;
  #tailSeen: number;

  protected constructor(memory: Memory, at: number, life: number, framed: boolean) {
    const ring = attach(memory, at, 'consumer', life, framed);
    this.memory = memory;
    this.base = ring.base;
    this.units = at + RING_UNITS_BYTE;
    this.capacity = ring.capacity;
    this.unitBytes = ring.unitBytes;
    this.life = life;
    this.head = memory.get(ring.base + RING.CURSOR);
    this.#tailSeen = this.head;
    memory.store(ring.base + RING.HEAD, this.head);
  }

  /** True once a later life was admitted; such a consumer sees an empty ring. */
  get fenced(): boolean {
    return this.memory.load(this.base + RING.CONSUMER_LIFE) !== this.life;
  }

  /** Units that may be read now. The producer's word is read again only when all that was seen has been handled. */
  protected available(): number {
    if (this.fenced) return 0;
    if (this.#tailSeen === this.head) this.#tailSeen = this.memory.load(this.base + RING.TAIL);
    return (this.#tailSeen - this.head) | 0;
  }

  /** Gives room back up to `head`; one that was fenced while it handled a batch leaves the word to its successor. */
  protected release(head: number): void {
    this.head = head;
    if (this.fenced) return;
    this.memory.store(this.base + RING.HEAD, head);
  }
}
