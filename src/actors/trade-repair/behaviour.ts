// Fetches exactly the trades that are missing, page by page, ascending, under the venue's weight budget.
//
//   wanted --budget and a free place--> in flight --page--> wanted from the next sequence, or done
//                                          \--failed--> wanted again, behind the others; 429/418 stop everything until
//                                                        Retry-After, no answer for `retryMs`, and a range that the
//                                                        venue refuses waits alone: 1 2 4 ... 60 s
//
// A range is done when its last trade came, or one behind it: then the venue has no more of it. What was fetched is in the
// worker at once, so a restart asks only for what is still a hole: the work resumes by itself.
import {
  blocked,
  isLimit,
  isRefusal,
  observe,
  spend,
  startBudget,
  type WeightBudget,
  type WeightLimits,
  waitFor,
} from './weight-budget.ts';

export interface RepairSettings {
  readonly limits: WeightLimits;
  readonly requestWeight: number;
  readonly pageTrades: number;
  readonly concurrency: number;
  /** Ranges that may wait; more are asked for again when the worker next tells its troubles. */
  readonly waitingMax: number;
  readonly retryMs: number;
  /** The longest that a range waits which the venue refuses again and again. */
  readonly refusedMaxMs: number;
}

/** Sequences first..last of a symbol; `last` undefined: everything from `first` on, to end a doubt. */
export interface Range {
  readonly symbol: number;
  readonly first: bigint;
  readonly last: bigint | undefined;
}

interface Waiting extends Range {
  /** How often the venue has refused it in a row, and when to try again. */
  readonly refusals: number;
  readonly atMs: number;
}

interface Flight {
  readonly id: number;
  readonly range: Waiting;
}

export interface RepairState {
  readonly settings: RepairSettings;
  readonly budget: WeightBudget;
  readonly waiting: readonly Waiting[];
  readonly flights: readonly Flight[];
  readonly nextId: number;
  readonly turnedAway: number;
  /** After a failure nothing is asked before this time. */
  readonly notBeforeMs: number;
}

export interface Page {
  /** Sequences of the trades in the page, ascending; the trades themselves go to the worker. */
  readonly first: bigint;
  readonly last: bigint;
  readonly count: number;
}

export type RepairMessage =
  | { readonly kind: 'wanted'; readonly ranges: readonly Range[]; readonly nowMs: number }
  | {
      readonly kind: 'page';
      readonly id: number;
      /** None for a symbol that has left. */
      readonly page: Page | undefined;
      readonly usedWeight: number | undefined;
      readonly nowMs: number;
    }
  | {
      readonly kind: 'failed';
      readonly id: number;
      readonly status: number;
      readonly retryAfterS: number | undefined;
      readonly nowMs: number;
    }
  | { readonly kind: 'go-on'; readonly nowMs: number };

export type RepairEffect =
  | {
      readonly kind: 'fetch';
      readonly id: number;
      readonly symbol: number;
      readonly from: bigint;
      readonly limit: number;
    }
  /** Nothing of first..last that has not come exists. */
  | { readonly kind: 'resolve'; readonly symbol: number; readonly first: bigint; readonly last: bigint }
  /** The venue has no trade at or after `next`. */
  | { readonly kind: 'confirm'; readonly symbol: number; readonly next: bigint }
  /** More of an open end is on its way: what follows the last trade is still in doubt. */
  | { readonly kind: 'doubt'; readonly symbol: number }
  | { readonly kind: 'set-timer'; readonly delayMs: number };

type Step = readonly [RepairState, readonly RepairEffect[]];

export function startRepair(settings: RepairSettings): RepairState {
  return {
    settings,
    budget: startBudget(settings.limits),
    waiting: [],
    flights: [],
    nextId: 1,
    turnedAway: 0,
    notBeforeMs: 0,
  };
}

export function receive(state: RepairState, message: RepairMessage): Step {
  switch (message.kind) {
    case 'wanted':
      return launch(withWanted(state, message.ranges), message.nowMs, []);
    case 'page':
      return paged(state, message.id, message.page, message.usedWeight, message.nowMs);
    case 'failed':
      return failed(state, message.id, message.status, message.retryAfterS, message.nowMs);
    case 'go-on':
      return launch(state, message.nowMs, []);
  }
}

/** The worker tells its troubles again and again; what is already waiting or in flight is not taken twice. */
function withWanted(state: RepairState, ranges: readonly Range[]): RepairState {
  const waiting = [...state.waiting];
  let turnedAway = state.turnedAway;
  for (const range of ranges) {
    const known = [...waiting, ...state.flights.map((flight) => flight.range)].some(
      (other) => other.symbol === range.symbol && overlaps(other, range),
    );
    if (known) continue;
    if (waiting.length >= state.settings.waitingMax) turnedAway++;
    else waiting.push(fresh(range));
  }
  return { ...state, waiting, turnedAway };
}

function fresh(range: Range): Waiting {
  return { ...range, refusals: 0, atMs: 0 };
}

function overlaps(a: Range, b: Range): boolean {
  return (a.last === undefined || b.first <= a.last) && (b.last === undefined || a.first <= b.last);
}

/** Sends what the budget and the concurrency allow; with something left, a timer tells when to go on. */
function launch(state: RepairState, nowMs: number, before: readonly RepairEffect[]): Step {
  const { concurrency, requestWeight, pageTrades } = state.settings;
  const effects = [...before];
  let now = state;
  while (now.waiting.length > 0 && now.flights.length < concurrency) {
    const range = now.waiting.reduce((best, one) => (best.atMs <= nowMs || best.atMs <= one.atMs ? best : one));
    const pauseMs = Math.max(now.notBeforeMs, range.atMs) - nowMs;
    const delayMs = Math.max(waitFor(now.budget, requestWeight, nowMs), pauseMs);
    if (delayMs > 0) return [now, [...effects, { kind: 'set-timer', delayMs }]];
    const waiting = now.waiting.filter((one) => one !== range);
    const flight = { id: now.nextId, range };
    const left = range.last === undefined ? pageTrades : Number(range.last - range.first) + 1;
    const limit = Math.min(left, pageTrades);
    effects.push({ kind: 'fetch', id: flight.id, symbol: range.symbol, from: range.first, limit });
    const budget = spend(now.budget, requestWeight, nowMs);
    now = { ...now, waiting, budget, flights: [...now.flights, flight], nextId: now.nextId + 1 };
  }
  return [now, effects];
}

function landed(state: RepairState, id: number): readonly [Flight | undefined, RepairState] {
  const flight = state.flights.find((one) => one.id === id);
  return [flight, { ...state, flights: state.flights.filter((one) => one.id !== id) }];
}

function paged(
  state: RepairState,
  id: number,
  page: Page | undefined,
  usedWeight: number | undefined,
  nowMs: number,
): Step {
  const [flight, rest] = landed(state, id);
  if (flight === undefined) return [state, []];
  const budget = usedWeight === undefined ? rest.budget : observe(rest.budget, usedWeight, nowMs);
  const { symbol, first, last } = flight.range;
  const now = { ...rest, budget };
  if (page === undefined) return launch(now, nowMs, []);
  const next = page.count === 0 ? undefined : page.last + 1n;
  if (last === undefined) return tail(now, symbol, first, next, page.count, nowMs);
  // The stream has shown a trade behind the range: who shows none from there on is behind the stream, and asked later.
  if (next === undefined) return refused(now, flight.range, nowMs);
  if (next > last) return launch(now, nowMs, [{ kind: 'resolve', symbol, first, last }]);
  return launch({ ...now, waiting: [fresh({ symbol, first: next, last }), ...now.waiting] }, nowMs, []);
}

/** A full page may have more behind it; a short one is the end of the venue's tape. */
function tail(
  state: RepairState,
  symbol: number,
  first: bigint,
  next: bigint | undefined,
  count: number,
  nowMs: number,
): Step {
  const from = next ?? first;
  if (count < state.settings.pageTrades) return launch(state, nowMs, [{ kind: 'confirm', symbol, next: from }]);
  const waiting = [fresh({ symbol, first: from, last: undefined }), ...state.waiting];
  return launch({ ...state, waiting }, nowMs, [{ kind: 'doubt', symbol }]);
}

/** It goes behind the others: one that always fails must not keep them from being fetched. */
function failed(state: RepairState, id: number, status: number, retryAfterS: number | undefined, nowMs: number): Step {
  const [flight, rest] = landed(state, id);
  if (flight === undefined) return [state, []];
  const { range } = flight;
  if (isRefusal(status)) return refused(rest, range, nowMs);
  const waiting = [...rest.waiting, range];
  if (!isLimit(status)) return launch({ ...rest, waiting, notBeforeMs: nowMs + state.settings.retryMs }, nowMs, []);
  return launch({ ...rest, waiting, budget: blocked(rest.budget, status, retryAfterS, nowMs) }, nowMs, []);
}

/** It waits alone, longer each time. */
function refused(state: RepairState, range: Waiting, nowMs: number): Step {
  const { retryMs, refusedMaxMs } = state.settings;
  const delayMs = Math.min(retryMs * 2 ** Math.min(range.refusals, 10), refusedMaxMs);
  const later = { ...range, refusals: range.refusals + 1, atMs: nowMs + delayMs };
  return launch({ ...state, waiting: [...state.waiting, later] }, nowMs, []);
}
