// Brings symbols to workers. Nobody else sees a symbol before its worker has said that it is ready for it.
//
//   seen on the ticker --wanted--> reserved: index taken, a worker asked
//   reserved --ack--> placed: in the global index
//   reserved --refused, silent or dead--> the next least loaded live worker is asked; with none left, it waits for one
//   placed --worker dead--> reserved again, same index
//   placed --removed--> gone: its index is free again after the worker's ack
//   placed --rebalance--> moving: the old worker hands its state to the new one; the index stays
import type { SymbolPlace } from '../../protocols/symbols.ts';

export interface ManagerSettings {
  readonly ackWithinMs: number;
  /** Symbols that one worker may hold. */
  readonly perWorkerMax: number;
  readonly indexMax: number;
}

type Entry = {
  readonly venue: string;
  readonly symbol: string;
  readonly index: number;
} & (
  | { readonly phase: 'reserved'; readonly worker: number; readonly passedOver: readonly number[] }
  | { readonly phase: 'placed'; readonly worker: number }
  | { readonly phase: 'moving'; readonly worker: number; readonly to: number }
  | { readonly phase: 'removing'; readonly worker: number }
  | { readonly phase: 'homeless' }
);

export interface ManagerState {
  readonly settings: ManagerSettings;
  readonly live: readonly number[];
  /** Of the live ones, those that will end soon. */
  readonly retiring: readonly number[];
  /** By venue and symbol. */
  readonly entries: ReadonlyMap<string, Entry>;
  readonly freeIndices: readonly number[];
  readonly nextIndex: number;
  /** Symbols turned away because every index is taken. */
  readonly refused: number;
}

export type ManagerMessage =
  | { readonly kind: 'seen'; readonly venue: string; readonly symbols: readonly string[] }
  | { readonly kind: 'gone'; readonly venue: string; readonly symbol: string }
  | { readonly kind: 'acked'; readonly key: string; readonly worker: number }
  | { readonly kind: 'failed'; readonly key: string; readonly worker: number }
  | { readonly kind: 'workers'; readonly live: readonly number[] }
  /** These, and no others, will end soon; what they have moves to the rest while they still run. */
  | { readonly kind: 'retire'; readonly workers: readonly number[] }
  | { readonly kind: 'rebalance' };

export type ManagerEffect =
  | ({ readonly kind: 'add-symbol'; readonly key: string; readonly withinMs: number } & SymbolPlace)
  | ({ readonly kind: 'remove-symbol'; readonly key: string; readonly withinMs: number } & SymbolPlace)
  | ({
      readonly kind: 'move-symbol';
      readonly key: string;
      readonly to: number;
      readonly withinMs: number;
    } & SymbolPlace)
  | ({ readonly kind: 'publish' } & SymbolPlace)
  | ({ readonly kind: 'withdraw' } & SymbolPlace);

type Step = readonly [ManagerState, readonly ManagerEffect[]];

export function startManager(settings: ManagerSettings, live: readonly number[]): ManagerState {
  return { settings, live, retiring: [], entries: new Map(), freeIndices: [], nextIndex: 0, refused: 0 };
}

export const keyOf = (venue: string, symbol: string): string => `${venue} ${symbol}`;

/** What everybody may see: symbols whose worker is ready. */
export function placesOf(state: ManagerState): SymbolPlace[] {
  return [...state.entries.values()].flatMap((entry) =>
    entry.phase === 'placed' || entry.phase === 'moving' ? [placeOf(entry, entry.worker)] : [],
  );
}

function placeOf({ venue, symbol, index }: Entry, worker: number): SymbolPlace {
  return { venue, symbol, index, worker };
}

export function receive(state: ManagerState, message: ManagerMessage): Step {
  switch (message.kind) {
    case 'seen':
      return inTurn(state, message.symbols, (now, symbol) => see(now, message.venue, symbol));
    case 'gone':
      return remove(state, keyOf(message.venue, message.symbol));
    case 'acked':
      return acked(state, message.key, message.worker);
    case 'failed':
      return failed(state, message.key, message.worker);
    case 'workers':
      return withWorkers(state, message.live);
    case 'retire':
      return retire(state, message.workers);
    case 'rebalance':
      return rebalance(state);
  }
}

function inTurn<T>(state: ManagerState, items: readonly T[], step: (state: ManagerState, item: T) => Step): Step {
  const effects: ManagerEffect[] = [];
  let now = state;
  for (const item of items) {
    const [next, wanted] = step(now, item);
    now = next;
    effects.push(...wanted);
  }
  return [now, effects];
}

function withEntry(state: ManagerState, key: string, entry: Entry | undefined): ManagerState {
  const entries = new Map(state.entries);
  if (entry === undefined) entries.delete(key);
  else entries.set(key, entry);
  return { ...state, entries };
}

function see(state: ManagerState, venue: string, symbol: string): Step {
  const key = keyOf(venue, symbol);
  if (state.entries.has(key)) return [state, []];
  // An index is used again as late as possible: bars of the symbol that had it may still be on their way.
  const isFresh = state.nextIndex < state.settings.indexMax;
  const index = isFresh ? state.nextIndex : state.freeIndices[0];
  if (index === undefined) return [{ ...state, refused: state.refused + 1 }, []];
  const rest = isFresh ? { nextIndex: index + 1 } : { freeIndices: state.freeIndices.slice(1) };
  return assign({ ...state, ...rest }, key, { venue, symbol, index, phase: 'homeless' }, []);
}

/** What each worker has that will stay. */
function loadsOf(state: ManagerState): Map<number, number> {
  const staying = state.live.filter((worker) => !state.retiring.includes(worker));
  const loads = new Map(staying.map((worker) => [worker, 0]));
  for (const entry of state.entries.values()) {
    const worker = entry.phase === 'moving' ? entry.to : entry.phase === 'homeless' ? undefined : entry.worker;
    if (worker !== undefined && loads.has(worker)) loads.set(worker, loads.get(worker)! + 1);
  }
  return loads;
}

/** Asks the least loaded live worker that was not passed over; with none, the symbol waits for a change of workers. */
function assign(state: ManagerState, key: string, entry: Entry, passedOver: readonly number[]): Step {
  const able = [...loadsOf(state)]
    .filter(([worker, load]) => !passedOver.includes(worker) && load < state.settings.perWorkerMax)
    .sort(([a, loadA], [b, loadB]) => loadA - loadB || a - b);
  const worker = able[0]?.[0];
  const { venue, symbol, index } = entry;
  if (worker === undefined) return [withEntry(state, key, { venue, symbol, index, phase: 'homeless' }), []];
  const reserved: Entry = { venue, symbol, index, phase: 'reserved', worker, passedOver };
  const place = placeOf(reserved, worker);
  return [
    withEntry(state, key, reserved),
    [{ kind: 'add-symbol', key, withinMs: state.settings.ackWithinMs, ...place }],
  ];
}

function acked(state: ManagerState, key: string, worker: number): Step {
  const entry = state.entries.get(key);
  if (entry === undefined) return [state, []];
  const { venue, symbol, index } = entry;
  if (entry.phase === 'removing' && entry.worker === worker) {
    return [{ ...withEntry(state, key, undefined), freeIndices: [...state.freeIndices, index] }, []];
  }
  const arrived = entry.phase === 'reserved' ? entry.worker : entry.phase === 'moving' ? entry.to : undefined;
  // An answer of a worker that was passed over in the meantime: it must not keep the symbol as well.
  if (arrived !== worker) {
    const settled = entry.phase === 'placed' && entry.worker === worker;
    const place = placeOf(entry, worker);
    const drop: ManagerEffect = { kind: 'remove-symbol', key: '', withinMs: state.settings.ackWithinMs, ...place };
    return [state, settled ? [] : [drop]];
  }
  const placed: Entry = { venue, symbol, index, phase: 'placed', worker };
  return [withEntry(state, key, placed), [{ kind: 'publish', ...placeOf(placed, worker) }]];
}

function failed(state: ManagerState, key: string, worker: number): Step {
  const entry = state.entries.get(key);
  if (entry?.phase === 'reserved' && entry.worker === worker) {
    return assign(state, key, entry, [...entry.passedOver, worker]);
  }
  if (entry?.phase === 'removing' && entry.worker === worker) return acked(state, key, worker);
  if (entry?.phase === 'moving' && (entry.to === worker || entry.worker === worker)) {
    const { venue, symbol, index } = entry;
    return [withEntry(state, key, { venue, symbol, index, phase: 'placed', worker: entry.worker }), []];
  }
  return [state, []];
}

function remove(state: ManagerState, key: string): Step {
  const entry = state.entries.get(key);
  if (entry === undefined || entry.phase === 'removing') return [state, []];
  const { venue, symbol, index } = entry;
  if (entry.phase === 'homeless') {
    return [{ ...withEntry(state, key, undefined), freeIndices: [...state.freeIndices, index] }, []];
  }
  const worker = entry.phase === 'moving' ? entry.to : entry.worker;
  const place = placeOf(entry, worker);
  const removing: Entry = { venue, symbol, index, phase: 'removing', worker };
  const ask: ManagerEffect = { kind: 'remove-symbol', key, withinMs: state.settings.ackWithinMs, ...place };
  return [withEntry(state, key, removing), [{ kind: 'withdraw', ...place }, ask]];
}

/** The symbols of a dead worker go to others under the same index; those that waited for a worker get one. */
function withWorkers(state: ManagerState, live: readonly number[]): Step {
  const alive = { ...state, live, retiring: state.retiring.filter((worker) => live.includes(worker)) };
  const [left, effects] = inTurn(alive, [...state.entries], (now, [key, entry]) => {
    if (entry.phase === 'homeless') return assign(now, key, entry, []);
    const lost = !live.includes(entry.worker) || (entry.phase === 'moving' && !live.includes(entry.to));
    if (!lost) return [now, []];
    if (entry.phase === 'removing') return acked(now, key, entry.worker);
    const [next, asked] = assign(now, key, entry, []);
    const shown = entry.phase === 'placed' || entry.phase === 'moving';
    return [next, shown ? [{ kind: 'withdraw', ...placeOf(entry, entry.worker) }, ...asked] : asked];
  });
  return [left, effects];
}

/** Each symbol of a worker that will end moves to the least loaded of the rest. */
function retire(state: ManagerState, workers: readonly number[]): Step {
  const retiring = workers.filter((worker) => state.live.includes(worker));
  return inTurn({ ...state, retiring }, [...state.entries], (now, [key, entry]) => {
    if (entry.phase !== 'placed' || !retiring.includes(entry.worker)) return [now, []];
    const to = [...loadsOf(now)].sort(([a, loadA], [b, loadB]) => loadA - loadB || a - b)[0]?.[0];
    return to === undefined ? [now, []] : move(now, key, entry, to);
  });
}

function move(state: ManagerState, key: string, entry: Entry & { readonly worker: number }, to: number): Step {
  const { venue, symbol, index, worker } = entry;
  const moving: Entry = { venue, symbol, index, phase: 'moving', worker, to };
  const place = placeOf(moving, worker);
  return [
    withEntry(state, key, moving),
    [{ kind: 'move-symbol', key, to, withinMs: state.settings.ackWithinMs, ...place }],
  ];
}

/** One symbol from the fullest to the emptiest worker, where that helps; called again and again, it levels the load. */
function rebalance(state: ManagerState): Step {
  const loads = [...loadsOf(state)].sort(([, a], [, b]) => a - b);
  const [emptiest, fullest] = [loads[0], loads.at(-1)];
  if (emptiest === undefined || fullest === undefined || fullest[1] - emptiest[1] < 2) return [state, []];
  for (const [key, entry] of state.entries) {
    if (entry.phase === 'placed' && entry.worker === fullest[0]) return move(state, key, entry, emptiest[0]);
  }
  return [state, []];
}
