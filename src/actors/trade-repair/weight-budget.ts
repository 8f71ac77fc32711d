// A venue's REST budget: so much weight a minute, of which repairs may use a share, and a ban that must be waited out.

export interface WeightLimits {
  readonly perMinute: number;
  /** The share of the budget that is ours to use, 0..1; the rest is for whoever else runs at this address. */
  readonly share: number;
}

export interface WeightBudget {
  readonly limits: WeightLimits;
  readonly minute: number;
  readonly used: number;
  readonly blockedUntilMs: number;
}

/** An answer that said that all is well. */
export const UNREADABLE = 200;
const MINUTE_MS = 60_000;
/** A ban without a Retry-After. */
const BAN_MS = 120_000;
const SLOW_DOWN_MS = 10_000;
/** The longest that a Retry-After is believed: a venue's longest ban is three days. */
const RETRY_AFTER_MAX_MS = 3 * 86_400_000;

export function startBudget(limits: WeightLimits): WeightBudget {
  return { limits, minute: 0, used: 0, blockedUntilMs: 0 };
}

/** 0 when a request of this weight may go now, else how long to wait for it. */
export function waitFor(budget: WeightBudget, weight: number, nowMs: number): number {
  if (nowMs < budget.blockedUntilMs) return budget.blockedUntilMs - nowMs;
  return usedNow(budget, nowMs) + weight <= budget.limits.perMinute * budget.limits.share
    ? 0
    : MINUTE_MS - (nowMs % MINUTE_MS);
}

/** The weight used in the minute of this moment. */
export function usedNow(budget: WeightBudget, nowMs: number): number {
  return Math.floor(nowMs / MINUTE_MS) === budget.minute ? budget.used : 0;
}

/** Slow down, or banned. */
export function isLimit(status: number): boolean {
  return status === 429 || status === 418;
}

/**
 * The venue answers, but not this question: of a symbol that it has let go, or with something that nobody can read.
 * Others may be answered.
 */
export function isRefusal(status: number): boolean {
  return status === UNREADABLE || status === 400 || status === 404;
}

export function spend(budget: WeightBudget, weight: number, nowMs: number): WeightBudget {
  const minute = Math.floor(nowMs / MINUTE_MS);
  return { ...budget, minute, used: (minute === budget.minute ? budget.used : 0) + weight };
}

/** The venue's own count, from a response header, is right where it is higher than ours. */
export function observe(budget: WeightBudget, usedAtVenue: number, nowMs: number): WeightBudget {
  const minute = Math.floor(nowMs / MINUTE_MS);
  const used = minute === budget.minute ? budget.used : 0;
  return { ...budget, minute, used: Math.max(used, usedAtVenue) };
}

/** 429 asks to slow down, 418 says that the address is banned; both may say for how many seconds. */
export function blocked(
  budget: WeightBudget,
  status: number,
  retryAfterS: number | undefined,
  nowMs: number,
): WeightBudget {
  const asked = retryAfterS !== undefined && retryAfterS >= 0 ? retryAfterS * 1000 : undefined;
  const pauseMs = Math.min(asked ?? (status === 418 ? BAN_MS : SLOW_DOWN_MS), RETRY_AFTER_MAX_MS);
  return { ...budget, blockedUntilMs: Math.max(budget.blockedUntilMs, nowMs + pauseMs) };
}
