// Watches the pinned workers by their heartbeats, and every symbol's feed by what the venue's ticker says of it. A worker
// that stands still is restarted once in each of its lives. While a feed is dead its bars are in doubt, and it is
// subscribed anew at most once per cool-down.
import type { FeedVerdict } from '../../protocols/console-api.ts';
import type { Ticker } from '../../protocols/venue.ts';
import { NO_EVIDENCE, type Patience, type SymbolEvidence, verdictOf, withFrames, withTicker } from './verdicts.ts';

export interface WatchdogRules extends Patience {
  /** Between two requests for the same symbol's stream. */
  readonly coolDownMs: number;
}

export interface WatchdogState {
  readonly rules: WatchdogRules;
  readonly symbols: ReadonlyMap<string, SymbolEvidence>;
  readonly verdicts: ReadonlyMap<string, FeedVerdict>;
  /** When a symbol's stream was last asked for. */
  readonly askedMs: ReadonlyMap<string, number>;
  /** The life in which each worker was last found standing still. */
  readonly stalledLives: ReadonlyMap<number, number>;
  readonly restarts: number;
  readonly resubscriptions: number;
}

export interface StalledWorker {
  readonly worker: number;
  readonly life: number;
}

export type WatchdogMessage =
  /** Tickers that changed, by symbol; those of symbols that nobody serves are passed over. */
  | { readonly kind: 'tickers'; readonly tickers: ReadonlyMap<string, Ticker>; readonly nowMs: number }
  /** Time to judge: every symbol that is served, with the frames of its stream so far. */
  | { readonly kind: 'judge'; readonly frames: ReadonlyMap<string, number>; readonly nowMs: number }
  | { readonly kind: 'stalled'; readonly workers: readonly StalledWorker[] };

export type WatchdogEffect =
  | { readonly kind: 'restart-worker'; readonly worker: number }
  | { readonly kind: 'resubscribe'; readonly symbol: string }
  /** Trades of the symbol are missing, nobody knows how many. */
  | { readonly kind: 'doubt'; readonly symbol: string };

type Step = readonly [WatchdogState, readonly WatchdogEffect[]];

export function startWatchdog(rules: WatchdogRules): WatchdogState {
  const nothing = { symbols: new Map(), verdicts: new Map(), askedMs: new Map(), stalledLives: new Map() };
  return { rules, ...nothing, restarts: 0, resubscriptions: 0 };
}

export function receive(state: WatchdogState, message: WatchdogMessage): Step {
  switch (message.kind) {
    case 'tickers':
      return [withTickers(state, message.tickers, message.nowMs), []];
    case 'judge':
      return judge(state, message.frames, message.nowMs);
    case 'stalled':
      return restart(state, message.workers);
  }
}

function withTickers(state: WatchdogState, tickers: ReadonlyMap<string, Ticker>, nowMs: number): WatchdogState {
  const symbols = new Map(state.symbols);
  for (const [symbol, ticker] of tickers) {
    const known = symbols.get(symbol);
    if (known !== undefined) symbols.set(symbol, withTicker(known, ticker, nowMs, state.rules.tickerLagMs));
  }
  return { ...state, symbols };
}

function judge(state: WatchdogState, frames: ReadonlyMap<string, number>, nowMs: number): Step {
  const symbols = new Map<string, SymbolEvidence>();
  const verdicts = new Map<string, FeedVerdict>();
  const askedMs = new Map([...state.askedMs].filter(([, at]) => nowMs - at < state.rules.coolDownMs));
  const effects: WatchdogEffect[] = [];
  for (const [symbol, count] of frames) {
    const evidence = withFrames(state.symbols.get(symbol) ?? NO_EVIDENCE, count, nowMs);
    const verdict = verdictOf(evidence, nowMs, state.rules);
    symbols.set(symbol, evidence);
    verdicts.set(symbol, verdict);
    if (verdict !== 'dead') continue;
    effects.push({ kind: 'doubt', symbol });
    if (askedMs.has(symbol)) continue;
    askedMs.set(symbol, nowMs);
    effects.push({ kind: 'resubscribe', symbol });
  }
  const resubscriptions = state.resubscriptions + effects.filter(({ kind }) => kind === 'resubscribe').length;
  return [{ ...state, symbols, verdicts, askedMs, resubscriptions }, effects];
}

/** How soon and how often a worker may begin anew, its supervisor decides. */
function restart(state: WatchdogState, workers: readonly StalledWorker[]): Step {
  const fresh = workers.filter(({ worker, life }) => state.stalledLives.get(worker) !== life);
  const stalledLives = new Map(state.stalledLives);
  for (const { worker, life } of fresh) stalledLives.set(worker, life);
  const effects = fresh.map(({ worker }): WatchdogEffect => ({ kind: 'restart-worker', worker }));
  return [{ ...state, stalledLives, restarts: state.restarts + fresh.length }, effects];
}
