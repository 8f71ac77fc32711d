// Whether a symbol's feed is dead or the symbol merely quiet. Its own stream cannot tell; the venue's ticker can: it shows
// trading on a stream of its own.
//
//   live     a trade came within the patience
//   quiet    no trade came, and the ticker shows none either
//   dead     the ticker showed a trade that has not come, for longer than the patience
//   unknown  the venue has no ticker for all its symbols, or it has not spoken of this one: nobody can say
//
// Worked, with a lag of 3 s and a patience of 10 s: a trade at 0 s moves the ticker at 1 s, which is that trade's own
// movement. The ticker moves at 60 s and no trade comes: dead at 70 s.
import type { FeedVerdict } from '../../protocols/console-api.ts';
import type { Ticker } from '../../protocols/venue.ts';

export interface SymbolEvidence {
  /** Frames of the symbol's stream so far, and when that number last changed; 0 if never. */
  readonly frames: number;
  readonly lastTradeMs: number;
  /** When the ticker first showed a trade that has not come; 0 while there is none. */
  readonly unansweredMs: number;
  readonly ticker: Ticker | undefined;
}

export interface Patience {
  /** How long a trade that the ticker showed may take. */
  readonly patienceMs: number;
  /** How long after a trade the ticker may still be moved by it. */
  readonly tickerLagMs: number;
}

export const NO_EVIDENCE: SymbolEvidence = { frames: 0, lastTradeMs: 0, unansweredMs: 0, ticker: undefined };

export function withTicker(evidence: SymbolEvidence, ticker: Ticker, nowMs: number, lagMs: number): SymbolEvidence {
  const isAnswered = nowMs - evidence.lastTradeMs <= lagMs;
  const showsTrade = evidence.ticker !== undefined && hasTraded(evidence.ticker, ticker);
  const unansweredMs = showsTrade && !isAnswered && evidence.unansweredMs === 0 ? nowMs : evidence.unansweredMs;
  return { ...evidence, ticker, unansweredMs };
}

/** The volume also falls by itself, as trades of the day before leave the 24 hours. */
function hasTraded(before: Ticker, now: Ticker): boolean {
  return now.close !== before.close || Number(now.volume) > Number(before.volume);
}

/** A stream that was opened anew counts its frames from nought. */
export function withFrames(evidence: SymbolEvidence, frames: number, nowMs: number): SymbolEvidence {
  if (frames === evidence.frames) return evidence;
  return frames === 0 ? { ...evidence, frames } : { ...evidence, frames, lastTradeMs: nowMs, unansweredMs: 0 };
}

export function verdictOf(evidence: SymbolEvidence, nowMs: number, { patienceMs }: Patience): FeedVerdict {
  const { lastTradeMs, unansweredMs, ticker } = evidence;
  if (unansweredMs > 0 && nowMs - unansweredMs > patienceMs) return 'dead';
  if (lastTradeMs > 0 && nowMs - lastTradeMs <= patienceMs) return 'live';
  return ticker === undefined ? 'unknown' : 'quiet';
}
