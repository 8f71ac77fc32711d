// Looks at the heartbeats of the pinned workers and at the evidence about every symbol's feed, once a period. It restarts a
// worker that stands still, and has the feed of a dead symbol subscribed again, each at most once per cool-down.
import { type FeedVerdict, NO_EVIDENCE, type SymbolEvidence, verdictOf, withTicker, withTrade } from './verdicts.ts';

export interface WatchdogSettings {
  readonly patienceMs: number;
  /** Between two attempts to revive the same worker or symbol. */
  readonly coolDownMs: number;
}

export interface WatchdogState {
  readonly settings: WatchdogSettings;
  readonly symbols: ReadonlyMap<string, SymbolEvidence>;
  readonly verdicts: ReadonlyMap<string, FeedVerdict>;
  /** When something was last asked for, by worker number or symbol. */
  readonly askedMs: ReadonlyMap<string, number>;
}

export type WatchdogMessage =
  | { readonly kind: 'symbols'; readonly symbols: readonly string[] }
  | { readonly kind: 'traded'; readonly symbols: readonly string[]; readonly nowMs: number }
  | { readonly kind: 'ticker'; readonly totals: ReadonlyMap<string, string>; readonly nowMs: number }
  /** The workers whose heartbeat stood still over the last looks. */
  | { readonly kind: 'look'; readonly stalled: readonly number[]; readonly nowMs: number };

export type WatchdogEffect =
  | { readonly kind: 'restart-worker'; readonly worker: number }
  | { readonly kind: 'resubscribe'; readonly symbol: string }
  | { readonly kind: 'verdict'; readonly symbol: string; readonly from: FeedVerdict; readonly to: FeedVerdict };

type Step = readonly [WatchdogState, readonly WatchdogEffect[]];

export function startWatchdog(settings: WatchdogSettings): WatchdogState {
  return { settings, symbols: new Map(), verdicts: new Map(), askedMs: new Map() };
}

export function receive(state: WatchdogState, message: WatchdogMessage): Step {
  switch (message.kind) {
    case 'symbols':
      return [{ ...state, symbols: keepOnly(state.symbols, message.symbols) }, []];
    case 'traded':
      return [updated(state, message.symbols, (known) => withTrade(known, message.nowMs)), []];
    case 'ticker':
      return [
        updated(state, [...message.totals.keys()], (known, symbol) =>
          withTicker(known, message.totals.get(symbol)!, message.nowMs),
        ),
        [],
      ];
    case 'look':
      return look(state, message.stalled, message.nowMs);
  }
}

function keepOnly(known: WatchdogState['symbols'], symbols: readonly string[]): WatchdogState['symbols'] {
  return new Map(symbols.map((symbol) => [symbol, known.get(symbol) ?? NO_EVIDENCE]));
}

/** Evidence about symbols that nobody serves is not collected: the ticker speaks of the whole market. */
function updated(
  state: WatchdogState,
  symbols: readonly string[],
  change: (known: SymbolEvidence, symbol: string) => SymbolEvidence,
): WatchdogState {
  const all = new Map(state.symbols);
  for (const symbol of symbols) {
    const known = all.get(symbol);
    if (known !== undefined) all.set(symbol, change(known, symbol));
  }
  return { ...state, symbols: all };
}

function look(state: WatchdogState, stalled: readonly number[], nowMs: number): Step {
  const effects: WatchdogEffect[] = [];
  const askedMs = new Map([...state.askedMs].filter(([, at]) => nowMs - at < state.settings.coolDownMs));
  const mayAsk = (key: string) => !askedMs.has(key) && askedMs.set(key, nowMs) !== undefined;
  for (const worker of stalled) if (mayAsk(`worker ${worker}`)) effects.push({ kind: 'restart-worker', worker });
  const verdicts = new Map<string, FeedVerdict>();
  for (const [symbol, evidence] of state.symbols) {
    const to = verdictOf(evidence, nowMs, state.settings.patienceMs);
    const from = state.verdicts.get(symbol) ?? 'unknown';
    verdicts.set(symbol, to);
    if (from !== to) effects.push({ kind: 'verdict', symbol, from, to });
    if (to === 'dead' && mayAsk(`symbol ${symbol}`)) effects.push({ kind: 'resubscribe', symbol });
  }
  return [{ ...state, askedMs, verdicts }, effects];
}
