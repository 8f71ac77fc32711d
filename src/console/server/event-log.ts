import type { EventView } from '../../protocols/console-api.ts';
import type { LifecycleEvent } from '../../supervision/lifecycle.ts';

const KEPT_MAX = 512;
const TEXT_CHARACTERS_MAX = 240;
/** A flood of overflows or dead letters must not push failures out: of each kind and path, so many a second are kept. */
const SAME_PER_SECOND_MAX = 2;

/** The last lifecycle events, numbered from 1. */
export class EventLog {
  readonly #kept: EventView[] = [];
  readonly #recent = new Map<string, number>();
  #windowMs = 0;
  #sequence = 0;

  get sequence(): number {
    return this.#sequence;
  }

  /** Stamped on arrival: other threads' clocks begin at other times. */
  add(event: LifecycleEvent, nowMs: number): void {
    if (this.#isFlood(event, nowMs)) return;
    this.#sequence++;
    const view = { sequence: this.#sequence, atMs: nowMs, path: event.path, kind: event.kind, text: textOf(event) };
    this.#kept.push(view);
    if (this.#kept.length > KEPT_MAX) this.#kept.shift();
  }

  since(sequence: number, limit: number): readonly EventView[] {
    const from = this.#kept.findIndex((event) => event.sequence > sequence);
    return from < 0 ? [] : this.#kept.slice(from).slice(-limit);
  }

  of(path: string, limit: number): readonly EventView[] {
    return this.#kept.filter((event) => event.path === path).slice(-limit);
  }

  /** How many lives ended by failure since then. */
  failuresSince(atMs: number): readonly EventView[] {
    return this.#kept.filter((event) => event.kind === 'failed' && event.atMs >= atMs);
  }

  #isFlood({ kind, path }: LifecycleEvent, nowMs: number): boolean {
    if (nowMs - this.#windowMs >= 1000) {
      this.#recent.clear();
      this.#windowMs = nowMs;
    }
    const key = `${kind} ${path}`;
    const count = (this.#recent.get(key) ?? 0) + 1;
    this.#recent.set(key, count);
    return count > SAME_PER_SECOND_MAX;
  }
}

function textOf(event: LifecycleEvent): string {
  return sentence(event).slice(0, TEXT_CHARACTERS_MAX);
}

function sentence(event: LifecycleEvent): string {
  switch (event.kind) {
    case 'spawned':
      return 'is placed';
    case 'started':
      return `life ${event.incarnation} is up`;
    case 'failed':
      return `life ${event.incarnation} failed: ${event.error.message}`;
    case 'restarting':
      return event.delayMs === 0 ? 'restarts at once' : `restarts in ${Math.round(event.delayMs)} ms`;
    case 'stopped':
      return `stopped (${event.reason})`;
    case 'overflow':
      return `mailbox full, ${event.policy}: ${event.dropped} so far`;
    case 'dead-letter':
      return `dead letter: ${event.reason}`;
    case 'unhandled':
      return `did not understand ${event.message}`;
    case 'warning':
      return event.text;
    case 'abandoned':
      return `gave up on its ${event.what} after ${Math.round(event.afterMs)} ms`;
    case 'end-failed':
      return `failed while ending: ${event.error.message}`;
  }
}
