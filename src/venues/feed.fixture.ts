import type { FeedEvidence } from '../protocols/venue.ts';

// Evidence as the tests of feeds put it together, event by event.

export type FeedEvent =
  | { readonly kind: 'requested'; readonly nowNs: number }
  | { readonly kind: 'acked'; readonly nowNs: number }
  | { readonly kind: 'frame'; readonly nowNs: number }
  | { readonly kind: 'alive'; readonly nowNs: number }
  | { readonly kind: 'lost'; readonly nowNs: number; readonly reason: string };

export const NO_EVIDENCE: FeedEvidence = {
  requestedNs: 0,
  ackedNs: 0,
  firstFrameNs: 0,
  lastFrameNs: 0,
  aliveNs: 0,
  downNs: 0,
  downReason: 'not requested yet',
};

/** Adds an event to the evidence. A new request starts from nothing: an old connection's frames prove nothing. */
export function witness(evidence: FeedEvidence, event: FeedEvent): FeedEvidence {
  const { nowNs } = event;
  switch (event.kind) {
    case 'requested':
      return { ...NO_EVIDENCE, requestedNs: nowNs, aliveNs: nowNs, downReason: '' };
    case 'acked':
      return { ...evidence, ackedNs: nowNs, aliveNs: nowNs, downNs: 0, downReason: '' };
    case 'frame':
      return { ...evidence, firstFrameNs: evidence.firstFrameNs || nowNs, lastFrameNs: nowNs, aliveNs: nowNs };
    case 'alive':
      return { ...evidence, aliveNs: nowNs };
    case 'lost':
      return { ...evidence, downNs: nowNs, downReason: event.reason };
  }
}
