import type { Doorbell } from './doorbell.ts';

/**
 * What a duty cycle does when it found nothing to do. `idle(work)` is called after each cycle with the number of things
 * the cycle did.
 *
 *            work            no work, `spins` times             no work again
 *   running ------> running ------------------------> armed ----------------------> asleep
 *      ^                                                |                              |
 *      +---------------------- work --------------------+------- rung, or parkMs ------+
 *
 * The cycle between `armed` and `asleep` is the second look that the doorbell asks for: no wake-up is lost.
 */
export interface IdleStrategy {
  idle(work: number): void;
}

export type IdleSpec =
  | { readonly kind: 'spin' }
  | { readonly kind: 'spin-then-park'; readonly spins: number; readonly parkMs: number }
  | { readonly kind: 'park'; readonly parkMs: number };

/** Never sleeps: for a thread that has a core of its own. Lowest latency, one core at 100 %. */
class Spin implements IdleStrategy {
  idle(_work: number): void {}
}

/**
 * Looks `spins` times and then sleeps. 200 looks of 10 ns bridge pauses up to 2 us without a system call; after that a
 * wake-up costs the producer a notify and the sleeper some microseconds of the scheduler's time.
 */
export class SpinThenPark implements IdleStrategy {
  readonly #doorbell: Doorbell;
  readonly #spins: number;
  readonly #parkMs: number;
  #idleCycles = 0;
  #armed = false;

  constructor(doorbell: Doorbell, spins: number, parkMs: number) {
    this.#doorbell = doorbell;
    this.#spins = spins;
    this.#parkMs = parkMs;
  }

  idle(work: number): void {
    if (work > 0) {
      this.#idleCycles = 0;
      if (this.#armed) this.#doorbell.disarm();
      this.#armed = false;
      return;
    }
    if (this.#armed) {
      this.#armed = false;
      this.#doorbell.wait(this.#parkMs);
      return;
    }
    if (this.#idleCycles < this.#spins) {
      this.#idleCycles++;
      return;
    }
    this.#doorbell.arm();
    this.#armed = true;
  }
}

/** Sleeps as soon as two cycles in a row found nothing: for a thread that shares its core. */
export class Park extends SpinThenPark {
  constructor(doorbell: Doorbell, parkMs: number) {
    super(doorbell, 0, parkMs);
  }
}

export function idleStrategy(spec: IdleSpec, doorbell: Doorbell): IdleStrategy {
  if (spec.kind === 'spin') return new Spin();
  if (spec.kind === 'park') return new Park(doorbell, spec.parkMs);
  return new SpinThenPark(doorbell, spec.spins, spec.parkMs);
}
