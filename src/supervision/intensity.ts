/**
 * How many restarts a supervisor performs within a period before it gives up: with intensity 3 and period 5000, the
 * fourth restart within five seconds is one too many.
 */
export interface Intensity {
  readonly restarts: number;
  readonly periodMs: number;
}

/** The restarts still inside the period, with this one added. At most `restarts + 1` are kept. */
export function addRestart(recent: readonly number[], nowMs: number, intensity: Intensity): readonly number[] {
  return [...recent.filter((at) => nowMs - at < intensity.periodMs), nowMs].slice(-(intensity.restarts + 1));
}

export function isExceeded(recent: readonly number[], intensity: Intensity): boolean {
  return recent.length > intensity.restarts;
}
