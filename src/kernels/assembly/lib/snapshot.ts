// A whole book as REST answers it, as one delta that begins a book anew: all levels, not only the kept ones.
import { CONTROL, DELTA_IS_SNAPSHOT, SIDE_ASK, SIDE_BID } from './contract';
import { field, hasPlainKeys, openFrameObject } from './json';
import { addDelta, finishDeltas } from './outcome';
import { changeCount, readChanges } from './sides';
import { failure, frame } from './state';
import { integerInto } from './values';

/** `{"lastUpdateId":1027024,"bids":[...],"asks":[...]}`, or the same with `microtimestamp`. */
export function decodeSnapshotFrame(route: u32, decimals: u32): i32 {
  if (!openFrameObject(frame) || !hasPlainKeys(0)) return failure;
  const update = field(0, 'lastUpdateId');
  const micros = field(0, 'microtimestamp');
  if (update == 0 && micros == 0) return CONTROL;
  const sequence = integerInto(update != 0 ? update : micros);
  const from = changeCount;
  if (failure != 0 || !readChanges(field(0, 'bids'), SIDE_BID, decimals)) return failure;
  if (!readChanges(field(0, 'asks'), SIDE_ASK, decimals)) return failure;
  addDelta(route, DELTA_IS_SNAPSHOT, from, 0, sequence, sequence, update != 0 ? 0 : sequence);
  return finishDeltas(sequence);
}
