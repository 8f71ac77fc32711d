// A cell is an actor's place on this thread: two lanes of messages, one behaviour, and a series of lives.
//
//   idle --start--> starting --init done--> running <--suspend, resume--> suspended
//                      |                       |
//                      +------- throws --------+--> failed (the mailbox is kept; the supervisor decides)
//   halt: a life --> halting --deadline at most--> idle       retire: --> dead (a further start opens it again)
//
// A turn handles what the runtime has to say first (timers, signals), then messages up to a budget, then lets the event
// loop go on. A handler that answers a promise ends the turn; the next one begins when the promise is settled.
import { asError, invariant, TapeworksError } from '../protocols/errors/index.ts';
import type { Admission } from '../protocols/ref.ts';
import type { Signal } from './actor.ts';
import { type Ask, type Askable, Asked } from './ask.ts';
import { cellContext } from './cell-context.ts';
import { ACTOR_DEFAULTS, type CellOptions } from './cell-options.ts';
import { CellStats } from './cell-stats.ts';
import type { Child } from './child.ts';
import { type DeadLetter, describe } from './dead-letters.ts';
import { OVERDUE, within } from './deadline.ts';
import type { Place } from './host.ts';
import type { ActorInfo } from './inspect.ts';
import { Life, type PendingTimer, StashBuffer } from './life.ts';
import { beginInit, windUp } from './life-course.ts';
import { Mailbox } from './mailbox.ts';
import type { Runtime } from './runtime.ts';
import { type ExitReason, NORMAL, SHUTDOWN } from './strategy.ts';
import { type Watchable, WatcherSet } from './watch.ts';

/** The clock is read once for this many messages. */
const CLOCK_EVERY = 16;

type Internal<M> = { readonly timer: PendingTimer<M> } | { readonly signal: Signal };

export class Cell<M, S> implements Child, Askable<M>, Watchable {
  readonly path: string;
  readonly watchers: WatcherSet;
  onExit: (reason: ExitReason) => void = () => {};

  readonly #runtime: Runtime;
  readonly #options: CellOptions<M, S>;
  readonly #place: Place;
  readonly #internal: Internal<M>[] = [];
  readonly #mailbox: Mailbox<M | Asked<M>>;
  readonly #stash: StashBuffer<M>;
  readonly #stats = new CellStats();
  #state: ActorInfo['state'] = 'idle';
  #isSuspended = false;
  #life: Life<M, S> | undefined;
  #isWoken = false;
  #wokenAtMs = 0;

  constructor(runtime: Runtime, parent: Place | undefined, path: string, options: CellOptions<M, S>) {
    this.path = path;
    this.watchers = new WatcherSet(path);
    this.#runtime = runtime;
    this.#options = options;
    const { keyOf } = options.mailbox;
    this.#mailbox = new Mailbox<M | Asked<M>>({
      capacity: options.mailbox.capacity,
      policy: options.mailbox.policy,
      ...(keyOf && { keyOf: (item: M | Asked<M>) => keyOf(item instanceof Asked ? item.message : item) }),
    });
    this.#mailbox.onDropped = (item) => this.#bury(item, 'dropped');
    this.#mailbox.onConflated = (item) => {
      if (item instanceof Asked) item.ask.fail('TW_ASK_REFUSED', `${this.path} was told something newer instead`);
    };
    this.#stash = new StashBuffer(options.stashCapacity, () => this.#wake());
    this.#place = runtime.host.place(parent, options.name ?? path.slice(path.lastIndexOf('/') + 1), () => this.#turn());
    runtime.events.emit({ kind: 'spawned', path, incarnation: 0 });
  }

  // --- messages in ---

  tell(message: M): Admission {
    return this.#offer(message);
  }

  offerAsked(asked: Asked<M>): Admission {
    return this.#offer(asked);
  }

  /** Calls back once when a paused sender may go on. */
  whenReady(callback: () => void): void {
    this.#mailbox.whenReady(callback);
  }

  #offer(item: M | Asked<M>): Admission {
    if (this.#state === 'dead') {
      this.#bury(item, 'terminated');
      return 'dead';
    }
    const admission = this.#mailbox.offer(item);
    if (!this.#isWoken) this.#wake();
    const isFull = admission !== 'accepted' && admission !== 'pause' && admission !== 'conflated';
    if (isFull && this.#runtime.events.isHeard) {
      const { policy, dropped } = this.#mailbox;
      this.#runtime.events.emit({ kind: 'overflow', path: this.path, policy, dropped });
    }
    return admission;
  }

  #bury(item: M | Asked<M>, reason: DeadLetter['reason']): void {
    const code = reason === 'dropped' ? 'TW_ASK_REFUSED' : 'TW_ASK_TERMINATED';
    if (item instanceof Asked) item.ask.fail(code, `${this.path} will not handle it: ${reason}`);
    this.#runtime.deadLetters.add(this.path, item instanceof Asked ? item.message : item, reason);
  }

  #wake(): void {
    if (this.#isWoken || this.#life === undefined || this.#life.isOver) return;
    this.#isWoken = true;
    this.#wokenAtMs = this.#runtime.clock.now();
    this.#place.wake();
  }

  /** Asks for a turn when there is something to do in it. */
  #wakeIfAny(): void {
    if (this.#internal.length > 0 || this.#mailbox.depth > 0 || this.#stash.hasBack) this.#wake();
  }

  #push(internal: Internal<M>): void {
    this.#internal.push(internal);
    this.#wake();
  }

  // --- one turn ---

  #turn(): void | Promise<void> {
    this.#isWoken = false;
    const life = this.#life;
    if (life === undefined || life.isOver || this.#state === 'starting' || life.inFlight !== undefined) return;
    try {
      return this.#drain(life);
    } catch (error) {
      // Nothing of the actor's can throw to here: it is a broken invariant, and counts as a crash of the actor.
      this.#fail(life, asError(error));
    }
  }

  /** Handles what waits, up to the budget. A promise: a handler is still at work. */
  #drain(life: Life<M, S>): void | Promise<void> {
    const startMs = this.#runtime.clock.now();
    const endMs = startMs + this.#options.budget.microseconds / 1000;
    this.#stats.waitMs.record(startMs - this.#wokenAtMs);
    for (let handled = 1; ; handled++) {
      const running = this.#handleNext(life);
      if (running === null) return;
      if (running !== undefined) return this.#waitFor(life, running, startMs);
      if (life.isOver) return;
      if (life.isStopRequested) return void this.#stopItself(life);
      if (handled === 1) this.#stats.processingMs.record(this.#runtime.clock.now() - startMs);
      const isSpent =
        handled >= this.#options.budget.messages || (handled % CLOCK_EVERY === 0 && this.#runtime.clock.now() >= endMs);
      if (isSpent) return this.#wakeIfAny();
    }
  }

  /** Handles one thing, the runtime's own first. Null: there was none. A promise: it is still being handled. */
  #handleNext(life: Life<M, S>): undefined | null | Promise<void> {
    if (this.#internal.length > 0) return this.#handleInternal(life, this.#internal.shift()!);
    if (this.#isSuspended) return null;
    const isPutBack = this.#stash.hasBack;
    if (!isPutBack && this.#mailbox.depth === 0) return null;
    const item = (isPutBack ? this.#stash.takeBack() : this.#mailbox.take()) as M | Asked<M>;
    this.#stats.messages++;
    if (!(item instanceof Asked)) return this.#handle(life, item);
    const { ask } = item;
    if (!ask.isSettled) {
      life.asks.add(ask);
      ask.onSettled = () => life.asks.delete(ask);
    }
    return this.#handle(life, item.message, ask);
  }

  #handleInternal(life: Life<M, S>, internal: Internal<M>): undefined | Promise<void> {
    if ('timer' in internal) {
      const { timer } = internal;
      return life.timers.take(timer) ? this.#handle(life, timer.message) : undefined;
    }
    const { signal } = internal;
    if (this.#options.behaviour.onSignal !== undefined) return this.#handle(life, undefined, undefined, signal);
    if (signal.kind === 'terminated') {
      this.#fail(life, new TapeworksError('TW_DEATH_PACT', `${this.path} was told that ${signal.path} is gone`));
    }
    return undefined;
  }

  /** Hands over a message, or the signal if there is one. No closure: this runs for each message. */
  #handle(life: Life<M, S>, message: M | undefined, ask?: Ask<never>, signal?: Signal): undefined | Promise<void> {
    if (life.isHandling) invariant(false, 'an actor handles one message at a time', { path: this.path });
    life.isHandling = true;
    try {
      const { behaviour } = this.#options;
      const { state } = life.current!;
      const next =
        signal === undefined
          ? behaviour.receive(state, message as M, life.context!)
          : behaviour.onSignal!(state, signal, life.context!);
      if (!(next instanceof Promise)) {
        life.current!.state = next;
        life.isHandling = false;
        return undefined;
      }
      return next.then(
        (state) => this.#handled(life, state),
        (error: unknown) => this.#handlerFailed(life, error, ask),
      );
    } catch (error) {
      this.#handlerFailed(life, error, ask);
      return undefined;
    }
  }

  #handled(life: Life<M, S>, state: S): void {
    life.isHandling = false;
    // Also when the life is over: `end` wants the state as the last handler left it.
    life.current!.state = state;
  }

  #handlerFailed(life: Life<M, S>, thrown: unknown, ask: Ask<never> | undefined): void {
    life.isHandling = false;
    const error = asError(thrown);
    if (ask !== undefined) {
      ask.fail('TW_ASK_FAILED', `${this.path} failed while it handled the question: ${error.message}`, error);
    }
    this.#fail(life, error);
  }

  /** Waits for an async handler, but not beyond the end of its life: a handler that hangs must not hold the next life. */
  #waitFor(life: Life<M, S>, running: Promise<void>, startMs: number): Promise<void> {
    life.inFlight = running.then(() => {
      life.inFlight = undefined;
      if (life.isOver) return;
      this.#stats.processingMs.record(this.#runtime.clock.now() - startMs);
      if (life.isStopRequested) void this.#stopItself(life);
      else this.#wakeIfAny();
    });
    return Promise.race([life.inFlight, life.closed]);
  }

  // --- lives ---

  async start(): Promise<void> {
    invariant(this.#life === undefined, 'a cell has one life at a time', { path: this.path });
    if (this.#state === 'dead') this.watchers.reopen();
    this.#state = 'starting';
    this.#isSuspended = false;
    const life = new Life<M, S>(++this.#stats.incarnation, this.#runtime.clock, (timer) => {
      if (timer.isQueued) return;
      timer.isQueued = true;
      this.#push({ timer });
    });
    this.#life = life;
    life.context = cellContext(this.#runtime, this, life, this.#stash, {
      signal: (signal) => this.#push({ signal }),
      unhandled: (message) => {
        this.#stats.unhandled++;
        this.#runtime.events.emit({ kind: 'unhandled', path: this.path, message: describe(message) });
      },
      leftBehind: (message) => this.#bury(message, 'left-behind'),
      stop: () => {
        life.isStopRequested = true;
        if (!life.isHandling && life.current !== undefined) void this.#stopItself(life);
      },
      fail: (error) => this.#fail(life, error),
    });
    await this.#init(life);
    if (life.isOver) {
      await life.closed;
      throw new TapeworksError('TW_ASK_TERMINATED', `${this.path} ended while it started`);
    }
    if (life.startError !== undefined) {
      this.#noteFailure(life.startError);
      await this.#endLife(life, { kind: 'failure', error: life.startError }, 'failed');
      throw life.startError;
    }
    this.#state = 'running';
    this.#runtime.events.emit({ kind: 'started', path: this.path, incarnation: life.incarnation });
    this.#stash.release();
    this.#wakeIfAny();
    if (life.isStopRequested) void this.#stopItself(life);
  }

  /** Waits for `init` until it is done, has failed, is overdue, or its life is over. */
  async #init(life: Life<M, S>): Promise<void> {
    const { startDeadlineMs, behaviour } = this.#options;
    const givenUp = new Promise<void>((resolve) => {
      life.giveUpStart = resolve;
    });
    beginInit(life, behaviour, { path: this.path, events: this.#runtime.events });
    const over = Promise.race([life.initialising!, givenUp, life.closed]);
    if ((await within(startDeadlineMs, over, this.#runtime.clock)) !== OVERDUE) return;
    const message = `${this.path} did not come up within ${startDeadlineMs} ms`;
    life.startError ??= new TapeworksError('TW_START_TIMEOUT', message);
  }

  #fail(life: Life<M, S>, error: Error): void {
    if (life.isOver) return;
    if (this.#state === 'starting') {
      life.startError ??= error;
      life.giveUpStart();
      return;
    }
    this.#noteFailure(error);
    void this.#endLife(life, { kind: 'failure', error }, 'failed').then(() => {
      this.onExit({ kind: 'failure', error });
    });
  }

  async #stopItself(life: Life<M, S>): Promise<void> {
    if (life.isOver) return;
    this.#state = 'halting';
    await this.#endLife(life, NORMAL, 'idle');
    this.onExit(NORMAL);
  }

  async halt(): Promise<void> {
    const life = this.#life;
    if (life === undefined) return;
    if (life.isOver) return life.closed;
    this.#state = 'halting';
    await this.#endLife(life, SHUTDOWN, 'idle', this.#options.shutdown === 'brutal');
  }

  async #endLife(life: Life<M, S>, reason: ExitReason, after: 'idle' | 'failed', isKilled = false): Promise<void> {
    const { shutdown, behaviour } = this.#options;
    const { clock, events } = this.#runtime;
    life.finish((ask) => ask.fail('TW_ASK_TERMINATED', `${this.path} ended before it replied`));
    if (after === 'failed') this.#state = 'failed';
    if (!isKilled) {
      const deadlineMs = shutdown === 'brutal' ? ACTOR_DEFAULTS.shutdown : shutdown;
      await windUp(life, behaviour, reason, { path: this.path, clock, events, deadlineMs });
    }
    this.#life = undefined;
    this.#state = after;
    this.#internal.length = 0;
    life.close();
  }

  #noteFailure(error: Error): void {
    this.#stats.failed(error, this.#runtime.clock.now());
    this.#runtime.events.emit({ kind: 'failed', path: this.path, incarnation: this.#stats.incarnation, error });
  }

  retire(reason: ExitReason): void {
    invariant(this.#life === undefined, 'only a cell without a life can be retired', { path: this.path });
    if (this.#state === 'dead') return;
    this.#state = 'dead';
    for (const message of this.#stash.drain()) this.#bury(message, 'left-behind');
    for (const item of this.#mailbox.drain()) this.#bury(item, 'left-behind');
    this.#runtime.events.emit({ kind: 'stopped', path: this.path, reason: reason.kind });
    this.watchers.end(reason.kind);
  }

  remove(): void {
    this.retire(SHUTDOWN);
    this.#place.remove();
  }

  // --- the operator's view ---

  /** Stops taking messages; they wait. The runtime's own still come through. */
  suspend(): void {
    if (this.#state !== 'running') return;
    this.#isSuspended = true;
    this.#state = 'suspended';
  }

  resume(): void {
    if (this.#state !== 'suspended') return;
    this.#isSuspended = false;
    this.#state = 'running';
    this.#wakeIfAny();
  }

  summary(): unknown {
    const current = this.#life?.current;
    return current === undefined ? undefined : this.#options.behaviour.summary?.(current.state);
  }

  inspect(): ActorInfo {
    const { depth, highWater, capacity, policy, drops } = this.#mailbox;
    return {
      path: this.path,
      kind: 'actor',
      state: this.#state,
      thread: this.#runtime.thread,
      ...this.#stats.info(this.#runtime.clock.now()),
      mailbox: { depth, highWater, capacity, policy, ...drops },
      children: [],
    };
  }
}
