// Asks every partition worker for its changed bars, stores them as one batch, and only then lets the workers forget.
//
//   idle --period--> gathering --all answered, or the deadline--> storing --stored--> idle (workers told: committed)
//                                                                    |
//                                                                  failed
//                                                                    v
//                      idle <--spilled-- spilling <--outage too long-- waiting --retry--> storing
//                                            \--spill refused--> waiting
//
// There is one batch at a time. What changes meanwhile waits in the workers, which hold it in bounded memory; a batch that
// was never committed is carried again, so no step of this can lose a bar.

export interface WorkerSnapshot<B> {
  readonly worker: number;
  readonly snapshot: number;
  readonly bars: readonly B[];
}

export interface PersistenceSettings {
  /** How long an outage may last before batches go to the spill, and how long a worker may take to answer. */
  readonly spillAfterMs: number;
  readonly answerWithinMs: number;
  readonly retryMs: number;
}

export type PersistenceState<B> = {
  readonly workers: readonly number[];
  readonly settings: PersistenceSettings;
  /** Since when Postgres has not answered; undefined while it does. */
  readonly outageSinceMs: number | undefined;
} & (
  | { readonly phase: 'idle' }
  | { readonly phase: 'gathering'; readonly awaited: readonly number[]; readonly got: readonly WorkerSnapshot<B>[] }
  | { readonly phase: 'storing' | 'waiting' | 'spilling'; readonly got: readonly WorkerSnapshot<B>[] }
);

export type PersistenceMessage<B> =
  | { readonly kind: 'period' }
  | { readonly kind: 'workers'; readonly workers: readonly number[] }
  | ({ readonly kind: 'snapshot' } & WorkerSnapshot<B>)
  | { readonly kind: 'answer-deadline' }
  | { readonly kind: 'stored' }
  | { readonly kind: 'store-failed'; readonly nowMs: number }
  | { readonly kind: 'retry' }
  | { readonly kind: 'spilled' }
  | { readonly kind: 'spill-refused' };

export type PersistenceEffect<B> =
  | { readonly kind: 'ask-snapshot'; readonly worker: number }
  | { readonly kind: 'set-timer'; readonly timer: 'answer-deadline' | 'retry'; readonly delayMs: number }
  | { readonly kind: 'store'; readonly bars: readonly B[] }
  | { readonly kind: 'spill'; readonly bars: readonly B[] }
  | { readonly kind: 'commit'; readonly worker: number; readonly snapshot: number };

type Step<B> = readonly [PersistenceState<B>, readonly PersistenceEffect<B>[]];

export function startPersistence<B>(workers: readonly number[], settings: PersistenceSettings): PersistenceState<B> {
  return { workers, settings, outageSinceMs: undefined, phase: 'idle' };
}

export function receive<B>(state: PersistenceState<B>, message: PersistenceMessage<B>): Step<B> {
  switch (message.kind) {
    case 'period':
      return ask(state);
    case 'workers':
      return withWorkers(state, message.workers);
    case 'snapshot':
      return gather(state, message);
    case 'answer-deadline':
      return state.phase === 'gathering' ? store(state, state.got) : [state, []];
    case 'stored':
      return state.phase === 'storing' ? commit({ ...state, outageSinceMs: undefined }, state.got) : [state, []];
    case 'store-failed':
      return state.phase === 'storing' ? failed(state, state.got, message.nowMs) : [state, []];
    case 'retry':
      return state.phase === 'waiting' ? store(state, state.got) : [state, []];
    case 'spilled':
      return state.phase === 'spilling' ? commit(state, state.got) : [state, []];
    case 'spill-refused':
      return state.phase === 'spilling' ? wait(state, state.got) : [state, []];
  }
}

function ask<B>(state: PersistenceState<B>): Step<B> {
  if (state.phase !== 'idle' || state.workers.length === 0) return [state, []];
  const asks = state.workers.map((worker) => ({ kind: 'ask-snapshot', worker }) as const);
  const timer = { kind: 'set-timer', timer: 'answer-deadline', delayMs: state.settings.answerWithinMs } as const;
  return [{ ...state, phase: 'gathering', awaited: state.workers, got: [] }, [...asks, timer]];
}

/** A worker that is gone is waited for no longer; its successor starts from the database. */
function withWorkers<B>(state: PersistenceState<B>, workers: readonly number[]): Step<B> {
  if (state.phase !== 'gathering') return [{ ...state, workers }, []];
  const awaited = state.awaited.filter((worker) => workers.includes(worker));
  return awaited.length > 0 ? [{ ...state, workers, awaited }, []] : store({ ...state, workers }, state.got);
}

function gather<B>(state: PersistenceState<B>, { worker, snapshot, bars }: WorkerSnapshot<B>): Step<B> {
  // Late answers are not lost: without a commit the worker carries the same bars again.
  if (state.phase !== 'gathering' || !state.awaited.includes(worker)) return [state, []];
  const awaited = state.awaited.filter((other) => other !== worker);
  const got = [...state.got, { worker, snapshot, bars }];
  return awaited.length > 0 ? [{ ...state, awaited, got }, []] : store(state, got);
}

function barsOf<B>(got: readonly WorkerSnapshot<B>[]): readonly B[] {
  return got.flatMap(({ bars }) => bars);
}

function store<B>(state: PersistenceState<B>, got: readonly WorkerSnapshot<B>[]): Step<B> {
  const bars = barsOf(got);
  if (bars.length === 0) return commit(state, got);
  return [{ ...settled(state), phase: 'storing', got }, [{ kind: 'store', bars }]];
}

type Settled = Pick<PersistenceState<unknown>, 'workers' | 'settings' | 'outageSinceMs'>;

function settled({ workers, settings, outageSinceMs }: Settled): Settled {
  return { workers, settings, outageSinceMs };
}

function commit<B>(state: PersistenceState<B>, got: readonly WorkerSnapshot<B>[]): Step<B> {
  const commits = got.map(({ worker, snapshot }) => ({ kind: 'commit', worker, snapshot }) as const);
  return [{ ...settled(state), phase: 'idle' }, commits];
}

function failed<B>(state: PersistenceState<B>, got: readonly WorkerSnapshot<B>[], nowMs: number): Step<B> {
  const outageSinceMs = state.outageSinceMs ?? nowMs;
  const known = { ...settled(state), outageSinceMs };
  if (nowMs - outageSinceMs < state.settings.spillAfterMs) return wait(known, got);
  return [{ ...known, phase: 'spilling', got }, [{ kind: 'spill', bars: barsOf(got) }]];
}

function wait<B>(state: Settled, got: readonly WorkerSnapshot<B>[]): Step<B> {
  const timer = { kind: 'set-timer', timer: 'retry', delayMs: state.settings.retryMs } as const;
  return [{ ...settled(state), phase: 'waiting', got }, [timer]];
}
