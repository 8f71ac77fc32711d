import type { Clock } from '../clock.ts';

interface Timer {
  readonly atMs: number;
  readonly order: number;
  readonly callback: () => void;
}

/** A clock that stands still until a test turns it. */
export class ManualClock implements Clock {
  #nowMs = 0;
  #order = 0;
  readonly #timers = new Set<Timer>();

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#nowMs + Math.max(0, delayMs), order: this.#order++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** How many timers are set. */
  get pending(): number {
    return this.#timers.size;
  }

  /** When the next timer is due. */
  get nextAtMs(): number | undefined {
    return this.#next()?.atMs;
  }

  /** Lets time pass without firing anything: the loop was busy. */
  skip(ms: number): void {
    this.#nowMs += ms;
  }

  /** Fires the next timer when it is due by then, and moves the time to it. False: there is none. */
  fireNext(untilMs: number): boolean {
    const timer = this.#next();
    if (timer === undefined || timer.atMs > untilMs) return false;
    this.#timers.delete(timer);
    this.#nowMs = Math.max(this.#nowMs, timer.atMs);
    timer.callback();
    return true;
  }

  #next(): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) {
      if (next === undefined || timer.atMs < next.atMs || (timer.atMs === next.atMs && timer.order < next.order)) {
        next = timer;
      }
    }
    return next;
  }

  moveTo(atMs: number): void {
    this.#nowMs = Math.max(this.#nowMs, atMs);
  }
}
