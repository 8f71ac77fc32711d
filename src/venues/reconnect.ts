// When to try again: exponential backoff with jitter, and never more attempts than the venue allows.

const NS_PER_MS = 1e6;

export interface ReconnectPolicy {
  readonly minMs: number;
  readonly maxMs: number;
  /** The share of a wait that is random: with 1 a wait is anything up to its bound, with 0 exactly the bound. */
  readonly jitter: number;
  /** A connection that was healthy this long starts the next series from the beginning. */
  readonly resetAfterMs: number;
}

/**
 * The wait before attempt number `failures` (0 for the first try after a loss). `random` is uniform in [0, 1). With 0.5 and
 * 30 seconds, its bounds are 0.5, 1, 2, 4, 8, 16, 30, 30 ... seconds.
 */
export function reconnectDelayMs(policy: ReconnectPolicy, failures: number, random: number): number {
  const doublings = Math.min(failures, 30);
  return (1 - policy.jitter * (1 - random)) * Math.min(policy.maxMs, policy.minMs * 2 ** doublings);
}

/** Attempts of the last window, oldest first; never longer than the venue's limit. */
export type ConnectBudget = readonly number[];

/**
 * Asks for one connection attempt. Granted, it is entered in the budget; refused, `atNs` is when to ask again.
 * Binance, 300 in 5 minutes: the 301st waits until the first is 5 minutes old.
 */
export function requestConnect(
  budget: ConnectBudget,
  limit: { readonly count: number; readonly windowMs: number },
  nowNs: number,
): { readonly granted: boolean; readonly atNs: number; readonly budget: ConnectBudget } {
  const windowNs = limit.windowMs * NS_PER_MS;
  const recent = budget.filter((attemptNs) => nowNs - attemptNs < windowNs);
  if (recent.length < limit.count) return { granted: true, atNs: nowNs, budget: [...recent, nowNs] };
  return { granted: false, atNs: recent[recent.length - limit.count]! + windowNs, budget: recent };
}
