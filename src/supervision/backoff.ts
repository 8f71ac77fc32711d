import type { Random } from './clock.ts';

/**
 * How long to wait before the n-th restart in a row: min doubled each time, up to max, plus a random share.
 * With min 3 s, max 30 s, no jitter: 3, 6, 12, 24, 30, 30 seconds. With jitter 0.2, each is up to 20 % longer, so that
 * children that failed together do not come back together. A child that ran for `resetAfterMs` starts again at min.
 */
export interface Backoff {
  readonly minMs: number;
  readonly maxMs: number;
  readonly jitter: number;
  readonly resetAfterMs: number;
}

export const DEFAULT_BACKOFF: Backoff = { minMs: 100, maxMs: 30_000, jitter: 0.2, resetAfterMs: 60_000 };

/** Past this many doublings every sensible min has reached every sensible max. */
const DOUBLINGS_MAX = 40;

export function backoffDelayMs(backoff: Backoff, failuresInARow: number, random: Random): number {
  const doublings = Math.min(Math.max(failuresInARow - 1, 0), DOUBLINGS_MAX);
  const delay = Math.min(backoff.minMs * 2 ** doublings, backoff.maxMs);
  return delay * (1 + backoff.jitter * random());
}
