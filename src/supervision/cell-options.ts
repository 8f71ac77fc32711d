import type { Behaviour } from './actor.ts';
import type { Shutdown } from './child.ts';
import type { MailboxOptions } from './mailbox.ts';

export interface CellOptions<M, S> {
  /** The name of its place in the host, where that is not the last part of its path. */
  readonly name?: string;
  readonly behaviour: Behaviour<M, S>;
  readonly mailbox: MailboxOptions<M>;
  readonly stashCapacity: number;
  readonly shutdown: Shutdown;
  readonly startDeadlineMs: number;
  readonly budget: Budget;
}

/** How much one turn may do before the event loop goes on: so many messages, or so many microseconds. */
export interface Budget {
  readonly messages: number;
  readonly microseconds: number;
}

export const ACTOR_DEFAULTS = {
  mailbox: { capacity: 1024, policy: 'reject' },
  stashCapacity: 256,
  shutdown: 5000,
  startDeadlineMs: 30_000,
  budget: { messages: 128, microseconds: 500 },
} as const;
