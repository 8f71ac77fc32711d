// Diffs that begin without a snapshot need one from REST to stand on.
//
//   buffering --snapshot that the buffer continues--> synced --gap--> buffering
//       ^  |
//       +--+ snapshot older than the first buffered diff: fetch again
import { judgeRange } from './sequence.ts';

export type DepthSync =
  | { readonly phase: 'buffering'; readonly firstU: bigint | undefined; readonly fetches: number }
  | { readonly phase: 'synced'; readonly applied: bigint };

export const UNSYNCED: DepthSync = { phase: 'buffering', firstU: undefined, fetches: 0 };

/** What to do with a diff. On 'resync' the book is dropped, the diff buffered, and a snapshot fetched. */
export function receiveDiff(
  state: DepthSync,
  first: bigint,
  last: bigint,
): [DepthSync, 'buffer' | 'apply' | 'ignore' | 'resync'] {
  if (state.phase === 'buffering') return [{ ...state, firstU: state.firstU ?? first }, 'buffer'];
  switch (judgeRange(state.applied, first, last)) {
    case 'duplicate':
      return [state, 'ignore'];
    case 'next':
      return [{ phase: 'synced', applied: last }, 'apply'];
    case 'gap':
      return [{ phase: 'buffering', firstU: first, fetches: 0 }, 'resync'];
  }
}

/**
 * What to do with a snapshot: 'use' it and run the buffered diffs through `receiveDiff`, or 'refetch' because diffs
 * between it and the buffer are missing. A snapshot that ends exactly one before the first buffered diff is good.
 */
export function receiveSnapshot(state: DepthSync, lastUpdateId: bigint): [DepthSync, 'use' | 'refetch'] {
  const firstU = state.phase === 'buffering' ? state.firstU : undefined;
  if (state.phase === 'buffering' && firstU !== undefined && lastUpdateId + 1n < firstU) {
    return [{ ...state, fetches: state.fetches + 1 }, 'refetch'];
  }
  return [{ phase: 'synced', applied: lastUpdateId }, 'use'];
}
