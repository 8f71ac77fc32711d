import type { BarsMessage, BarView, BookMessage, EventsMessage } from '../../protocols/console-api.ts';
import type { BarsSource, BooksSource } from '../sources.ts';
import type { EventLog } from './event-log.ts';
import type { ActorSampler } from './sampler.ts';

/** What a reader still needs, and the cursor that it has afterwards. */
export interface Frame {
  readonly text: string;
  readonly cursor: number;
}

/**
 * Something that live readers follow. A topic keeps the present state, not a queue for each reader: a reader that comes
 * back late is brought from its cursor to the present in one frame. Cursor 0 is a reader that has nothing yet.
 */
export interface Topic {
  /** Called at each tick while somebody reads. */
  refresh(nowMs: number): void;
  frame(cursor: number): Frame | undefined;
  close(): void;
}

/** A state that is looked at from time to time and sent whole when it is another one. */
export class StateTopic implements Topic {
  readonly #look: () => unknown;
  readonly #periodMs: number;
  #text = '';
  #version = 0;
  #dueMs = 0;

  constructor(periodMs: number, look: () => unknown) {
    this.#periodMs = periodMs;
    this.#look = look;
  }

  refresh(nowMs: number): void {
    if (nowMs < this.#dueMs) return;
    this.#dueMs = nowMs + this.#periodMs;
    const text = JSON.stringify(this.#look());
    if (text === this.#text) return;
    this.#text = text;
    this.#version++;
  }

  frame(cursor: number): Frame | undefined {
    return cursor === this.#version ? undefined : { text: this.#text, cursor: this.#version };
  }

  close(): void {}
}

export function bookTopic(source: BooksSource, symbol: string, periodMs: number): Topic {
  return new StateTopic(periodMs, (): BookMessage => {
    return { book: source.latest(symbol) ?? null, latency: source.latency() ?? null };
  });
}

/** The sampler looks by itself, for the histories; this only hands out what it made. */
export class ActorsTopic implements Topic {
  readonly #sampler: ActorSampler;

  constructor(sampler: ActorSampler) {
    this.#sampler = sampler;
  }

  refresh(): void {}

  /** The text is empty when nothing changed: the reader moves on to the present version all the same. */
  frame(cursor: number): Frame | undefined {
    if (cursor === this.#sampler.version) return undefined;
    return { text: this.#sampler.messageFor(cursor) ?? '', cursor: this.#sampler.version };
  }

  close(): void {}
}

const EVENTS_PER_FRAME = 100;

export class EventsTopic implements Topic {
  readonly #log: EventLog;

  constructor(log: EventLog) {
    this.#log = log;
  }

  refresh(): void {}

  frame(cursor: number): Frame | undefined {
    const events = this.#log.since(cursor, EVENTS_PER_FRAME);
    const last = events.at(-1);
    if (last === undefined) return undefined;
    const missed = cursor === 0 ? 0 : Math.max(0, events[0]!.sequence - cursor - 1);
    const message: EventsMessage = { events, missed };
    return { text: JSON.stringify(message), cursor: last.sequence };
  }

  close(): void {}
}

const CHANGED_BARS_MAX = 500;

/** Bars as they change, one entry a bar: what changed twice between two frames is sent once. */
export class BarsTopic implements Topic {
  readonly #stop: () => void;
  /** Insertion order is the order of the last change. */
  readonly #changed = new Map<number, { readonly bar: BarView; readonly version: number }>();
  #version = 1;
  #forgottenUpTo = 0;

  constructor(source: BarsSource, symbol: string, interval: string) {
    this.#stop = source.listen(symbol, interval, (bar) => this.#note(bar));
  }

  refresh(): void {}

  frame(cursor: number): Frame | undefined {
    if (cursor === this.#version) return undefined;
    const reset = cursor < this.#forgottenUpTo;
    const entries = [...this.#changed.values()].filter((entry) => entry.version > cursor);
    const message: BarsMessage = { bars: entries.map((entry) => entry.bar), reset };
    return { text: JSON.stringify(message), cursor: this.#version };
  }

  close(): void {
    this.#stop();
  }

  #note(bar: BarView): void {
    this.#version++;
    this.#changed.delete(bar.openAtMs);
    this.#changed.set(bar.openAtMs, { bar, version: this.#version });
    if (this.#changed.size <= CHANGED_BARS_MAX) return;
    const [oldest, entry] = this.#changed.entries().next().value!;
    this.#forgottenUpTo = entry.version;
    this.#changed.delete(oldest);
  }
}
