import type { KernelIngestSettings } from '../../protocols/topology.ts';

// The reader of one stream: when to read what. No clock, no socket; what it wants done, it returns.
//
//   preparing --group exists--> recovering --own pending entries are read--> live
//       ^                           |                                          |
//       |                           | Redis out, group gone                    |
//       '--- time passes --- resting <-----------------------------------------'
//
// recovering: entries that were delivered to this consumer before and never acknowledged, oldest first.
// live:       new entries, for as long as there is room. Back-pressure is not reading: Redis holds the backlog.
//
// A recovery that ended the process before is repeated in ever smaller reads, each settled before the next, so that an
// entry that kills the kernel ends up alone and its neighbours are not blamed for it.

export type ReaderPhase = 'preparing' | 'recovering' | 'live' | 'resting' | 'stopping';

export interface ReaderState {
  readonly phase: ReaderPhase;
  /** Recovery has read everything up to this id. */
  readonly cursor: string;
  readonly reading: boolean;
  readonly inFlightRows: number;
  readonly inFlightBytes: number;
  /** The last recovery read was a careful one: it must settle before the next. */
  readonly careful: boolean;
  /** The lane below can neither store nor spill. */
  readonly pressure: boolean;
  readonly failuresInARow: number;
  readonly trouble: string | undefined;
}

export type ReaderMessage =
  | { readonly kind: 'prepared' }
  | {
      readonly kind: 'read';
      readonly rows: number;
      readonly bytes: number;
      readonly last: string | undefined;
      readonly careful: boolean;
    }
  | { readonly kind: 'claimed'; readonly rows: number; readonly bytes: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'released'; readonly rows: number; readonly bytes: number }
  | { readonly kind: 'pressure'; readonly on: boolean }
  | { readonly kind: 'rested' }
  | { readonly kind: 'claim-due' }
  | { readonly kind: 'stop' };

export type ReaderEffect =
  | { readonly kind: 'prepare' }
  | { readonly kind: 'read-pending'; readonly after: string; readonly count: number }
  | { readonly kind: 'read-new'; readonly count: number; readonly dropping: boolean }
  | { readonly kind: 'claim' }
  | { readonly kind: 'rest'; readonly afterMs: number };

type Settings = Pick<KernelIngestSettings, 'readCount' | 'inFlightMessages' | 'inFlightBytes'> & {
  /** Some event type may be dropped under pressure. */
  readonly mayDrop: boolean;
};
type Step = readonly [ReaderState, readonly ReaderEffect[]];

const REST_MIN_MS = 100;
const REST_MAX_MS = 5_000;

export function initialReader(): Step {
  const state: ReaderState = {
    phase: 'preparing',
    cursor: '0-0',
    reading: false,
    inFlightRows: 0,
    inFlightBytes: 0,
    careful: false,
    pressure: false,
    failuresInARow: 0,
    trouble: undefined,
  };
  return [state, [{ kind: 'prepare' }]];
}

export function receiveReader(state: ReaderState, message: ReaderMessage, settings: Settings): Step {
  switch (message.kind) {
    case 'prepared':
      if (state.phase !== 'preparing') return [state, []];
      return proceed({ ...state, phase: 'recovering', cursor: '0-0', trouble: undefined }, settings);
    case 'read':
      return read(state, message, settings);
    case 'claimed':
      return [grown(state, message), []];
    case 'released': {
      const inFlightRows = state.inFlightRows - message.rows;
      return proceed({ ...state, inFlightRows, inFlightBytes: state.inFlightBytes - message.bytes }, settings);
    }
    case 'failed':
      return failed(state, message.reason);
    case 'pressure':
      return proceed({ ...state, pressure: message.on }, settings);
    case 'rested':
      return state.phase === 'resting' ? [{ ...state, phase: 'preparing' }, [{ kind: 'prepare' }]] : [state, []];
    case 'claim-due':
      return state.phase === 'live' && hasRoom(state, settings) ? [state, [{ kind: 'claim' }]] : [state, []];
    case 'stop':
      return [{ ...state, phase: 'stopping' }, []];
  }
}

function grown(state: ReaderState, by: { readonly rows: number; readonly bytes: number }): ReaderState {
  return { ...state, inFlightRows: state.inFlightRows + by.rows, inFlightBytes: state.inFlightBytes + by.bytes };
}

function read(
  state: ReaderState,
  message: {
    readonly rows: number;
    readonly bytes: number;
    readonly last: string | undefined;
    readonly careful: boolean;
  },
  settings: Settings,
): Step {
  const next = { ...grown(state, message), reading: false, failuresInARow: 0, careful: message.careful };
  if (state.phase !== 'recovering') return proceed(next, settings);
  const done = message.last === undefined;
  return proceed(done ? { ...next, phase: 'live', careful: false } : { ...next, cursor: message.last }, settings);
}

function failed(state: ReaderState, reason: string): Step {
  if (state.phase === 'stopping') return [{ ...state, reading: false }, []];
  const failuresInARow = state.failuresInARow + 1;
  // 100, 200, 400 ... 5,000, 5,000 ms; what runs the timer adds jitter.
  const afterMs = Math.min(REST_MIN_MS * 2 ** Math.min(failuresInARow - 1, 10), REST_MAX_MS);
  return [{ ...state, phase: 'resting', reading: false, failuresInARow, trouble: reason }, [{ kind: 'rest', afterMs }]];
}

function hasRoom(state: ReaderState, settings: Settings): boolean {
  return state.inFlightRows < settings.inFlightMessages && state.inFlightBytes < settings.inFlightBytes;
}

function proceed(state: ReaderState, settings: Settings): Step {
  if (state.reading) return [state, []];
  if (state.phase === 'recovering') {
    if (state.careful && state.inFlightRows > 0) return [state, []];
    if (!hasRoom(state, settings)) return [state, []];
    return [{ ...state, reading: true }, [{ kind: 'read-pending', after: state.cursor, count: settings.readCount }]];
  }
  if (state.phase !== 'live') return [state, []];
  const dropping = state.pressure && settings.mayDrop && !hasRoom(state, settings);
  // Rows that may not be dropped are kept while others are, up to twice the room.
  const cap = dropping ? 2 * settings.inFlightMessages : settings.inFlightMessages;
  const count = Math.min(settings.readCount, cap - state.inFlightRows);
  if (count <= 0 || (!dropping && !hasRoom(state, settings))) return [state, []];
  return [{ ...state, reading: true }, [{ kind: 'read-new', count, dropping }]];
}

/**
 * How many entries a recovery may read at once, given how often the most delivered of them was delivered. With readCount
 * 1,000 and poisonAfter 5: 1,000 up to 4 deliveries, then 500, 250, 125 ... and 1 from the 14th on.
 */
export function recoveryCount(readCount: number, deliveriesMax: number, poisonAfter: number): number {
  if (deliveriesMax < poisonAfter) return readCount;
  return Math.max(1, Math.floor(readCount / 2 ** Math.min(deliveriesMax - poisonAfter + 1, 31)));
}
