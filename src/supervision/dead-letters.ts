import type { LifecycleBus } from './lifecycle.ts';

/** A message that nobody will handle, and why. */
export interface DeadLetter {
  readonly to: string;
  readonly message: string;
  readonly reason: 'terminated' | 'left-behind' | 'dropped';
}

const KEPT_MAX = 256;
const SHOWN_CHARACTERS_MAX = 200;

/** Counts every dead letter and keeps the last few for whoever wants to look. */
export class DeadLetters {
  count = 0;
  readonly #kept: DeadLetter[] = [];
  readonly #events: LifecycleBus;

  constructor(events: LifecycleBus) {
    this.#events = events;
  }

  add(to: string, message: unknown, reason: DeadLetter['reason']): void {
    this.#kept[this.count % KEPT_MAX] = { to, message: describe(message), reason };
    this.count++;
    if (this.#events.isHeard) this.#events.emit({ kind: 'dead-letter', path: to, reason });
  }

  /** The last letters, the newest last. */
  recent(): readonly DeadLetter[] {
    const start = this.count % KEPT_MAX;
    return this.count < KEPT_MAX ? [...this.#kept] : [...this.#kept.slice(start), ...this.#kept.slice(0, start)];
  }
}

/** A message's kind where it has one, else a short form of it; payloads are not kept alive by a report about them. */
export function describe(message: unknown): string {
  if (typeof message === 'object' && message !== null) {
    const kind = (message as { kind?: unknown }).kind;
    return typeof kind === 'string' ? kind.slice(0, SHOWN_CHARACTERS_MAX) : (message.constructor?.name ?? 'object');
  }
  return String(message).slice(0, SHOWN_CHARACTERS_MAX);
}
