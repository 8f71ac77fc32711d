// The state of one stream follows from what is known about it and what its venue lets us expect. It is computed, never
// stored, so it cannot disagree with the evidence.
//
//   requested        acked            first frame       silence             silence beyond the limit, or
//   subscribing ---> acked ---------> live <----------> quiet ------------> stale   no sign of life at all
//        |             |  silent from the start: quiet, then stale ("acked-then-silent")
//        +-------------+---------- refused, or connection lost -----------> down
//
// A stream whose latest frame could not be read is stale too, until one can: what it said before may not hold any more.
//
// Merging takes `live` and `quiet` books and leaves out the rest.
import type { Cadence, FeedEvidence, FeedPhase, FeedReason, FeedVerdict } from '../protocols/venue.ts';

const NS_PER_MS = 1e6;

/** Judges a stream by its evidence. `ackWithinMs` is the venue's. */
export function judgeFeed(cadence: Cadence, ackWithinMs: number, evidence: FeedEvidence, nowNs: number): FeedVerdict {
  if (evidence.downNs > 0 || evidence.requestedNs === 0) return verdict('down', 'down');
  if (evidence.lastFrameNs > 0) return judgeFlowing(cadence, evidence, nowNs);
  if (evidence.ackedNs > 0) return judgeSilent(cadence, evidence, nowNs);
  const ackDueNs = evidence.requestedNs + ackWithinMs * NS_PER_MS;
  return nowNs < ackDueNs ? verdict('subscribing', 'waiting-for-ack', ackDueNs) : verdict('stale', 'ack-overdue');
}

/** The stream is acked and has not sent a frame yet. */
function judgeSilent(cadence: Cadence, evidence: FeedEvidence, nowNs: number): FeedVerdict {
  const quietNs = evidence.ackedNs + cadence.quietAfterMs * NS_PER_MS;
  if (nowNs < quietNs) return verdict('acked', 'waiting-for-first-frame', quietNs);
  const patienceMs = cadence.kind === 'timer' ? cadence.staleAfterMs : cadence.firstFrameWithinMs;
  const staleNs = evidence.ackedNs + patienceMs * NS_PER_MS;
  if (nowNs >= staleNs) return verdict('stale', 'acked-then-silent');
  if (cadence.kind === 'timer') return verdict('quiet', 'acked-then-silent', staleNs);
  const proofEndsNs = evidence.aliveNs + cadence.evidenceWithinMs * NS_PER_MS;
  if (nowNs >= proofEndsNs) return verdict('stale', 'no-sign-of-life');
  return verdict('quiet', 'acked-then-silent', Math.min(staleNs, proofEndsNs));
}

/** The stream has sent frames. */
function judgeFlowing(cadence: Cadence, evidence: FeedEvidence, nowNs: number): FeedVerdict {
  const quietNs = evidence.lastFrameNs + cadence.quietAfterMs * NS_PER_MS;
  if (nowNs < quietNs) return verdict('live', 'frames-flow', quietNs);
  if (cadence.kind === 'timer') {
    const staleNs = evidence.lastFrameNs + cadence.staleAfterMs * NS_PER_MS;
    return nowNs < staleNs ? verdict('quiet', 'timer-missed', staleNs) : verdict('stale', 'timer-missed');
  }
  const proofEndsNs = evidence.aliveNs + cadence.evidenceWithinMs * NS_PER_MS;
  return nowNs < proofEndsNs
    ? verdict('quiet', 'no-change-but-alive', proofEndsNs)
    : verdict('stale', 'no-sign-of-life');
}

/** True while the stream's book may stand in a merged summary. */
export function isUsable(phase: FeedPhase): boolean {
  return phase === 'live' || phase === 'quiet';
}

function verdict(phase: FeedPhase, reason: FeedReason, nextNs?: number): FeedVerdict {
  return { phase, reason, nextNs };
}
