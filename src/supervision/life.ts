import { TapeworksError } from '../protocols/errors/index.ts';
import type { ActorContext, Stash, Timers } from './actor.ts';
import type { Ask } from './ask.ts';
import type { Clock } from './clock.ts';
import { deferred } from './deferred.ts';

/** What belongs to one life of a cell and ends with it, so that nothing of an earlier life can reach a later one. */
export class Life<M, S> {
  readonly incarnation: number;
  readonly timers: LifeTimers<M>;
  readonly asks = new Set<Ask<never>>();
  readonly aborter = new AbortController();
  context: ActorContext<M> | undefined;
  /** Undefined until `init` is done. */
  current: { state: S } | undefined;
  /** `init` under way; settles when it is done, and never rejects. */
  initialising: Promise<void> | undefined;
  /** Why this life does not come up: what `init` threw, or what was reported by `fail` meanwhile. */
  startError: Error | undefined;
  /** Ends the wait for `init`. */
  giveUpStart = () => {};
  /** The handler that is running, when it is an async one; settles when it is done, and never rejects. */
  inFlight: Promise<void> | undefined;
  /** True while a handler runs: the assertion behind "one message at a time". */
  isHandling = false;
  isStopRequested = false;
  /** No further message; what is in flight may still finish. */
  isOver = false;
  /** Nothing of it is waited for any more: what it still does was abandoned. */
  isClosed = false;
  readonly #closed = deferred<void>();

  constructor(incarnation: number, clock: Clock, onTimer: (timer: PendingTimer<M>) => void) {
    this.incarnation = incarnation;
    this.timers = new LifeTimers(clock, onTimer);
  }

  /** Resolves when nothing of this life is waited for any more. */
  get closed(): Promise<void> {
    return this.#closed.promise;
  }

  /** Takes no more messages and no more timers. Unanswered questions fail now: nobody will answer them. */
  finish(askFailure: (ask: Ask<never>) => void): void {
    this.isOver = true;
    this.timers.cancelAll();
    for (const ask of this.asks) askFailure(ask);
    this.asks.clear();
  }

  close(): void {
    this.isClosed = true;
    this.aborter.abort();
    this.#closed.resolve();
  }
}

export interface PendingTimer<M> {
  readonly key: string;
  readonly message: M;
  readonly isPeriodic: boolean;
  /** False once the timer was cancelled or replaced after it fired but before its message was handled. */
  isLive: boolean;
  /** Its message waits; a periodic timer that fires again before it is handled adds no second one. */
  isQueued: boolean;
}

/** The longest list of timers that an actor may hold: a key made from data must not grow without end. */
const TIMERS_MAX = 1024;

class LifeTimers<M> implements Timers<M> {
  readonly #clock: Clock;
  readonly #onTimer: (timer: PendingTimer<M>) => void;
  readonly #timers = new Map<string, { cancel: () => void; pending: PendingTimer<M> }>();

  constructor(clock: Clock, onTimer: (timer: PendingTimer<M>) => void) {
    this.#clock = clock;
    this.#onTimer = onTimer;
  }

  once(key: string, delayMs: number, message: M): void {
    this.#set({ key, message, isPeriodic: false, isLive: true, isQueued: false }, (pending) =>
      this.#clock.after(delayMs, () => this.#onTimer(pending)),
    );
  }

  every(key: string, periodMs: number, message: M): void {
    this.#set({ key, message, isPeriodic: true, isLive: true, isQueued: false }, (pending) => {
      let cancel = () => {};
      const arm = () => {
        cancel = this.#clock.after(periodMs, () => {
          arm();
          this.#onTimer(pending);
        });
      };
      arm();
      return () => cancel();
    });
  }

  #set(pending: PendingTimer<M>, arm: (pending: PendingTimer<M>) => () => void): void {
    this.cancel(pending.key);
    if (this.#timers.size >= TIMERS_MAX) {
      throw new TapeworksError('TW_TIMERS_OVERFLOW', `more than ${TIMERS_MAX} timers, at key "${pending.key}"`);
    }
    this.#timers.set(pending.key, { cancel: arm(pending), pending });
  }

  /** Its turn has come. False: it was cancelled or replaced since it fired. */
  take(pending: PendingTimer<M>): boolean {
    pending.isQueued = false;
    if (pending.isLive && !pending.isPeriodic) this.#timers.delete(pending.key);
    return pending.isLive;
  }

  cancel(key: string): void {
    const timer = this.#timers.get(key);
    if (timer === undefined) return;
    timer.pending.isLive = false;
    timer.cancel();
    this.#timers.delete(key);
  }

  cancelAll(): void {
    for (const key of [...this.#timers.keys()]) this.cancel(key);
  }
}

/** Messages put aside, and messages put back: both survive the end of a life, so that a crash loses none of them. */
export class StashBuffer<M> implements Stash<M> {
  readonly #capacity: number;
  readonly #onRelease: () => void;
  #aside: M[] = [];
  #back: M[] = [];

  constructor(capacity: number, onRelease: () => void) {
    this.#capacity = capacity;
    this.#onRelease = onRelease;
  }

  get size(): number {
    return this.#aside.length;
  }

  put(message: M): void {
    if (this.#aside.length + this.#back.length >= this.#capacity) {
      throw new TapeworksError('TW_STASH_OVERFLOW', `the stash is full at ${this.#capacity} messages`);
    }
    this.#aside.push(message);
  }

  release(): void {
    this.#back.push(...this.#aside);
    this.#aside = [];
    if (this.#back.length > 0) this.#onRelease();
  }

  takeBack(): M | undefined {
    return this.#back.shift();
  }

  get hasBack(): boolean {
    return this.#back.length > 0;
  }

  drain(): M[] {
    this.release();
    return this.#back.splice(0);
  }
}
