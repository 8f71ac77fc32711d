/** Time as the runtime sees it: monotonic milliseconds and timers. Tests bind it to a clock that they turn by hand. */
export interface Clock {
  now(): number;
  /** Calls back once after the delay. The answer cancels it. */
  after(delayMs: number, callback: () => void): () => void;
}

/** A number in [0, 1). Tests bind it to a seeded generator. */
export type Random = () => number;

/** Timers longer than this overflow Node's 32-bit delay and would fire at once. */
const DELAY_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, Math.min(delayMs, DELAY_MS_MAX));
    return () => clearTimeout(timer);
  },
};
