import type { ActorInfo } from './inspect.ts';
import type { ExitReason } from './strategy.ts';

/**
 * What a supervisor supervises: an actor on this thread, an actor on another, a pinned thread's duty cycle, or another
 * supervisor. A child lives several lives under one ref; what waits in its mailbox waits through the pause between them.
 */
export interface Child {
  readonly path: string;
  /** Begins a new life; resolves when it is up, rejects when it did not come up. */
  start(): Promise<void>;
  /** Ends the present life within the child's shutdown deadline. Never rejects. */
  halt(): Promise<void>;
  /** There will be no further life, unless started again: watchers are told, waiting messages become dead letters. */
  retire(reason: ExitReason): void;
  /** Gives up the name. */
  remove(): void;
  inspect(): ActorInfo;
  /** Set by the supervisor: called once when a life ends that was not halted. */
  onExit: (reason: ExitReason) => void;
}

/** How long a life may take to end: milliseconds, or `brutal` for not at all. Infinity is for supervisors. */
export type Shutdown = number | 'brutal';
