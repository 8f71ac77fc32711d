// Asks every partition worker for its changed bars, makes them durable as one batch, and only then lets the workers forget.
//
//   flowing --store failed, or late--> out --probe answered--> draining --the spill is empty--> flowing
//                                       ^---probe or replay failed---'
//
// While bars flow, a batch is stored. While Postgres is out, and until what was spilled is stored, it goes to the end of the
// spill, so that the order of states is kept. There is one step at a time:
//
//   idle --period--> gathering --all answered, or the deadline--> storing | spilling --durable--> idle (workers told: committed)
//   idle --draining--> replaying --stored--> idle
//
// What neither Postgres nor the spill takes is held in memory up to a limit; beyond it the workers are not told, and keep
// their bars in bounded memory of their own. A batch that was never committed is carried again: no step can lose a bar.

export interface WorkerSnapshot<B> {
  readonly worker: number;
  readonly snapshot: number;
  readonly bars: readonly B[];
}

export interface PersistenceSettings<B> {
  /** How long a worker may take to answer, and Postgres to store a batch before it is spilled. */
  readonly answerWithinMs: number;
  readonly storeWithinMs: number;
  readonly probeMs: number;
  /** Bars that may be held in memory while neither Postgres nor the spill takes them. */
  readonly pendingBars: number;
  /** The latest state of each bar. */
  readonly latest: (bars: readonly B[]) => readonly B[];
}

type Turn<B> =
  | { readonly kind: 'idle' }
  | { readonly kind: 'replaying' }
  | { readonly kind: 'gathering'; readonly awaited: readonly number[]; readonly got: readonly WorkerSnapshot<B>[] }
  | {
      readonly kind: 'storing' | 'spilling';
      readonly batch: readonly B[];
      readonly got: readonly WorkerSnapshot<B>[];
    };

export interface PersistenceState<B> {
  readonly settings: PersistenceSettings<B>;
  readonly workers: readonly number[];
  readonly mode: 'flowing' | 'out' | 'draining';
  readonly turn: Turn<B>;
  /** Bars that are durable nowhere and that their workers were allowed to forget. */
  readonly held: readonly B[];
  /** A period passed while a part of the spill was being stored. */
  readonly isDue: boolean;
}

export type PersistenceMessage<B> =
  | { readonly kind: 'period' }
  | { readonly kind: 'workers'; readonly workers: readonly number[] }
  | ({ readonly kind: 'snapshot' } & WorkerSnapshot<B>)
  | { readonly kind: 'answer-deadline' }
  | { readonly kind: 'stored' }
  | { readonly kind: 'store-failed' }
  | { readonly kind: 'store-late' }
  | { readonly kind: 'spilled' }
  | { readonly kind: 'spill-refused' }
  | { readonly kind: 'probe' }
  | { readonly kind: 'probed'; readonly ok: boolean }
  | { readonly kind: 'replayed'; readonly left: number }
  | { readonly kind: 'replay-failed' };

export type PersistenceTimer = 'answer-deadline' | 'store-late' | 'probe';

export type PersistenceEffect<B> =
  | { readonly kind: 'ask-snapshot'; readonly worker: number }
  | { readonly kind: 'set-timer'; readonly timer: PersistenceTimer; readonly delayMs: number }
  | { readonly kind: 'store'; readonly bars: readonly B[] }
  /** The first of an outage has the state of every symbol with it: what a restart in the outage goes on from. */
  | { readonly kind: 'spill'; readonly bars: readonly B[]; readonly isFirst: boolean }
  | { readonly kind: 'commit'; readonly worker: number; readonly snapshot: number }
  | { readonly kind: 'probe' }
  | { readonly kind: 'replay' };

type Step<B> = readonly [PersistenceState<B>, readonly PersistenceEffect<B>[]];

/** `backlog`: what an earlier life has left in the spill. */
export function startPersistence<B>(
  workers: readonly number[],
  settings: PersistenceSettings<B>,
  backlog: number,
): Step<B> {
  const state = { workers, settings, turn: { kind: 'idle' }, held: [], isDue: false } as const;
  return backlog === 0 ? [{ ...state, mode: 'flowing' }, []] : goOn({ ...state, mode: 'draining' });
}

export function receive<B>(state: PersistenceState<B>, message: PersistenceMessage<B>): Step<B> {
  const { turn } = state;
  switch (message.kind) {
    case 'period':
      return turn.kind === 'replaying' ? [{ ...state, isDue: true }, []] : ask(state);
    case 'workers':
      return withWorkers(state, message.workers);
    case 'snapshot':
      return gather(state, message);
    case 'answer-deadline':
      return turn.kind === 'gathering' ? put(state, turn.got) : [state, []];
    case 'stored':
      return turn.kind === 'storing' ? commit({ ...state, held: [] }, turn.got) : [state, []];
    case 'store-failed':
    case 'store-late':
      return turn.kind === 'storing' ? outage(state, turn.batch, turn.got) : [state, []];
    case 'spilled':
      return turn.kind === 'spilling' ? commit({ ...state, held: [] }, turn.got) : [state, []];
    case 'spill-refused':
      return turn.kind === 'spilling' ? hold(state, turn.batch, turn.got) : [state, []];
    case 'probe':
      return state.mode === 'out' ? [state, [{ kind: 'probe' }]] : [state, []];
    case 'probed':
      return probed(state, message.ok);
    case 'replayed':
      return turn.kind === 'replaying' ? replayed(state, message.left) : [state, []];
    case 'replay-failed':
      return turn.kind === 'replaying'
        ? [{ ...state, mode: 'out', turn: { kind: 'idle' } }, [probeLater(state)]]
        : [state, []];
  }
}

function timer<B>(name: PersistenceTimer, delayMs: number): PersistenceEffect<B> {
  return { kind: 'set-timer', timer: name, delayMs };
}

function probeLater<B>({ settings }: PersistenceState<B>): PersistenceEffect<B> {
  return timer('probe', settings.probeMs);
}

function ask<B>(state: PersistenceState<B>): Step<B> {
  if (state.turn.kind !== 'idle' || state.workers.length === 0) return [state, []];
  const asks = state.workers.map((worker) => ({ kind: 'ask-snapshot', worker }) as const);
  const turn = { kind: 'gathering', awaited: state.workers, got: [] } as const;
  return [{ ...state, turn, isDue: false }, [...asks, timer('answer-deadline', state.settings.answerWithinMs)]];
}

/** A worker that is gone is waited for no longer; its successor starts from the database. */
function withWorkers<B>(state: PersistenceState<B>, workers: readonly number[]): Step<B> {
  const { turn } = state;
  if (turn.kind !== 'gathering') return [{ ...state, workers }, []];
  const awaited = turn.awaited.filter((worker) => workers.includes(worker));
  if (awaited.length === 0) return put({ ...state, workers }, turn.got);
  return [{ ...state, workers, turn: { ...turn, awaited } }, []];
}

function gather<B>(state: PersistenceState<B>, { worker, snapshot, bars }: WorkerSnapshot<B>): Step<B> {
  const { turn } = state;
  // Late answers are not lost: without a commit the worker carries the same bars again.
  if (turn.kind !== 'gathering' || !turn.awaited.includes(worker)) return [state, []];
  const awaited = turn.awaited.filter((other) => other !== worker);
  const got = [...turn.got, { worker, snapshot, bars }];
  return awaited.length > 0 ? [{ ...state, turn: { ...turn, awaited, got } }, []] : put(state, got);
}

function put<B>(state: PersistenceState<B>, got: readonly WorkerSnapshot<B>[]): Step<B> {
  const batch = [...state.held, ...got.flatMap(({ bars }) => bars)];
  if (batch.length === 0) return commit(state, got);
  if (state.mode !== 'flowing') {
    return [{ ...state, turn: { kind: 'spilling', batch, got } }, [{ kind: 'spill', bars: batch, isFirst: false }]];
  }
  return [
    { ...state, turn: { kind: 'storing', batch, got } },
    [{ kind: 'store', bars: batch }, timer('store-late', state.settings.storeWithinMs)],
  ];
}

function outage<B>(state: PersistenceState<B>, batch: readonly B[], got: readonly WorkerSnapshot<B>[]): Step<B> {
  return [
    { ...state, mode: 'out', turn: { kind: 'spilling', batch, got } },
    [{ kind: 'spill', bars: batch, isFirst: true }, probeLater(state)],
  ];
}

function hold<B>(state: PersistenceState<B>, batch: readonly B[], got: readonly WorkerSnapshot<B>[]): Step<B> {
  const held = state.settings.latest(batch);
  if (held.length > state.settings.pendingBars) return goOn({ ...state, turn: { kind: 'idle' } });
  return commit({ ...state, held }, got);
}

function commit<B>(state: PersistenceState<B>, got: readonly WorkerSnapshot<B>[]): Step<B> {
  const commits = got.map(({ worker, snapshot }) => ({ kind: 'commit', worker, snapshot }) as const);
  const [next, effects] = goOn({ ...state, turn: { kind: 'idle' } });
  return [next, [...commits, ...effects]];
}

/** Between two parts of the spill, the workers have their turn. */
function goOn<B>(state: PersistenceState<B>): Step<B> {
  if (state.mode !== 'draining') return [state, []];
  if (state.isDue && state.workers.length > 0) return ask(state);
  return [{ ...state, turn: { kind: 'replaying' } }, [{ kind: 'replay' }]];
}

function probed<B>(state: PersistenceState<B>, ok: boolean): Step<B> {
  if (state.mode !== 'out') return [state, []];
  if (!ok) return [state, [probeLater(state)]];
  const draining = { ...state, mode: 'draining' } as const;
  return state.turn.kind === 'idle' ? goOn(draining) : [draining, []];
}

function replayed<B>(state: PersistenceState<B>, left: number): Step<B> {
  const idle = { ...state, turn: { kind: 'idle' } } as const;
  return left > 0 ? goOn(idle) : [{ ...idle, mode: 'flowing' }, []];
}
