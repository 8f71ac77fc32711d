import type { Admission } from '../protocols/ref.ts';

/**
 * What a full mailbox does with one more message.
 *
 * - `reject`: refuses it; the message stays with the sender.
 * - `drop-oldest` / `drop-newest`: makes room by dropping the longest waiting message, or drops the new one.
 * - `conflate`: a message takes the place of a waiting one with the same key; a new key in a full mailbox is rejected.
 * - `backpressure`: admits, but answers `pause` from three quarters of the capacity on; whoever was paused is told to go
 *   on when a quarter is left. With capacity 1000: pause from 750 waiting, go on at 250. Past the capacity it rejects.
 */
export type MailboxPolicy = 'reject' | 'drop-oldest' | 'drop-newest' | 'conflate' | 'backpressure';

export interface MailboxOptions<M> {
  readonly capacity: number;
  readonly policy: MailboxPolicy;
  /** The key of a message for `conflate`. */
  readonly keyOf?: (message: M) => unknown;
}

export interface Drops {
  rejected: number;
  droppedOldest: number;
  droppedNewest: number;
  conflated: number;
}

const INITIAL_SLOTS = 16;

/** A bounded queue of messages with an overflow policy; each overflow is counted where it happens. */
export class Mailbox<M> {
  readonly capacity: number;
  readonly policy: MailboxPolicy;
  readonly drops: Drops = { rejected: 0, droppedOldest: 0, droppedNewest: 0, conflated: 0 };
  highWater = 0;
  /** Called with the message that `drop-oldest` takes out, so that it can be reported. */
  onDropped: ((message: M) => void) | undefined;
  /** Called with the message whose place a newer one of the same key took. */
  onConflated: ((message: M) => void) | undefined;

  readonly #keyOf: ((message: M) => unknown) | undefined;
  readonly #positionByKey: Map<unknown, number> | undefined;
  /** The keys of the waiting messages in their order: a message that changed since it was told keeps its key. */
  readonly #keys: Mailbox<unknown> | undefined;
  readonly #pauseAt: number;
  readonly #resumeAt: number;
  #waitingSenders: Set<() => void> | undefined;
  /** A power-of-two ring: the message at absolute position p is at slot p & mask. */
  #slots: (M | undefined)[];
  #mask = INITIAL_SLOTS - 1;
  #head = 0;
  #tail = 0;

  constructor(options: MailboxOptions<M>) {
    this.capacity = options.capacity;
    this.policy = options.policy;
    this.#pauseAt = Math.ceil(options.capacity * 0.75);
    this.#resumeAt = Math.floor(options.capacity * 0.25);
    this.#slots = new Array(INITIAL_SLOTS);
    if (options.policy === 'conflate') {
      this.#keyOf = options.keyOf ?? ((message) => message);
      this.#positionByKey = new Map();
      this.#keys = new Mailbox({ capacity: options.capacity, policy: 'reject' });
    }
  }

  /** Messages that a full mailbox has refused or let go. */
  get dropped(): number {
    const { rejected, droppedOldest, droppedNewest } = this.drops;
    return rejected + droppedOldest + droppedNewest;
  }

  get depth(): number {
    return this.#tail - this.#head;
  }

  offer(message: M): Admission {
    if (this.#positionByKey !== undefined) return this.#offerConflated(message, this.#positionByKey);
    const depth = this.#tail - this.#head;
    if (depth < this.capacity) {
      this.#push(message);
      return this.policy === 'backpressure' && depth + 1 >= this.#pauseAt ? 'pause' : 'accepted';
    }
    switch (this.policy) {
      case 'drop-oldest': {
        this.drops.droppedOldest++;
        const oldest = this.take() as M;
        this.#push(message);
        this.onDropped?.(oldest);
        return 'dropped-oldest';
      }
      case 'drop-newest':
        this.drops.droppedNewest++;
        return 'dropped-newest';
      default:
        this.drops.rejected++;
        return 'rejected';
    }
  }

  #offerConflated(message: M, positionByKey: Map<unknown, number>): Admission {
    const key = this.#keyOf!(message);
    const position = positionByKey.get(key);
    if (position !== undefined) {
      this.drops.conflated++;
      const slot = position & this.#mask;
      const older = this.#slots[slot] as M;
      this.#slots[slot] = message;
      this.onConflated?.(older);
      return 'conflated';
    }
    if (this.depth >= this.capacity) {
      this.drops.rejected++;
      return 'rejected';
    }
    positionByKey.set(key, this.#tail);
    this.#keys!.offer(key);
    this.#push(message);
    return 'accepted';
  }

  #push(message: M): void {
    if (this.#tail - this.#head > this.#mask) this.#grow();
    this.#slots[this.#tail & this.#mask] = message;
    this.#tail++;
    const depth = this.#tail - this.#head;
    if (depth > this.highWater) this.highWater = depth;
  }

  #grow(): void {
    const slots: (M | undefined)[] = new Array(this.#slots.length * 2);
    const mask = slots.length - 1;
    for (let position = this.#head; position < this.#tail; position++) {
      slots[position & mask] = this.#slots[position & this.#mask];
    }
    this.#slots = slots;
    this.#mask = mask;
  }

  /** The next message, or undefined when none waits. */
  take(): M | undefined {
    if (this.#head === this.#tail) return undefined;
    const slot = this.#head & this.#mask;
    const message = this.#slots[slot] as M;
    this.#slots[slot] = undefined;
    this.#head++;
    if (this.#keys !== undefined) this.#positionByKey!.delete(this.#keys.take());
    if (this.#waitingSenders !== undefined && this.#tail - this.#head <= this.#resumeAt) this.#wakeSenders();
    return message;
  }

  /** Calls back once when a paused sender may go on; at once when it may already. */
  whenReady(callback: () => void): void {
    if (this.depth <= this.#resumeAt) {
      callback();
      return;
    }
    this.#waitingSenders ??= new Set();
    this.#waitingSenders.add(callback);
  }

  #wakeSenders(): void {
    const senders = this.#waitingSenders;
    this.#waitingSenders = undefined;
    for (const callback of senders ?? []) callback();
  }

  /** Empties the mailbox and lets paused senders find out that nobody is there any more. */
  drain(): M[] {
    const rest: M[] = [];
    while (this.#head !== this.#tail) rest.push(this.take() as M);
    this.#wakeSenders();
    return rest;
  }
}
