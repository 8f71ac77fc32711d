// Make before break: a connection is replaced by opening its successor first.
//
//            rotate               opened, every stream covered
//   steady ---------> overlapping ----------------------------> steady (the successor)
//     ^                   |  |
//     |  successor failed |  +-- old one lost: the successor takes over as it is; what is not covered may have a hole
//     +-------------------+
//
// A stream is covered once nothing can fall between the two connections:
// - handed over by sequence: the successor's first frame continues what the old connection has delivered. Until then
//   only the old one delivers; from then on both do, and whichever is first wins.
// - handed over by snapshot: the successor has a snapshot of its own, and is not behind. It is waited for anew when it loses it.
// - silent on both: the successor is acked and the grace time is over. What the old connection still brings, and what owes a snapshot, is
//   waited for: a successor without it is no successor.
import type { SequenceVerdict } from '../protocols/venue.ts';
import { judgeRange } from './sequence.ts';

const NS_PER_MS = 1e6;
const NOTHING: ReadonlySet<string> = new Set();

export interface RotationLimits {
  /** A successor that does not cover everything in this time is given up. */
  readonly deadlineMs: number;
  /** How long an acked stream that is silent on both connections holds up the change. */
  readonly silentGraceMs: number;
}

export const ROTATION: RotationLimits = { deadlineMs: 30_000, silentGraceMs: 5_000 };

export type Rotation =
  | { readonly phase: 'steady'; readonly failures: number }
  | {
      readonly phase: 'overlapping';
      readonly reason: string;
      readonly sinceNs: number;
      readonly failures: number;
      readonly waitingFor: ReadonlySet<string>;
      /** When each waiting stream was acked on the successor. */
      readonly ackedNs: ReadonlyMap<string, number>;
    };

export type RotationEvent =
  | { readonly kind: 'rotate'; readonly reason: string; readonly streams: readonly string[]; readonly nowNs: number }
  | { readonly kind: 'acked' | 'covered' | 'uncovered' | 'gone'; readonly stream: string; readonly nowNs: number }
  | { readonly kind: 'successor-failed'; readonly nowNs: number }
  | { readonly kind: 'old-lost'; readonly nowNs: number }
  /** `owed` are streams that a successor must not be silent on. */
  | { readonly kind: 'tick'; readonly nowNs: number; readonly owed?: ReadonlySet<string> };

export type RotationEffect =
  | { readonly kind: 'open-successor' }
  | { readonly kind: 'close-successor'; readonly reason: string }
  /** The successor is the connection now; close the old one. `uncovered` streams may have lost updates. */
  | { readonly kind: 'promote'; readonly uncovered: readonly string[] }
  | { readonly kind: 'wake'; readonly atNs: number };

export const STEADY: Rotation = { phase: 'steady', failures: 0 };

export function rotate(
  limits: RotationLimits,
  state: Rotation,
  event: RotationEvent,
): [Rotation, readonly RotationEffect[]] {
  if (state.phase === 'steady') {
    if (event.kind !== 'rotate') return [state, []];
    const begun: Rotation = {
      phase: 'overlapping',
      reason: event.reason,
      sinceNs: event.nowNs,
      failures: state.failures,
      waitingFor: new Set(event.streams),
      ackedNs: new Map(),
    };
    return [begun, [{ kind: 'open-successor' }, { kind: 'wake', atNs: event.nowNs + limits.deadlineMs * NS_PER_MS }]];
  }
  switch (event.kind) {
    case 'rotate':
      return [state, []];
    case 'acked': {
      if (!state.waitingFor.has(event.stream)) return [state, []];
      const ackedNs = new Map(state.ackedNs).set(event.stream, event.nowNs);
      return [{ ...state, ackedNs }, [{ kind: 'wake', atNs: event.nowNs + limits.silentGraceMs * NS_PER_MS }]];
    }
    case 'covered':
    case 'gone':
      return settle({ ...state, waitingFor: without(state.waitingFor, [event.stream]) });
    case 'uncovered':
      return [{ ...state, waitingFor: new Set([...state.waitingFor, event.stream]) }, []];
    case 'old-lost':
      return [STEADY, [{ kind: 'promote', uncovered: [...state.waitingFor] }]];
    case 'successor-failed':
      return [{ phase: 'steady', failures: state.failures + 1 }, []];
    case 'tick':
      return tick(limits, state, event.nowNs, event.owed ?? NOTHING);
  }
}

type Overlapping = Extract<Rotation, { phase: 'overlapping' }>;

function settle(state: Overlapping): [Rotation, readonly RotationEffect[]] {
  return state.waitingFor.size === 0 ? [STEADY, [{ kind: 'promote', uncovered: [] }]] : [state, []];
}

function tick(
  limits: RotationLimits,
  state: Overlapping,
  nowNs: number,
  owed: ReadonlySet<string>,
): [Rotation, readonly RotationEffect[]] {
  const graceNs = limits.silentGraceMs * NS_PER_MS;
  const isSilent = ([stream, acked]: readonly [string, number]) => nowNs - acked >= graceNs && !owed.has(stream);
  const silent = [...state.ackedNs].filter(isSilent).map(([stream]) => stream);
  const settled = settle({ ...state, waitingFor: without(state.waitingFor, silent) });
  if (settled[0].phase === 'steady' || nowNs - state.sinceNs < limits.deadlineMs * NS_PER_MS) return settled;
  return [
    { phase: 'steady', failures: state.failures + 1 },
    [{ kind: 'close-successor', reason: `${state.waitingFor.size} streams not covered in ${limits.deadlineMs} ms` }],
  ];
}

function without(streams: ReadonlySet<string>, gone: readonly string[]): ReadonlySet<string> {
  return new Set([...streams].filter((stream) => !gone.includes(stream)));
}

/** The hand-over of one stream whose sequence numbers both connections share. */
export interface Handover {
  /** The last sequence number that was delivered to the consumer, from either connection. */
  readonly delivered: bigint;
  readonly covered: boolean;
  readonly duplicates: number;
  /** Sequence numbers that no connection delivered. Zero, unless the old connection died before the hand-over. */
  readonly lost: bigint;
}

export function beginHandover(delivered: bigint): Handover {
  return { delivered, covered: false, duplicates: 0, lost: 0n };
}

/** Offers a frame that carries the sequence numbers first..last; 'next' means: deliver it. */
export function admit(
  handover: Handover,
  from: 'old' | 'successor',
  first: bigint,
  last: bigint,
): [Handover, SequenceVerdict] {
  const verdict = judgeRange(handover.delivered, first, last);
  if (verdict === 'duplicate') {
    const covered = handover.covered || from === 'successor';
    return [{ ...handover, covered, duplicates: handover.duplicates + 1 }, 'duplicate'];
  }
  if (verdict === 'next') {
    const covered = handover.covered || from === 'successor';
    return [{ ...handover, covered, delivered: last }, 'next'];
  }
  // The successor runs ahead of what the old connection still has to deliver: its frame can wait for its turn.
  if (from === 'successor' && !handover.covered) return [handover, 'duplicate'];
  const lost = handover.lost + (first - handover.delivered - 1n);
  return [{ ...handover, delivered: last, lost }, 'gap'];
}

/** The old connection died: from here the successor delivers, and a hole is a hole. */
export function endHandover(handover: Handover): Handover {
  return { ...handover, covered: true };
}
