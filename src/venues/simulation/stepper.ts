/** Steps in one turn of the event loop; clients must be heard in between. */
const STEPS_PER_TURN_MOST = 10;
/** Being late by less than this is made up for; what is later than this is left out and counted. */
const CATCH_UP_MS_MOST = 1000;

/** Runs steps at a steady pace of the wall clock. After a long pause it goes on from now instead of racing. */
export class Stepper {
  readonly #everyMs: number;
  readonly #step: () => void;
  #timer: NodeJS.Timeout | undefined;
  #dueMs = 0;
  /** Steps that were left out because the process had no time for them. */
  skipped = 0;

  constructor(everyMs: number, step: () => void) {
    this.#everyMs = everyMs;
    this.#step = step;
  }

  start(): void {
    this.#dueMs = performance.now() + this.#everyMs;
    this.#schedule();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    this.#timer = setTimeout(() => this.#run(), Math.max(0, this.#dueMs - performance.now()));
  }

  #run(): void {
    for (let turn = 0; turn < STEPS_PER_TURN_MOST && this.#dueMs <= performance.now(); turn++) {
      this.#step();
      this.#dueMs += this.#everyMs;
    }
    const behindMs = performance.now() - this.#dueMs;
    if (behindMs > CATCH_UP_MS_MOST) {
      const late = Math.ceil(behindMs / this.#everyMs);
      this.skipped += late;
      this.#dueMs += late * this.#everyMs;
    }
    this.#schedule();
  }
}
