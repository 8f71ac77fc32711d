// The supervisor's decisions, pure: what happened goes in, what to do comes out. No clock, no promise, no cell.
//
//   starting --every child runs--> running --stop, or too many restarts--> stopping --every child is down--> stopped
//                 \________________ stop, or too many restarts ___________/
//
// Each child has a phase (down, starting, running, halting) and marks that say where it should be: `wanted`, `mustHalt`,
// `notBeforeMs`. An event only changes marks; `reconcile` then issues the next steps that the order rules allow. So a
// failure in the middle of a group restart needs no special case.
import { type Backoff, backoffDelayMs, DEFAULT_BACKOFF } from './backoff.ts';
import type { Random } from './clock.ts';
import { addRestart, type Intensity, isExceeded } from './intensity.ts';

/** `pool` is OTP's simple_one_for_one: children come and go at run time, and start and stop side by side. */
export type Strategy = 'one_for_one' | 'one_for_all' | 'rest_for_one' | 'pool';

/** permanent: always restarted. transient: only after a failure. temporary: never, and forgotten once it is down. */
export type RestartType = 'permanent' | 'transient' | 'temporary';

/** Whether a supervisor ends when its significant children have ended by themselves. */
export type AutoShutdown = 'never' | 'any_significant' | 'all_significant';

export type ExitReason =
  | { readonly kind: 'normal' }
  | { readonly kind: 'shutdown' }
  | { readonly kind: 'failure'; readonly error: Error };

export interface ChildPolicy {
  readonly id: string;
  readonly restart: RestartType;
  readonly significant?: boolean;
  readonly backoff?: Backoff;
}

export type Phase = 'down' | 'starting' | 'running' | 'halting';

export interface ChildState {
  readonly policy: ChildPolicy;
  readonly phase: Phase;
  /** It should be up. */
  readonly wanted: boolean;
  /** Its present life must end, whether or not another follows. */
  readonly mustHalt: boolean;
  /** It is forgotten as soon as it is down. */
  readonly leaving: boolean;
  readonly notBeforeMs: number;
  readonly startedAtMs: number;
  readonly failuresInARow: number;
}

export interface SupervisorPolicy {
  readonly strategy: Strategy;
  readonly intensity: Intensity;
  readonly autoShutdown: AutoShutdown;
}

export interface SupervisorState {
  readonly policy: SupervisorPolicy;
  readonly mode: 'starting' | 'running' | 'stopping' | 'stopped';
  /** In start order. */
  readonly children: readonly ChildState[];
  readonly recentRestartsMs: readonly number[];
  readonly exit: ExitReason;
}

export type SupervisorEvent =
  /** A new life, with these children. */
  | { readonly kind: 'start'; readonly children: readonly ChildPolicy[] }
  | { readonly kind: 'stop' }
  /** The supervisor itself is broken: it ends as a failure. */
  | { readonly kind: 'give-up'; readonly error: Error }
  | { readonly kind: 'tick' }
  | { readonly kind: 'started'; readonly id: string }
  | { readonly kind: 'start-failed'; readonly id: string; readonly error: Error }
  | { readonly kind: 'exited'; readonly id: string; readonly reason: ExitReason }
  | { readonly kind: 'halted'; readonly id: string }
  | { readonly kind: 'add'; readonly child: ChildPolicy }
  /** End the child; its place is kept, and `revive` brings it back. */
  | { readonly kind: 'terminate'; readonly id: string }
  | { readonly kind: 'revive'; readonly id: string }
  | { readonly kind: 'delete'; readonly id: string }
  /** An operator's restart: a new life at once, not counted as a failure. */
  | { readonly kind: 'bounce'; readonly id: string }
  | { readonly kind: 'policy'; readonly policy: Partial<Pick<SupervisorPolicy, 'strategy' | 'intensity'>> }
  | { readonly kind: 'backoff'; readonly id: string; readonly backoff: Backoff };

export type SupervisorEffect =
  | { readonly kind: 'start'; readonly id: string }
  | { readonly kind: 'halt'; readonly id: string }
  /** The child is down for good: tell its watchers, turn its waiting messages into dead letters. */
  | { readonly kind: 'retire'; readonly id: string; readonly reason: ExitReason }
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'restarting'; readonly id: string; readonly delayMs: number; readonly reason: ExitReason }
  | { readonly kind: 'tick-at'; readonly atMs: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'finished'; readonly reason: ExitReason };

export interface Surroundings {
  readonly nowMs: number;
  readonly random: Random;
  /** Makes the error with which a supervisor that restarted too often ends. */
  readonly tooManyRestarts: (id: string, cause: ExitReason) => Error;
}

export const NORMAL: ExitReason = { kind: 'normal' };
export const SHUTDOWN: ExitReason = { kind: 'shutdown' };

export function initialSupervisor(policy: SupervisorPolicy, children: readonly ChildPolicy[]): SupervisorState {
  return { policy, mode: 'stopped', children: children.map(newChild), recentRestartsMs: [], exit: SHUTDOWN };
}

function newChild(policy: ChildPolicy): ChildState {
  return {
    policy,
    phase: 'down',
    wanted: true,
    mustHalt: false,
    leaving: false,
    notBeforeMs: 0,
    startedAtMs: 0,
    failuresInARow: 0,
  };
}

type Step = [SupervisorState, readonly SupervisorEffect[]];

export function decide(state: SupervisorState, event: SupervisorEvent, around: Surroundings): Step {
  const [changed, effects] = mark(state, event, around);
  const [next, more] = reconcile(changed, around.nowMs);
  return [next, [...effects, ...more]];
}

function mark(state: SupervisorState, event: SupervisorEvent, around: Surroundings): Step {
  switch (event.kind) {
    case 'start': {
      const children = event.children.map(newChild);
      return [{ ...state, mode: 'starting', children, recentRestartsMs: [], exit: SHUTDOWN }, []];
    }
    case 'stop':
      return [beginStop(state, SHUTDOWN), []];
    case 'give-up':
      return [beginStop(state, { kind: 'failure', error: event.error }), []];
    case 'tick':
      return [state, []];
    case 'started':
      return [change(state, event.id, { phase: 'running', startedAtMs: around.nowMs }, 'starting'), []];
    case 'start-failed':
      return ended(state, event.id, { kind: 'failure', error: event.error }, around);
    case 'exited':
      return ended(state, event.id, event.reason, around);
    case 'halted':
      return halted(state, event.id);
    case 'add':
      return [add(state, event.child), []];
    case 'terminate':
      return terminate(state, event.id, false);
    case 'delete':
      return terminate(state, event.id, true);
    case 'revive':
      return [isLive(state) ? change(state, event.id, { wanted: true, notBeforeMs: 0 }) : state, []];
    case 'bounce': {
      const child = find(state, event.id);
      if (child === undefined || !child.wanted) return [state, []];
      return [change(state, event.id, { mustHalt: isUp(child), notBeforeMs: 0, failuresInARow: 0 }), []];
    }
    case 'policy':
      return [{ ...state, policy: { ...state.policy, ...event.policy } }, []];
    case 'backoff': {
      const { id, backoff } = event;
      const child = find(state, id);
      return [child === undefined ? state : change(state, id, { policy: { ...child.policy, backoff } }), []];
    }
  }
}

function find(state: SupervisorState, id: string): ChildState | undefined {
  return state.children.find((child) => child.policy.id === id);
}

function change(state: SupervisorState, id: string, to: Partial<ChildState>, onlyIn?: Phase): SupervisorState {
  return {
    ...state,
    children: state.children.map((child) =>
      child.policy.id === id && (onlyIn === undefined || child.phase === onlyIn) ? { ...child, ...to } : child,
    ),
  };
}

function isLive(state: SupervisorState): boolean {
  return state.mode === 'starting' || state.mode === 'running';
}

/** A child that comes too late for this life of the supervisor is turned away. */
function add(state: SupervisorState, policy: ChildPolicy): SupervisorState {
  const child = { ...newChild(policy), wanted: isLive(state), leaving: !isLive(state) };
  return { ...state, children: [...state.children, child] };
}

function terminate(state: SupervisorState, id: string, isDeleted: boolean): Step {
  const child = find(state, id);
  if (child === undefined) return [state, []];
  const leaving = child.leaving || isDeleted || isForgotten(state, child);
  const next = change(state, id, { wanted: false, mustHalt: false, leaving });
  // One that waits for its restart has no life to halt.
  const isDone = child.phase === 'down' && child.wanted;
  return [next, isDone ? [{ kind: 'retire', id, reason: SHUTDOWN }] : []];
}

/** Whether nothing of the child is kept once it is down for good. */
function isForgotten(state: SupervisorState, child: ChildState): boolean {
  return child.policy.restart === 'temporary' || state.policy.strategy === 'pool';
}

function isUp(child: ChildState): boolean {
  return child.phase === 'starting' || child.phase === 'running';
}

function beginStop(state: SupervisorState, exit: ExitReason): SupervisorState {
  if (state.mode === 'stopping' || state.mode === 'stopped') return state;
  const children = state.children.map((child) => ({
    ...child,
    wanted: false,
    mustHalt: false,
    // A pool's children were asked for one by one; a new life of the pool begins empty, as in OTP.
    leaving: child.leaving || isForgotten(state, child),
  }));
  return { ...state, mode: 'stopping', exit, children };
}

function halted(state: SupervisorState, id: string): Step {
  const child = find(state, id);
  if (child === undefined || child.phase !== 'halting') return [state, []];
  const down = change(state, id, { phase: 'down', mustHalt: false });
  // While the whole supervisor stops its children keep their mailboxes: it may be about to live again.
  if (child.wanted || (state.mode === 'stopping' && !child.leaving)) return [down, []];
  return [down, [{ kind: 'retire', id, reason: SHUTDOWN }]];
}

/** The child's life ended by itself: it returned, failed, or never came up. */
function ended(state: SupervisorState, id: string, reason: ExitReason, around: Surroundings): Step {
  const child = find(state, id);
  if (child === undefined || child.phase === 'down') return [state, []];
  if (child.phase === 'halting') return halted(state, id);
  const down = change(state, id, { phase: 'down', mustHalt: false });
  if (!child.wanted) {
    // A child that leaves is retired when it is removed; the others keep their mailboxes while the supervisor stops.
    return [down, state.mode === 'stopping' && !child.leaving ? [] : [{ kind: 'retire', id, reason }]];
  }
  // It was about to be halted for a group restart: that restart is already decided and counted.
  if (child.mustHalt) return [down, []];
  if (!isRestarted(child.policy.restart, reason)) return goneForGood(down, child, reason);
  return restart(down, child, reason, around);
}

function isRestarted(type: RestartType, reason: ExitReason): boolean {
  return type === 'permanent' || (type === 'transient' && reason.kind === 'failure');
}

function goneForGood(state: SupervisorState, child: ChildState, reason: ExitReason): Step {
  const id = child.policy.id;
  const next = change(state, id, { wanted: false, leaving: isForgotten(state, child) });
  const effects: SupervisorEffect[] = [{ kind: 'retire', id, reason }];
  if (child.policy.significant !== true || !endsTheSupervisor(next)) return [next, effects];
  return [beginStop(next, SHUTDOWN), effects];
}

function endsTheSupervisor(state: SupervisorState): boolean {
  if (state.policy.autoShutdown === 'never') return false;
  if (state.policy.autoShutdown === 'any_significant') return true;
  return state.children.every((child) => child.policy.significant !== true || !child.wanted);
}

function restart(state: SupervisorState, child: ChildState, reason: ExitReason, around: Surroundings): Step {
  const id = child.policy.id;
  const recentRestartsMs = addRestart(state.recentRestartsMs, around.nowMs, state.policy.intensity);
  if (isExceeded(recentRestartsMs, state.policy.intensity)) {
    const error = around.tooManyRestarts(id, reason);
    return [beginStop({ ...state, recentRestartsMs }, { kind: 'failure', error }), []];
  }
  const backoff = child.policy.backoff ?? DEFAULT_BACKOFF;
  const wasHealthy = child.phase === 'running' && around.nowMs - child.startedAtMs >= backoff.resetAfterMs;
  const failuresInARow = wasHealthy ? 1 : child.failuresInARow + 1;
  const delayMs = backoffDelayMs(backoff, failuresInARow, around.random);
  const notBeforeMs = around.nowMs + delayMs;
  const first = state.children.findIndex((other) => other.policy.id === id);
  const isAffected = (index: number) => {
    if (index === first) return true;
    if (state.policy.strategy === 'one_for_all') return true;
    return state.policy.strategy === 'rest_for_one' && index > first;
  };
  const children = state.children.map((other, index) => {
    if (!isAffected(index)) return other;
    if (index === first) return { ...other, notBeforeMs, failuresInARow };
    // A temporary bystander goes down with its group and does not come back.
    if (other.policy.restart === 'temporary') return { ...other, wanted: false, leaving: true };
    return { ...other, mustHalt: isUp(other), notBeforeMs: Math.max(other.notBeforeMs, notBeforeMs) };
  });
  return [{ ...state, recentRestartsMs, children }, [{ kind: 'restarting', id, delayMs, reason }]];
}

/** Issues every step that the rules of order allow now. */
function reconcile(state: SupervisorState, nowMs: number): Step {
  const effects: SupervisorEffect[] = [];
  let next = issueHalts(state, effects);
  next = forgetLeaving(next, effects);
  if (next.mode === 'stopping' && next.children.every((child) => child.phase === 'down')) {
    next = { ...next, mode: 'stopped' };
    effects.push({ kind: 'finished', reason: next.exit });
  }
  next = issueStarts(next, nowMs, effects);
  if (next.mode === 'starting' && next.children.every((child) => !child.wanted || child.phase === 'running')) {
    next = { ...next, mode: 'running' };
    effects.push({ kind: 'ready' });
  }
  return [next, effects];
}

/** Halts one at a time, the last started first; a pool halts all at once. */
function issueHalts(state: SupervisorState, effects: SupervisorEffect[]): SupervisorState {
  const isPool = state.policy.strategy === 'pool';
  let isBusy = !isPool && state.children.some((child) => child.phase === 'halting');
  const children = [...state.children];
  for (let index = children.length - 1; index >= 0 && !isBusy; index--) {
    const child = children[index]!;
    if (!isUp(child) || (child.wanted && !child.mustHalt)) continue;
    children[index] = { ...child, phase: 'halting' };
    effects.push({ kind: 'halt', id: child.policy.id });
    isBusy = !isPool;
  }
  return { ...state, children };
}

function forgetLeaving(state: SupervisorState, effects: SupervisorEffect[]): SupervisorState {
  const isGone = (child: ChildState) => child.leaving && child.phase === 'down';
  if (!state.children.some(isGone)) return state;
  for (const child of state.children.filter(isGone)) effects.push({ kind: 'remove', id: child.policy.id });
  return { ...state, children: state.children.filter((child) => !isGone(child)) };
}

/**
 * Starts in order. While the supervisor comes up, and always for the group strategies, a child waits until every wanted
 * child before it runs; a group restart also waits until everything that must halt is down.
 */
function issueStarts(state: SupervisorState, nowMs: number, effects: SupervisorEffect[]): SupervisorState {
  if (!isLive(state)) return state;
  const isGroup = state.policy.strategy === 'one_for_all' || state.policy.strategy === 'rest_for_one';
  const isSequential = isGroup || (state.mode === 'starting' && state.policy.strategy !== 'pool');
  if (isGroup && state.children.some((child) => child.mustHalt || child.phase === 'halting')) return state;
  const children = [...state.children];
  let tickAtMs = Number.POSITIVE_INFINITY;
  for (let index = 0; index < children.length; index++) {
    const child = children[index]!;
    if (!child.wanted || child.phase === 'running') continue;
    if (child.phase === 'down' && !child.mustHalt) {
      if (child.notBeforeMs > nowMs) tickAtMs = Math.min(tickAtMs, child.notBeforeMs);
      else {
        children[index] = { ...child, phase: 'starting' };
        effects.push({ kind: 'start', id: child.policy.id });
      }
    }
    if (isSequential) break;
  }
  if (tickAtMs < Number.POSITIVE_INFINITY) effects.push({ kind: 'tick-at', atMs: tickAtMs });
  return { ...state, children };
}
