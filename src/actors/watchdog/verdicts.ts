// Whether a symbol's feed is dead or the symbol merely quiet. Its own trades cannot tell; the venue's ticker can: it shows
// trading (its volume or last price moves) on a stream of its own.
//
//   live   a trade came since the last look, or within the patience
//   quiet  no trade came, and the ticker did not move either
//   dead   the ticker moved and no trade came for longer than the patience
//   unknown  no ticker has been seen, so nobody can say

export type FeedVerdict = 'live' | 'quiet' | 'dead' | 'unknown';

export interface SymbolEvidence {
  /** Of the last trade that we have, and of the last movement of the ticker; 0 if never. */
  readonly lastTradeMs: number;
  readonly tickerMovedMs: number;
  /** The ticker's trade total when it last moved. */
  readonly tickerTotal: string | undefined;
}

export const NO_EVIDENCE: SymbolEvidence = { lastTradeMs: 0, tickerMovedMs: 0, tickerTotal: undefined };

/** A ticker counts as moved when its total differs from the one before; the first one only sets the mark. */
export function withTicker(evidence: SymbolEvidence, total: string, nowMs: number): SymbolEvidence {
  if (evidence.tickerTotal === total) return evidence;
  const tickerMovedMs = evidence.tickerTotal === undefined ? evidence.tickerMovedMs : nowMs;
  return { ...evidence, tickerTotal: total, tickerMovedMs };
}

export function withTrade(evidence: SymbolEvidence, nowMs: number): SymbolEvidence {
  return { ...evidence, lastTradeMs: nowMs };
}

/** The ticker comes about once a second and may run ahead of a trade: the patience covers that. */
export function verdictOf(evidence: SymbolEvidence, nowMs: number, patienceMs: number): FeedVerdict {
  const { lastTradeMs, tickerMovedMs, tickerTotal } = evidence;
  if (lastTradeMs > 0 && nowMs - lastTradeMs <= patienceMs) return 'live';
  if (tickerTotal === undefined) return 'unknown';
  const unanswered = tickerMovedMs > lastTradeMs && tickerMovedMs - lastTradeMs > patienceMs;
  return unanswered ? 'dead' : 'quiet';
}
