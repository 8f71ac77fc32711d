// Repairs where a venue does not give trades by number, but all of the last minute, hour or day. A hole is filled from a
// window that is proven to reach beyond it on both sides; one that is older than the longest window stays what it is.
//
//   told --covered by a window, budget, a free place--> in flight --proven--> filled
//                                                           \--refused, or proven on one side only--> later, 2 4 8 ... 60 s
//
// While the venue does not answer at all everything waits, 2 4 8 10 10 s: the tries of a symbol are not counted then.
import { WINDOWS_US, type WindowName } from '../../venues/history.ts';
import {
  blocked,
  isLimit,
  isRefusal,
  spend,
  startBudget,
  type WeightBudget,
  type WeightLimits,
  waitFor,
} from './weight-budget.ts';

export interface WindowSettings {
  readonly limits: WeightLimits;
  readonly requestWeight: number;
  readonly concurrency: number;
  /** Symbols that may wait; more are asked for again when the worker next tells its troubles. */
  readonly waitingMax: number;
  readonly retryMinMs: number;
  readonly retryMaxMs: number;
  /** The longest pause while the venue does not answer at all: 2 4 8 10 10 s. */
  readonly silentMaxMs: number;
}

/** Trades of these numbers are missing since about that time of the venue. */
export interface MissingRange {
  readonly first: bigint;
  readonly last: bigint;
  readonly fromUs: bigint;
}

interface Want {
  readonly symbol: number;
  readonly holes: readonly MissingRange[];
}

interface Flight extends Want {
  readonly id: number;
  readonly window: WindowName;
  readonly askedUs: bigint;
}

export interface WindowState {
  readonly settings: WindowSettings;
  readonly budget: WeightBudget;
  readonly waiting: readonly Want[];
  readonly flights: readonly Flight[];
  /** Symbols whose last window did not do: how often in a row, and when to try again. */
  readonly later: ReadonlyMap<number, { readonly tries: number; readonly atMs: number }>;
  /** The venue did not answer: how often in a row, and until when nothing is asked. */
  readonly silence: { readonly times: number; readonly untilMs: number };
  /** Holes of each symbol that no window reaches. */
  readonly beyondReach: ReadonlyMap<number, number>;
  readonly nextId: number;
  readonly turnedAway: number;
  readonly filled: number;
}

/** Numbers of the oldest and the newest trade of a window, and how many there are. */
export interface WindowPage {
  readonly oldest: bigint;
  readonly newest: bigint;
  readonly count: number;
}

interface Times {
  readonly nowMs: number;
  readonly nowUs: bigint;
}

export type WindowMessage =
  | ({ readonly kind: 'wanted'; readonly wants: readonly Want[] } & Times)
  | ({ readonly kind: 'page'; readonly id: number; readonly page: WindowPage } & Times)
  | ({
      readonly kind: 'failed';
      readonly id: number;
      readonly status: number;
      readonly retryAfterS: number | undefined;
    } & Times);

export type WindowEffect =
  | { readonly kind: 'fetch'; readonly id: number; readonly symbol: number; readonly window: WindowName }
  /** The window has all trades of first..last that exist. */
  | {
      readonly kind: 'fill';
      readonly id: number;
      readonly symbol: number;
      readonly first: bigint;
      readonly last: bigint;
    };

type Step = readonly [WindowState, readonly WindowEffect[]];

/** The window was asked for a little after the time that is taken for its end, and times are whole seconds. */
const MARGIN_US = 5_000_000n;
/** A venue may cut a long list without a word; a list this short is whole. */
const SHORT = 500;
const ANSWERING = { times: 0, untilMs: 0 };

export function startWindows(settings: WindowSettings): WindowState {
  const nothing = { waiting: [], flights: [], later: new Map(), beyondReach: new Map(), silence: ANSWERING };
  return { settings, budget: startBudget(settings.limits), ...nothing, nextId: 1, turnedAway: 0, filled: 0 };
}

export function receive(state: WindowState, message: WindowMessage): Step {
  switch (message.kind) {
    case 'wanted':
      return launch(withWants(state, message.wants, message.nowUs), message, []);
    case 'page':
      return paged(state, message.id, message.page, message);
    case 'failed':
      return failed(state, message.id, message.status, message.retryAfterS, message);
  }
}

/** What a symbol wanted before is replaced by what it wants now. */
function withWants(state: WindowState, wants: readonly Want[], nowUs: bigint): WindowState {
  const waiting = new Map(state.waiting.map((want) => [want.symbol, want]));
  const beyondReach = new Map(state.beyondReach);
  let { turnedAway } = state;
  for (const { symbol, holes } of wants) {
    const reached = holes.filter(({ fromUs }) => windowFor(fromUs, nowUs) !== undefined);
    if (reached.length < holes.length) beyondReach.set(symbol, holes.length - reached.length);
    else beyondReach.delete(symbol);
    waiting.delete(symbol);
    if (reached.length === 0) continue;
    if (waiting.size >= state.settings.waitingMax) turnedAway++;
    else waiting.set(symbol, { symbol, holes: reached });
  }
  return { ...state, waiting: [...waiting.values()], beyondReach, turnedAway };
}

/** The shortest window that reaches back to a time; undefined when none does. */
function windowFor(fromUs: bigint, nowUs: bigint): WindowName | undefined {
  const names = Object.keys(WINDOWS_US) as WindowName[];
  return names.find((name) => nowUs - fromUs <= WINDOWS_US[name] - MARGIN_US);
}

function launch(state: WindowState, { nowMs, nowUs }: Times, before: readonly WindowEffect[]): Step {
  const effects = [...before];
  let now = state;
  const { requestWeight } = state.settings;
  if (nowMs < state.silence.untilMs) return [state, effects];
  for (const want of state.waiting) {
    const isLater = (now.later.get(want.symbol)?.atMs ?? 0) > nowMs;
    if (isLater || now.flights.some(({ symbol }) => symbol === want.symbol)) continue;
    const isFull = now.flights.length >= now.settings.concurrency;
    if (isFull || waitFor(now.budget, requestWeight, nowMs) > 0) break;
    const windows = want.holes.map(({ fromUs }) => windowFor(fromUs, nowUs) ?? 'day');
    const window: WindowName = (['day', 'hour'] as const).find((name) => windows.includes(name)) ?? 'minute';
    const flight = { ...want, id: now.nextId, window, askedUs: nowUs };
    effects.push({ kind: 'fetch', id: flight.id, symbol: want.symbol, window });
    now = {
      ...now,
      budget: spend(now.budget, requestWeight, nowMs),
      waiting: now.waiting.filter((other) => other !== want),
      flights: [...now.flights, flight],
      nextId: now.nextId + 1,
    };
  }
  return [now, effects];
}

function landed(state: WindowState, id: number): readonly [Flight | undefined, WindowState] {
  const flight = state.flights.find((one) => one.id === id);
  return [flight, { ...state, flights: state.flights.filter((one) => one.id !== id) }];
}

function paged(state: WindowState, id: number, page: WindowPage, times: Times): Step {
  const [flight, rest] = landed(state, id);
  if (flight === undefined) return [state, []];
  const proven = flight.holes.filter((hole) => isProven(hole, page, flight));
  const effects = proven.map(
    ({ first, last }): WindowEffect => ({ kind: 'fill', id, symbol: flight.symbol, first, last }),
  );
  const isDone = proven.length === flight.holes.length;
  const filled = { ...rest, filled: rest.filled + proven.length, silence: ANSWERING };
  const next = proven.length > 0 ? forgetTries(filled, flight.symbol) : filled;
  return launch(isDone ? next : tryLater(next, flight.symbol, times.nowMs), times, effects);
}

/** A trade beyond each end of the hole shows that the window lacks nothing of it; below, a short and long enough list does. */
function isProven({ first, last, fromUs }: MissingRange, page: WindowPage, { window, askedUs }: Flight): boolean {
  const isWhole = page.count < SHORT && askedUs - fromUs <= WINDOWS_US[window] - MARGIN_US;
  return page.count > 0 && page.newest > last && (page.oldest < first || isWhole);
}

function forgetTries(state: WindowState, symbol: number): WindowState {
  const later = new Map(state.later);
  later.delete(symbol);
  return { ...state, later };
}

function tryLater(state: WindowState, symbol: number, nowMs: number): WindowState {
  const { retryMinMs, retryMaxMs } = state.settings;
  const tries = (state.later.get(symbol)?.tries ?? 0) + 1;
  const atMs = nowMs + Math.min(retryMinMs * 2 ** Math.min(tries - 1, 10), retryMaxMs);
  return { ...state, later: new Map(state.later).set(symbol, { tries, atMs }) };
}

/** A venue that does not answer says nothing of the symbol: once it does, every symbol is asked for again. */
function failed(state: WindowState, id: number, status: number, retryAfterS: number | undefined, times: Times): Step {
  const [flight, rest] = landed(state, id);
  if (flight === undefined) return [state, []];
  const { nowMs } = times;
  if (isRefusal(status)) return launch(tryLater(rest, flight.symbol, nowMs), times, []);
  if (isLimit(status)) return launch({ ...rest, budget: blocked(rest.budget, status, retryAfterS, nowMs) }, times, []);
  const { retryMinMs, silentMaxMs } = rest.settings;
  const untilMs = nowMs + Math.min(retryMinMs * 2 ** Math.min(rest.silence.times, 10), silentMaxMs);
  return launch({ ...rest, silence: { times: rest.silence.times + 1, untilMs } }, times, []);
}
