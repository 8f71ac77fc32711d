import {
  type EventBatch,
  type EventRow,
  NOTHING_SETTLED,
  type RefusedRow,
  rowBytes,
  type Settlement,
  typeOf,
} from '../../protocols/ingest.ts';
import type { SinkSettings } from '../../protocols/topology.ts';
import { type Fault, faultOf, type WriteFailure } from './sqlstate.ts';

// One lane of the sink: rows in, durable rows out, in order. No clock, no socket; what it wants done, it returns.
//
//            outage, or tables that do not fit
//   flowing -----------------------------------> spilling <---.
//      ^                                            |         | outage again
//      | backlog empty                 Postgres     v         |
//      '----------------------------------------- draining ---'
//
// flowing:  batches go to Postgres, one at a time; while one is written the next one fills.
// spilling: batches go to the spill; a probe asks after Postgres, less and less often.
// draining: the spill is replayed, oldest first. New rows join its tail, so that none overtakes an older one; once the
//           backlog is shorter than two batches they wait instead, and the last of it is drained.
//
// A spill that refuses (quota, disk) blocks the lane: nothing is settled, so the reader stops reading.

export type SinkMode = 'flowing' | 'spilling' | 'draining';

/** Rows on their way to Postgres, in parts: a batch that holds a bad row is halved until the row stands alone. */
interface Work {
  readonly origin: 'live' | 'replay';
  /** The first is being written; the others wait. */
  readonly parts: readonly (readonly EventRow[])[];
  /** Refused rows wait here until some row was stored: when none is, the tables are at fault, not the rows. */
  readonly refused: readonly RefusedRow[];
  readonly storedAny: boolean;
  readonly attempts: number;
}

export interface Trouble {
  readonly fault: Fault;
  readonly reason: string;
}

export interface SinkState {
  readonly mode: SinkMode;
  readonly waiting: readonly EventRow[];
  readonly waitingBytes: number;
  /** The oldest waiting row has waited long enough. */
  readonly due: boolean;
  readonly lingering: boolean;
  readonly work: Work | undefined;
  readonly appending: readonly EventRow[] | undefined;
  readonly replaying: boolean;
  /** Records in the spill that are not yet stored. */
  readonly backlog: number;
  readonly blocked: string | undefined;
  readonly failuresInARow: number;
  readonly probeMs: number;
  /** Why the lane is not flowing, or was not until the last write that went well. */
  readonly trouble: Trouble | undefined;
  /** Adapts between ROWS_MIN and the configured maximum, to keep a write near TARGET_MS. */
  readonly rowsMax: number;
  /** How long writes take lately: a batch waits half of that to fill, and never longer than configured. */
  readonly writeMs: number;
  readonly flushing: boolean;
}

export type SinkMessage =
  | { readonly kind: 'store'; readonly batch: EventBatch }
  | { readonly kind: 'lingered' }
  | { readonly kind: 'written'; readonly duplicates: number; readonly elapsedMs: number }
  | { readonly kind: 'write-failed'; readonly failure: WriteFailure }
  | { readonly kind: 'retry' }
  | { readonly kind: 'spilled'; readonly backlog: number }
  | { readonly kind: 'spill-refused'; readonly reason: string }
  | { readonly kind: 'spill-retry' }
  | { readonly kind: 'probe' }
  | { readonly kind: 'probed'; readonly failure: WriteFailure | undefined; readonly backlog: number }
  | { readonly kind: 'replayed'; readonly rows: readonly EventRow[] }
  | { readonly kind: 'replay-committed'; readonly backlog: number }
  /** Under extreme pressure: gives up the oldest waiting rows of these types. */
  | { readonly kind: 'evict'; readonly types: ReadonlySet<string>; readonly rows: number }
  | { readonly kind: 'flush' };

export type SinkEffect =
  | { readonly kind: 'write'; readonly rows: readonly EventRow[] }
  | { readonly kind: 'spill'; readonly rows: readonly EventRow[] }
  | { readonly kind: 'settle'; readonly settlement: Settlement }
  /** A replayed row that Postgres refuses: its entry was acknowledged long ago, so only the dead letter is written. */
  | { readonly kind: 'bury'; readonly refused: readonly RefusedRow[] }
  | { readonly kind: 'stored-replayed'; readonly rows: number; readonly duplicates: number }
  | { readonly kind: 'arm'; readonly timer: 'lingered' | 'retry' | 'probe' | 'spill-retry'; readonly afterMs: number }
  | { readonly kind: 'probe' }
  | { readonly kind: 'replay'; readonly rowsMax: number }
  | { readonly kind: 'commit-replay' }
  | { readonly kind: 'rewind' }
  | { readonly kind: 'pressure'; readonly on: boolean };

type Settings = Pick<SinkSettings, 'batchRows' | 'batchBytes' | 'batchTimeMs' | 'contentionRetries' | 'breaker'>;
type Step = readonly [SinkState, readonly SinkEffect[]];

const ROWS_MIN = 100;
const TARGET_MS = 100;
const CONTENTION_WAIT_MS = 20;
const SPILL_RETRY_MS = 1_000;
/** So many rows in a row, none stored: the tables are at fault. */
const REFUSED_SUSPICIOUS = 16;

/** Starts to flow, to drain, or, where the first look at Postgres failed, to spill. */
export function initialSink(settings: Settings, failure: WriteFailure | undefined, backlog: number): Step {
  const isUp = failure === undefined;
  const state: SinkState = {
    mode: isUp ? (backlog > 0 ? 'draining' : 'flowing') : 'spilling',
    waiting: [],
    waitingBytes: 0,
    due: false,
    lingering: false,
    work: undefined,
    appending: undefined,
    replaying: false,
    backlog,
    blocked: undefined,
    failuresInARow: 0,
    probeMs: settings.breaker.probeMinMs,
    trouble: isUp ? undefined : troubleOf(failure),
    rowsMax: Math.min(settings.batchRows, 1_000),
    writeMs: 0,
    flushing: false,
  };
  const probing: readonly SinkEffect[] = isUp ? [] : [{ kind: 'arm', timer: 'probe', afterMs: state.probeMs }];
  return proceed(state, settings, probing);
}

export function receiveSink(state: SinkState, message: SinkMessage, settings: Settings): Step {
  switch (message.kind) {
    case 'store':
      return proceed(
        {
          ...state,
          waiting: [...state.waiting, ...message.batch.rows],
          waitingBytes: state.waitingBytes + message.batch.bytes,
        },
        settings,
      );
    case 'lingered':
      return proceed({ ...state, lingering: false, due: true }, settings);
    case 'evict':
      return evict(state, message.types, message.rows);
    case 'flush':
      return proceed({ ...state, flushing: true }, settings);
    case 'written':
      return partWritten(state, message.duplicates, message.elapsedMs, settings);
    case 'write-failed':
      return partFailed(state, message.failure, settings);
    case 'retry':
      return state.work === undefined ? [state, []] : [state, [{ kind: 'write', rows: state.work.parts[0]! }]];
    case 'spilled':
      return spilled(state, message.backlog, settings);
    case 'spill-refused':
      return spillRefused(state, message.reason);
    case 'spill-retry':
      return proceed(
        { ...state, blocked: undefined },
        settings,
        state.blocked === undefined ? [] : [{ kind: 'pressure', on: false }],
      );
    case 'probe':
      return state.mode === 'spilling' ? [state, [{ kind: 'probe' }]] : [state, []];
    case 'probed':
      return probed(state, message, settings);
    case 'replayed':
      return replayed(state, message.rows, settings);
    case 'replay-committed':
      return proceed({ ...state, replaying: false, backlog: message.backlog }, settings);
  }
}

/** Starts whatever the state allows to start. */
function proceed(state: SinkState, settings: Settings, before: readonly SinkEffect[] = []): Step {
  if (state.mode === 'flowing') return flow(state, settings, before);
  if (state.mode === 'draining') {
    const [next, effects] = drain(state, before);
    return next.mode === 'flowing' ? flow(next, settings, effects) : spillWaiting(next, effects);
  }
  return spillWaiting(state, before);
}

function flow(state: SinkState, settings: Settings, before: readonly SinkEffect[]): Step {
  if (state.work !== undefined || state.waiting.length === 0) return [state, before];
  const full = state.waiting.length >= state.rowsMax || state.waitingBytes >= settings.batchBytes;
  if (!full && !state.due && !state.flushing) {
    if (state.lingering) return [state, before];
    return [
      { ...state, lingering: true },
      [...before, { kind: 'arm', timer: 'lingered', afterMs: lingerMs(state, settings) }],
    ];
  }
  const [rows, next] = take(state, settings.batchBytes);
  return [
    { ...next, due: false, work: { origin: 'live', parts: [rows], refused: [], storedAny: false, attempts: 0 } },
    [...before, { kind: 'write', rows }],
  ];
}

/**
 * A commit costs about the same for ten rows as for a hundred, so rows wait for company, but less than the commit itself
 * will take them: 1 ms where writes take up to 2 ms, 10 where they take 20, at most what is configured.
 */
function lingerMs({ writeMs }: SinkState, { batchTimeMs }: Settings): number {
  return Math.min(batchTimeMs, Math.max(1, Math.round(writeMs / 2)));
}

/** The next batch from the waiting rows: at most rowsMax of them and about bytesMax bytes. */
function take(state: SinkState, bytesMax: number): readonly [readonly EventRow[], SinkState] {
  let count = 0;
  let bytes = 0;
  while (count < state.waiting.length && count < state.rowsMax && (count === 0 || bytes < bytesMax)) {
    bytes += rowBytes(state.waiting[count]!);
    count++;
  }
  const rows = state.waiting.slice(0, count);
  return [rows, { ...state, waiting: state.waiting.slice(count), waitingBytes: state.waitingBytes - bytes }];
}

function drain(state: SinkState, before: readonly SinkEffect[]): Step {
  if (state.replaying || state.work !== undefined) return [state, before];
  if (state.backlog > 0)
    return [{ ...state, replaying: true }, [...before, { kind: 'replay', rowsMax: state.rowsMax }]];
  // Rows that are being appended right now are backlog too.
  if (state.appending !== undefined) return [state, before];
  const unblocked: readonly SinkEffect[] = state.blocked === undefined ? [] : [{ kind: 'pressure', on: false }];
  return [{ ...state, mode: 'flowing', due: true, blocked: undefined, trouble: undefined }, [...before, ...unblocked]];
}

function spillWaiting(state: SinkState, before: readonly SinkEffect[]): Step {
  if (state.appending !== undefined || state.blocked !== undefined || state.waiting.length === 0)
    return [state, before];
  const shortBacklog = state.mode === 'draining' && state.backlog < 2 * state.rowsMax;
  if (shortBacklog) return [state, before];
  const [rows, next] = take(state, Number.POSITIVE_INFINITY);
  return [{ ...next, appending: rows }, [...before, { kind: 'spill', rows }]];
}

function spilled(state: SinkState, backlog: number, settings: Settings): Step {
  const settlement: Settlement = { ...NOTHING_SETTLED, spilled: state.appending ?? [] };
  return proceed({ ...state, appending: undefined, backlog }, settings, [{ kind: 'settle', settlement }]);
}

function spillRefused(state: SinkState, reason: string): Step {
  const rows = state.appending ?? [];
  return [
    { ...putBack(state, rows), appending: undefined, blocked: reason },
    [
      { kind: 'pressure', on: true },
      { kind: 'arm', timer: 'spill-retry', afterMs: SPILL_RETRY_MS },
    ],
  ];
}

function putBack(state: SinkState, rows: readonly EventRow[]): SinkState {
  const bytes = rows.reduce((sum, row) => sum + rowBytes(row), 0);
  return { ...state, waiting: [...rows, ...state.waiting], waitingBytes: state.waitingBytes + bytes };
}

function evict(state: SinkState, types: ReadonlySet<string>, rows: number): Step {
  const dropped = state.waiting.filter((row) => types.has(typeOf(row))).slice(0, rows);
  if (dropped.length === 0) return [state, []];
  const gone = new Set(dropped);
  const waiting = state.waiting.filter((row) => !gone.has(row));
  const waitingBytes = waiting.reduce((sum, row) => sum + rowBytes(row), 0);
  return [{ ...state, waiting, waitingBytes }, [{ kind: 'settle', settlement: { ...NOTHING_SETTLED, dropped } }]];
}

const troubleOf = (failure: WriteFailure): Trouble => ({ fault: faultOf(failure), reason: failure.reason });

const slower = (state: SinkState, settings: Settings) => Math.min(state.probeMs * 2, settings.breaker.probeMaxMs);

function probed(
  state: SinkState,
  answer: { readonly failure: WriteFailure | undefined; readonly backlog: number },
  settings: Settings,
): Step {
  if (state.mode !== 'spilling') return [state, []];
  if (answer.failure !== undefined) {
    const probeMs = slower(state, settings);
    const trouble = troubleOf(answer.failure);
    return [{ ...state, probeMs, trouble }, [{ kind: 'arm', timer: 'probe', afterMs: probeMs }]];
  }
  return proceed({ ...state, mode: 'draining', backlog: answer.backlog }, settings);
}

function replayed(state: SinkState, rows: readonly EventRow[], settings: Settings): Step {
  if (state.mode !== 'draining') return proceed({ ...state, replaying: false }, settings, [{ kind: 'rewind' }]);
  // A part of a segment may hold nothing but damage; it is committed like any other, so that the segment can go.
  if (rows.length === 0) return [state, [{ kind: 'commit-replay' }]];
  const work: Work = { origin: 'replay', parts: [rows], refused: [], storedAny: false, attempts: 0 };
  return [{ ...state, work }, [{ kind: 'write', rows }]];
}

function partWritten(state: SinkState, duplicates: number, elapsedMs: number, settings: Settings): Step {
  const { work } = state;
  if (work === undefined) return [state, []];
  const [rows = [], ...parts] = work.parts;
  const rowsMax = adapted(state.rowsMax, rows.length, elapsedMs, settings.batchRows);
  const writeMs = state.writeMs * 0.75 + elapsedMs * 0.25;
  const healthy = {
    ...state,
    rowsMax,
    writeMs,
    failuresInARow: 0,
    probeMs: settings.breaker.probeMinMs,
    trouble: undefined,
  };
  const done: SinkEffect =
    work.origin === 'live'
      ? { kind: 'settle', settlement: { ...NOTHING_SETTLED, stored: rows, duplicates } }
      : { kind: 'stored-replayed', rows: rows.length, duplicates };
  return nextPart({ ...healthy, work: { ...work, parts, storedAny: true, attempts: 0 } }, settings, [done]);
}

/** Full batches that are fast grow, slow ones shrink: 1,000, 2,000 ... up to the maximum; 1,000, 500 ... down to 100. */
function adapted(rowsMax: number, rows: number, elapsedMs: number, most: number): number {
  if (elapsedMs > TARGET_MS * 2) return Math.max(Math.min(ROWS_MIN, most), rowsMax >> 1);
  return rows >= rowsMax && elapsedMs < TARGET_MS ? Math.min(most, rowsMax * 2) : rowsMax;
}

function nextPart(state: SinkState, settings: Settings, before: readonly SinkEffect[]): Step {
  const work = state.work!;
  const [rows] = work.parts;
  if (rows !== undefined) return [state, [...before, { kind: 'write', rows }]];
  const refused: readonly SinkEffect[] =
    work.refused.length === 0
      ? []
      : work.origin === 'live'
        ? [{ kind: 'settle', settlement: { ...NOTHING_SETTLED, refused: work.refused } }]
        : [{ kind: 'bury', refused: work.refused }];
  const committed: readonly SinkEffect[] = work.origin === 'replay' ? [{ kind: 'commit-replay' }] : [];
  return proceed({ ...state, work: undefined }, settings, [...before, ...refused, ...committed]);
}

function partFailed(state: SinkState, failure: WriteFailure, settings: Settings): Step {
  const { work } = state;
  if (work === undefined) return [state, []];
  if (failure.class === 'data') return bisect(state, work, failure, settings);
  if (failure.class === 'contention' && work.attempts < settings.contentionRetries) {
    const afterMs = CONTENTION_WAIT_MS * 2 ** work.attempts;
    return [{ ...state, work: { ...work, attempts: work.attempts + 1 } }, [{ kind: 'arm', timer: 'retry', afterMs }]];
  }
  const failuresInARow = state.failuresInARow + 1;
  const open = failure.timedOut || failure.class !== 'outage' || failuresInARow >= settings.breaker.failures;
  const counted = { ...state, failuresInARow };
  return open
    ? giveUp(counted, work, troubleOf(failure), settings)
    : [counted, [{ kind: 'write', rows: work.parts[0]! }]];
}

function bisect(state: SinkState, work: Work, failure: WriteFailure, settings: Settings): Step {
  const [rows = [], ...parts] = work.parts;
  if (rows.length > 1) {
    const half = rows.length >> 1;
    const halves = [rows.slice(0, half), rows.slice(half), ...parts];
    return nextPart({ ...state, work: { ...work, parts: halves } }, settings, []);
  }
  const refusal = { code: 'refused_by_postgres', path: '', reason: failure.reason } as const;
  const refused = [...work.refused, { row: rows[0]!, refusal }];
  const next = { ...work, parts, refused };
  if (!work.storedAny && refused.length >= REFUSED_SUSPICIOUS) {
    const reason = `Postgres refuses every row: ${failure.reason}`;
    return giveUp(state, next, { fault: 'schema', reason }, settings);
  }
  return nextPart({ ...state, work: next }, settings, []);
}

/** Opens the breaker. What was not stored of the present work goes to the spill, or is still in it. */
function giveUp(state: SinkState, work: Work, trouble: Trouble, settings: Settings): Step {
  const left = [...work.refused.map(({ row }) => row), ...work.parts.flat()];
  const base = work.origin === 'live' ? putBack(state, left) : state;
  const rewind: readonly SinkEffect[] = work.origin === 'replay' ? [{ kind: 'rewind' }] : [];
  // A server that answers the probe and refuses the rows is asked less and less often, too.
  const probeMs = state.mode === 'draining' && !work.storedAny ? slower(state, settings) : state.probeMs;
  return proceed(
    { ...base, mode: 'spilling', work: undefined, replaying: false, trouble, failuresInARow: 0, probeMs },
    settings,
    [...rewind, { kind: 'arm', timer: 'probe', afterMs: probeMs }],
  );
}

/** Nothing is left that a reader waits for. */
export function isSettled(state: SinkState): boolean {
  return state.waiting.length === 0 && state.appending === undefined && (state.work?.origin ?? 'replay') === 'replay';
}

/** The rows that a reader has handed over and that are not settled yet. */
export function heldRows({ waiting, appending, work }: SinkState): readonly EventRow[] {
  const written = work?.origin === 'live' ? [...work.parts.flat(), ...work.refused.map(({ row }) => row)] : [];
  return [...waiting, ...(appending ?? []), ...written];
}
