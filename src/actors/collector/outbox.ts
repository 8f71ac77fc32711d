// What waits for Redis: bounded in messages and bytes, oldest first, every drop counted by type.
//
//   0 ............ half ............ full
//   |  everything  |  no samples     |  nothing
//
// Quotes and books are samples: a later one says more than the one that was left out. So they stop at half, and what
// remains is for trades, which nobody can ask for again.
import type { EventType } from '../../protocols/envelope.ts';

export interface OutboxLimits {
  readonly messages: number;
  readonly bytes: number;
}

export interface Entry {
  readonly stream: string;
  readonly type: EventType;
  readonly bytes: Buffer;
}

const SAMPLES: ReadonlySet<EventType> = new Set(['quote', 'orderbook']);
/** The taken front of the array is cut off once it is this long. */
const TAKEN_KEPT = 4096;

export class Outbox {
  readonly #limits: OutboxLimits;
  #entries: Entry[] = [];
  #head = 0;
  #bytes = 0;
  readonly #accepted = new Map<EventType, number>();
  readonly #dropped = new Map<EventType, number>();
  /** Called when something was put in. */
  onOffer: () => void = () => {};

  constructor(limits: OutboxLimits) {
    this.#limits = limits;
  }

  get length(): number {
    return this.#entries.length - this.#head;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get accepted(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#accepted);
  }

  get dropped(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#dropped);
  }

  get droppedTotal(): number {
    return [...this.#dropped.values()].reduce((sum, count) => sum + count, 0);
  }

  /** False when there is no room: then it is dropped, and counted. */
  offer(entry: Entry): boolean {
    const share = SAMPLES.has(entry.type) ? 0.5 : 1;
    const { messages, bytes } = this.#limits;
    if (this.length >= messages * share || this.#bytes + entry.bytes.length > bytes * share) {
      count(this.#dropped, entry.type);
      return false;
    }
    count(this.#accepted, entry.type);
    this.#entries.push(entry);
    this.#bytes += entry.bytes.length;
    this.onOffer();
    return true;
  }

  /** The oldest ones, at most so many; they stay until `settle`. */
  peek(most: number): readonly Entry[] {
    return this.#entries.slice(this.#head, this.#head + most);
  }

  /** The oldest `taken` are where they belong. */
  settle(taken: number): void {
    for (let at = this.#head; at < this.#head + taken; at++) this.#bytes -= this.#entries[at]!.bytes.length;
    this.#head += taken;
    if (this.#head < TAKEN_KEPT && this.#head < this.#entries.length) return;
    this.#entries = this.#entries.slice(this.#head);
    this.#head = 0;
  }
}

function count(counts: Map<EventType, number>, type: EventType): void {
  counts.set(type, (counts.get(type) ?? 0) + 1);
}
