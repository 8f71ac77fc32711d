// Coinbase numbers all frames of a connection with one counter: data, heartbeats and acks alike. One missing number
// makes every book of the connection doubtful.

import type { SequenceVerdict } from '../../protocols/venue.ts';
import { judgeDense } from '../sequence.ts';

/** `last` is undefined on a new connection, whose first frame is number 0. */
export function judgeFrame(last: number | undefined, next: number): SequenceVerdict {
  return judgeDense(BigInt(last ?? -1), BigInt(next));
}
