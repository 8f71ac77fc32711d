// Is this frame the next one? Small rules over numbers, one for each way in which venues let us know.
import type { SequenceVerdict } from '../protocols/venue.ts';

/**
 * Ranges first..last that must touch or overlap what is already applied. The same rule serves for the first diff after
 * a snapshot: with a snapshot at 160, a diff 157..163 is next, so is 161..170, and 162..170 is a gap.
 */
export function judgeRange(applied: bigint, first: bigint, last: bigint): SequenceVerdict {
  if (last <= applied) return 'duplicate';
  return first <= applied + 1n ? 'next' : 'gap';
}

/**
 * One counter over all frames of a connection, data, heartbeats and acks alike: a missing number makes every book of the
 * connection doubtful. `last` is undefined on a new connection: what its first frame is called is the venue's affair.
 */
export function judgeCounted(last: number | undefined, next: number): SequenceVerdict {
  if (last === undefined || next === last + 1) return 'next';
  return next <= last ? 'duplicate' : 'gap';
}
