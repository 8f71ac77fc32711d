// A supervisor's driver: feeds what happens to its children to the pure decisions in strategy.ts and does what they say.
// It lives in a place of its host like any actor, handles one event at a time, and is itself a child of the supervisor
// above it; so a supervisor that gives up is a failure of the one above.
import { asError, invariant, TapeworksError } from '../protocols/errors/index.ts';
import type { Backoff } from './backoff.ts';
import type { Child } from './child.ts';
import { type Deferred, deferred } from './deferred.ts';
import type { Place } from './host.ts';
import { type ActorInfo, type FailureInfo, failureInfo } from './inspect.ts';
import type { Runtime } from './runtime.ts';
import type { ChildSpec } from './spec.ts';
import { checkChild, checkSupervisor } from './spec-checks.ts';
import {
  decide,
  type ExitReason,
  initialSupervisor,
  type SupervisorEffect,
  type SupervisorEvent,
  type SupervisorPolicy,
  type SupervisorState,
} from './strategy.ts';
import type { SupervisorOptions } from './supervisor-spec.ts';
import { type Waiter, Waiters } from './waiters.ts';

const DEFAULT_INTENSITY = { restarts: 10, periodMs: 60_000 };

type Posted = Exclude<SupervisorEvent, { readonly kind: 'start' }> | { readonly kind: 'start' };

export class Supervisor implements Child {
  readonly path: string;
  onExit: (reason: ExitReason) => void = () => {};

  readonly #runtime: Runtime;
  readonly #place: Place;
  readonly #children = new Map<string, Child>();
  /** What each new life begins with: the children of the first and those added since, without those deleted since. */
  #specs: readonly ChildSpec[];
  /** Children that are placed and whose `add` is not handled yet. */
  readonly #incoming = new Map<string, ChildSpec>();
  readonly #events: { readonly event: Posted; readonly waiter: Waiter | undefined }[] = [];
  readonly #waiters = new Waiters();
  /** The life that each child is in. What an earlier life still has to say is not heard. */
  readonly #lives = new Map<string, number>();
  #state: SupervisorState;
  #incarnation = 0;
  #lifeCount = 0;
  #lastFailure: FailureInfo | undefined;
  #isWoken = false;
  #isRemoved = false;
  #cancelTick = () => {};
  #starting: { resolve(): void; reject(error: Error): void } | undefined;
  #halting: Deferred<void> | undefined;

  constructor(runtime: Runtime, parent: Place | undefined, path: string, options: SupervisorOptions) {
    this.path = path;
    this.#runtime = runtime;
    this.#specs = [...(options.children ?? [])];
    const policy = {
      strategy: options.strategy ?? 'one_for_one',
      intensity: options.intensity ?? DEFAULT_INTENSITY,
      autoShutdown: options.autoShutdown ?? 'never',
    };
    checkSupervisor(path, policy);
    this.#state = initialSupervisor(policy, this.#specs);
    this.#place = runtime.host.place(parent, path.slice(path.lastIndexOf('/') + 1), () => this.#turn());
    for (const spec of this.#specs) this.#placeChild(spec);
  }

  #placeChild(spec: ChildSpec): void {
    if (this.#isRemoved) throw new TapeworksError('TW_UNKNOWN_ACTOR', `${this.path} is gone and takes no child`);
    checkChild(this.path, this.#state.policy, spec);
    if (this.#children.has(spec.id)) {
      throw new TapeworksError('TW_DUPLICATE_CHILD', `${this.path} already has a child "${spec.id}"`);
    }
    this.#children.set(spec.id, spec.place(this.#runtime, this.#place, this.#pathOf(spec.id)));
  }

  #pathOf(id: string): string {
    return this.path === '/' ? `/${id}` : `${this.path}/${id}`;
  }

  // --- as a child of the supervisor above ---

  start(): Promise<void> {
    const isIdle = this.#state.mode === 'stopped' && this.#starting === undefined;
    invariant(isIdle, 'a supervisor has one life at a time', { path: this.path });
    this.#incarnation++;
    return new Promise((resolve, reject) => {
      this.#starting = { resolve, reject };
      this.#post({ kind: 'start' });
    });
  }

  halt(): Promise<void> {
    if (this.#state.mode === 'stopped' && this.#starting === undefined) return Promise.resolve();
    if (this.#halting === undefined) {
      this.#halting = deferred();
      this.#post({ kind: 'stop' });
    }
    return this.#halting.promise;
  }

  retire(reason: ExitReason): void {
    for (const child of this.#children.values()) child.retire(reason);
  }

  remove(): void {
    for (const child of [...this.#children.values()].reverse()) child.remove();
    this.#children.clear();
    this.#place.remove();
    this.#isRemoved = true;
    for (const { waiter } of this.#events.splice(0)) if (waiter !== undefined) this.#waiters.add(waiter);
    this.#waiters.rejectAll((id) => this.#lost(id));
  }

  // --- what its owner can ask of it ---

  /** Adds a child and starts it; resolves when it is up, rejects with its failure when it did not come up at first. */
  async startChild(spec: ChildSpec): Promise<void> {
    this.#placeChild(spec);
    this.#incoming.set(spec.id, spec);
    await this.#postAndWait({ kind: 'add', child: spec }, (child, failure) => {
      if (child?.phase === 'running') return true;
      return failure ?? (child === undefined ? this.#lost(spec.id) : false);
    });
  }

  /** Ends a child and keeps its place; `reviveChild` brings it back. A temporary child, or a pool's, is forgotten. */
  async stopChild(id: string): Promise<void> {
    this.#mustHave(id);
    await this.#postAndWait({ kind: 'terminate', id }, (child) => {
      if (child === undefined || child.phase === 'down') return true;
      // Someone has revived it meanwhile.
      return child.wanted && child.phase !== 'halting';
    });
  }

  async reviveChild(id: string): Promise<void> {
    this.#mustHave(id);
    await this.#postAndWait({ kind: 'revive', id }, (child, failure) => {
      if (child?.phase === 'running') return true;
      return failure ?? (child?.wanted === true ? false : this.#lost(id));
    });
  }

  /** Ends a child and forgets it. */
  async deleteChild(id: string): Promise<void> {
    this.#mustHave(id);
    await this.#postAndWait({ kind: 'delete', id }, (child) => child === undefined);
  }

  /** Gives a child a new life. It does not count as a failure. */
  restartChild(id: string): void {
    this.#mustHave(id);
    this.#post({ kind: 'bounce', id });
  }

  /** Restarts are decided and counted by this from now on. */
  reconfigure(policy: Partial<Pick<SupervisorPolicy, 'strategy' | 'intensity'>>): void {
    checkSupervisor(this.path, { ...this.#state.policy, ...policy });
    this.#post({ kind: 'policy', policy });
  }

  /** How long a child waits before a restart, from its next failure on. */
  setBackoff(id: string, backoff: Backoff): void {
    this.#mustHave(id);
    this.#specs = this.#specs.map((spec) => (spec.id === id ? { ...spec, backoff } : spec));
    this.#post({ kind: 'backoff', id, backoff });
  }

  child(id: string): Child | undefined {
    return this.#children.get(id);
  }

  get childIds(): readonly string[] {
    return this.#state.children.map((child) => child.policy.id);
  }

  #mustHave(id: string): void {
    if (!this.#children.has(id)) throw new TapeworksError('TW_UNKNOWN_ACTOR', `${this.path} has no child "${id}"`);
  }

  #lost(id: string): Error {
    return new TapeworksError('TW_ASK_TERMINATED', `${this.#pathOf(id)} ended before it was up`);
  }

  /** The wait begins once the event is handled, so what was true before it settles nothing. */
  #postAndWait(event: Posted & { readonly id?: string }, isDone: Waiter['isDone']): Promise<void> {
    const id = event.kind === 'add' ? event.child.id : event.id!;
    return new Promise((resolve, reject) => this.#post(event, { id, isDone, resolve, reject }));
  }

  // --- events and effects ---

  #post(event: Posted, waiter?: Waiter): void {
    this.#events.push({ event, waiter });
    if (this.#isWoken) return;
    this.#isWoken = true;
    this.#place.wake();
  }

  #turn(): void {
    this.#isWoken = false;
    // Events that these effects cause come with the next turn, so a turn is bounded by what waited when it began.
    const waiting = this.#events.length;
    for (let handled = 0; handled < waiting; handled++) {
      const { event, waiter } = this.#events.shift()!;
      this.#handle(event, waiter);
    }
  }

  #handle(posted: Posted, waiter: Waiter | undefined): void {
    const event = posted.kind === 'start' ? { ...posted, children: this.#placeMissing() } : posted;
    const [next, effects] = decide(this.#state, event, {
      nowMs: this.#runtime.clock.now(),
      random: this.#runtime.random,
      tooManyRestarts: (id, cause) => this.#tooManyRestarts(id, cause),
    });
    this.#state = next;
    if (event.kind === 'add') this.#keep(event.child.id);
    if (event.kind === 'delete') this.#specs = this.#specs.filter((spec) => spec.id !== event.id);
    if (waiter !== undefined) this.#waiters.add(waiter);
    for (const effect of effects) {
      try {
        this.#perform(effect);
      } catch (error) {
        // Only a broken invariant gets here. The supervisor ends in order, and the one above decides.
        this.#post({ kind: 'give-up', error: asError(error) });
      }
    }
    this.#waiters.settle(this.#state.children, event.kind === 'start-failed' ? event : undefined);
  }

  /** Temporary children of the last life were forgotten; they belong to the new one again. */
  #placeMissing(): readonly ChildSpec[] {
    // A child on its way in may have taken the name of one of them.
    const specs = this.#specs.filter((spec) => !this.#incoming.has(spec.id));
    for (const spec of specs) if (!this.#children.has(spec.id)) this.#placeChild(spec);
    return specs;
  }

  /** A child that was added belongs to later lives too, unless it was turned away or is of the kind that is forgotten. */
  #keep(id: string): void {
    const spec = this.#incoming.get(id)!;
    this.#incoming.delete(id);
    const isTaken = this.#state.children.some((child) => child.policy.id === id);
    const isForgotten = spec.restart === 'temporary' || this.#state.policy.strategy === 'pool';
    // It may have taken the name of a temporary child that has ended.
    if (isTaken && !isForgotten) this.#specs = [...this.#specs.filter((other) => other.id !== id), spec];
  }

  #tooManyRestarts(id: string, cause: ExitReason): Error {
    const { restarts, periodMs } = this.#state.policy.intensity;
    const why = cause.kind === 'failure' ? cause.error.message : cause.kind;
    const message = `${this.path}: more than ${restarts} restarts in ${periodMs} ms, the last of "${id}": ${why}`;
    const options = cause.kind === 'failure' ? { cause: cause.error } : undefined;
    return new TapeworksError('TW_RESTART_INTENSITY', message, { path: this.path, child: id }, options);
  }

  #perform(effect: SupervisorEffect): void {
    switch (effect.kind) {
      case 'start':
        this.#startLife(effect.id);
        break;
      case 'halt':
        this.#haltLife(effect.id);
        break;
      case 'retire':
        this.#children.get(effect.id)!.retire(effect.reason);
        break;
      case 'remove':
        this.#children.get(effect.id)!.remove();
        this.#children.delete(effect.id);
        break;
      case 'restarting': {
        const error = effect.reason.kind === 'failure' ? effect.reason.error : undefined;
        const path = this.#pathOf(effect.id);
        this.#runtime.events.emit({ kind: 'restarting', path, delayMs: effect.delayMs, error });
        break;
      }
      case 'tick-at':
        this.#tickAt(effect.atMs);
        break;
      case 'ready':
        this.#runtime.events.emit({ kind: 'started', path: this.path, incarnation: this.#incarnation });
        this.#starting?.resolve();
        this.#starting = undefined;
        break;
      case 'finished':
        this.#finished(effect.reason);
        break;
    }
  }

  #tickAt(atMs: number): void {
    const { clock } = this.#runtime;
    this.#cancelTick();
    this.#cancelTick = clock.after(Math.max(0, atMs - clock.now()), () => this.#post({ kind: 'tick' }));
  }

  #startLife(id: string): void {
    const child = this.#children.get(id)!;
    const life = ++this.#lifeCount;
    this.#lives.set(id, life);
    const ends = (event: Posted) => {
      if (this.#lives.get(id) !== life) return;
      this.#lives.delete(id);
      this.#post(event);
    };
    child.onExit = (reason) => ends({ kind: 'exited', id, reason });
    child.start().then(
      () => {
        if (this.#lives.get(id) === life) this.#post({ kind: 'started', id });
      },
      (error: unknown) => ends({ kind: 'start-failed', id, error: asError(error) }),
    );
  }

  #haltLife(id: string): void {
    const life = this.#lives.get(id);
    void this.#children
      .get(id)!
      .halt()
      .then(() => {
        // When the life ended by itself meanwhile, that was said already.
        if (life === undefined || this.#lives.get(id) !== life) return;
        this.#lives.delete(id);
        this.#post({ kind: 'halted', id });
      });
  }

  #finished(reason: ExitReason): void {
    this.#cancelTick();
    this.#runtime.events.emit({ kind: 'stopped', path: this.path, reason: reason.kind });
    if (reason.kind === 'failure') this.#lastFailure = failureInfo(reason.error, this.#runtime.clock.now());
    const starting = this.#starting;
    const halting = this.#halting;
    this.#starting = undefined;
    this.#halting = undefined;
    if (starting !== undefined) {
      const halted = new TapeworksError('TW_ASK_TERMINATED', `${this.path} was halted while it started`);
      starting.reject(reason.kind === 'failure' ? reason.error : halted);
    }
    this.#waiters.settle(this.#state.children);
    this.#waiters.rejectAll((id) => this.#lost(id));
    if (halting !== undefined) halting.resolve();
    else if (starting === undefined) this.onExit(reason);
  }

  inspect(): ActorInfo {
    const state = { starting: 'starting', running: 'running', stopping: 'halting', stopped: 'idle' } as const;
    return {
      path: this.path,
      kind: 'supervisor',
      state: state[this.#state.mode],
      thread: this.#runtime.thread,
      incarnation: this.#incarnation,
      restarts: Math.max(0, this.#incarnation - 1),
      lastFailure: this.#lastFailure,
      mailbox: undefined,
      messages: 0,
      unhandled: 0,
      waitMs: undefined,
      processingMs: undefined,
      children: this.#state.children.flatMap((child) => this.#children.get(child.policy.id)?.inspect() ?? []),
    };
  }
}
