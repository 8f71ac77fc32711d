// How long silence is borne: the venue's facts say it, the operator may say otherwise.
import type { Cadence, Keepalive, StreamFacts } from '../protocols/venue.ts';
import type { Venue } from './venue.ts';

export interface Patience {
  /** For a book that comes on a timer: how long it may be silent. */
  readonly staleAfterMs: number;
  /** For streams that come on change: how long the connection may show no sign of life; null leaves it to the venue. */
  readonly aliveWithinMs: number | null;
}

/** Signs of life are asked for three times within the time in which one is needed. */
export const ASKED_WITHIN = 3;

/** The venue with the operator's times in place of its own. */
export function patientVenue(venue: Venue, patience: Patience): Venue {
  const { streams, keepalive } = venue.facts;
  const patient = Object.entries(streams).map(([kind, stream]) => [kind, patientStream(stream, patience)]);
  const facts = {
    ...venue.facts,
    streams: Object.fromEntries(patient),
    keepalive: patientKeepalive(keepalive, patience),
  };
  return { ...venue, facts };
}

function patientStream(stream: StreamFacts, patience: Patience): StreamFacts {
  return { ...stream, cadence: patientCadence(stream, patience) };
}

function patientCadence({ cadence, content }: StreamFacts, { staleAfterMs, aliveWithinMs }: Patience): Cadence {
  if (cadence.kind === 'change') {
    return aliveWithinMs === null ? cadence : { ...cadence, evidenceWithinMs: aliveWithinMs };
  }
  // A fifth of the time is worth showing.
  const quietAfterMs = Math.min(cadence.quietAfterMs, staleAfterMs / 5);
  return content === 'snapshot' ? { ...cadence, quietAfterMs, staleAfterMs } : cadence;
}

function patientKeepalive(keepalive: Keepalive, { aliveWithinMs }: Patience): Keepalive {
  if (keepalive.kind !== 'client-frame' || aliveWithinMs === null) return keepalive;
  return { ...keepalive, everyMs: Math.min(keepalive.everyMs, aliveWithinMs / ASKED_WITHIN) };
}
