import type { Ref } from '../protocols/ref.ts';
import type { Registry } from './registry.ts';
import type { ExitReason } from './strategy.ts';

// How to write an actor: give `init`, which makes the state of a new life, and `receive`, which takes one message and
// answers the next state. Either may be async; the next message waits for it. Throwing is a crash: the supervisor decides.
// What the outside may get wrong (a bad request, a refused order) is not a crash: answer it in the protocol.

/** What the runtime itself tells an actor, ahead of its messages. */
export type Signal =
  /** A watched actor is down for good. An actor without `onSignal` fails when it is told this. */
  | { readonly kind: 'terminated'; readonly path: string; readonly reason: ExitReason['kind'] }
  /** The mailbox that answered `pause` has room again. */
  | { readonly kind: 'ready'; readonly path: string };

export interface Behaviour<M, S> {
  /** Makes the state of a new life. A throw or a rejection is a failure like any other, and is backed off. */
  init(context: ActorContext<M>): S | Promise<S>;
  receive(state: S, message: M, context: ActorContext<M>): S | Promise<S>;
  onSignal?(state: S, signal: Signal, context: ActorContext<M>): S | Promise<S>;
  /** Runs once at the end of every life that came up, whatever ended it, unless its supervisor kills it. */
  end?(state: S, reason: ExitReason): void | Promise<void>;
  /** A small plain object for the operator's eyes. */
  summary?(state: S): unknown;
}

/** What an actor can do, bound to one life of it: in a later life, a context of an earlier one does nothing. */
export interface ActorContext<M> {
  readonly self: Ref<M>;
  readonly path: string;
  /** 1 for the first life. */
  readonly incarnation: number;
  readonly timers: Timers<M>;
  readonly stash: Stash<M>;
  readonly registry: Registry;
  /** Aborted when this life ends: give it to sockets, fetches and waits. */
  readonly signal: AbortSignal;
  now(): number;
  /** Asks to be told once when the other is down for good; at once if it already is. */
  watch(ref: Ref<never>): void;
  unwatch(ref: Ref<never>): void;
  /** Asks to be told once when a mailbox that answered `pause` has room again. */
  whenReady(ref: Ref<never>): void;
  /** Says that this message has no meaning in the present state; it is counted and reported. */
  unhandled(message: M): void;
  /** Tells whoever reads the log, in a sentence. Say it once, not with each message. */
  warn(text: string): void;
  /** Ends this life as a normal exit once the present message is handled. */
  stop(): void;
  /** Crashes this life from outside a message, for instance from a socket's error event. */
  fail(error: Error): void;
}

/** Timers arrive as messages ahead of the mailbox, one of a key at a time, and die with the life that set them. */
export interface Timers<M> {
  once(key: string, delayMs: number, message: M): void;
  every(key: string, periodMs: number, message: M): void;
  cancel(key: string): void;
}

/** Messages put aside until the actor is ready for them. What is still in it when a life ends is handled by the next. */
export interface Stash<M> {
  readonly size: number;
  /** Throws TW_STASH_OVERFLOW when full: an actor that never gets ready must not hoard. */
  put(message: M): void;
  /** Puts everything back, in order, ahead of the mailbox. */
  release(): void;
}
