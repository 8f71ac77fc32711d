import { type Clock, systemClock } from './clock.ts';

/** A time limit over one or more waits. */
export class Deadline {
  readonly #startedMs: number;
  readonly #clock: Clock;
  readonly #overdue: Promise<typeof OVERDUE>;
  #cancel = () => {};

  constructor(clock: Clock, limitMs: number) {
    this.#clock = clock;
    this.#startedMs = clock.now();
    this.#overdue = new Promise((resolve) => {
      if (limitMs < Number.POSITIVE_INFINITY) this.#cancel = clock.after(limitMs, () => resolve(OVERDUE));
    });
  }

  /** The work's result, or OVERDUE when the limit came first. The work itself goes on. */
  race<T>(work: Promise<T>): Promise<T | typeof OVERDUE> {
    return Promise.race([work, this.#overdue]);
  }

  get elapsedMs(): number {
    return this.#clock.now() - this.#startedMs;
  }

  /** Takes the timer back once nothing is waited for any more. */
  lift(): void {
    this.#cancel();
  }
}

export const OVERDUE = Symbol('overdue');

/** The work's result, or OVERDUE when the limit came first. The work itself goes on. */
export async function within<T>(
  limitMs: number,
  work: Promise<T>,
  clock: Clock = systemClock,
): Promise<T | typeof OVERDUE> {
  const deadline = new Deadline(clock, limitMs);
  try {
    return await deadline.race(work);
  } finally {
    deadline.lift();
  }
}
