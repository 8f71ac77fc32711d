import { asError } from '../protocols/errors/index.ts';
import type { Behaviour } from './actor.ts';
import type { Clock } from './clock.ts';
import { Deadline, OVERDUE } from './deadline.ts';
import type { Life } from './life.ts';
import type { LifecycleBus } from './lifecycle.ts';
import { type ExitReason, SHUTDOWN } from './strategy.ts';

/** Whose life it is, and where to report. */
interface Whose {
  readonly path: string;
  readonly events: LifecycleBus;
}

export interface WindUp extends Whose {
  readonly clock: Clock;
  /** For all of it together: what is in flight, then `end`. */
  readonly deadlineMs: number;
}

/**
 * Lets what is in flight finish (`init`, whose signal is aborted first, or a handler), then runs `end`, both within one
 * deadline. One thread cannot kill its own code: what is overdue is reported and no longer waited for. Never rejects.
 */
export async function windUp<M, S>(
  life: Life<M, S>,
  behaviour: Behaviour<M, S>,
  reason: ExitReason,
  how: WindUp,
): Promise<void> {
  const deadline = new Deadline(how.clock, how.deadlineMs);
  const isDone = async (what: 'init' | 'handler' | 'end', work: Promise<void>) => {
    if ((await deadline.race(work)) !== OVERDUE) return true;
    how.events.emit({ kind: 'abandoned', path: how.path, what, afterMs: deadline.elapsedMs });
    return false;
  };
  // A handler that calls `fail` is still on the stack: once it has returned, it is done or in flight.
  if (life.isHandling && life.inFlight === undefined) await undefined;
  if (life.current === undefined) life.aborter.abort();
  const [what, work] =
    life.current === undefined ? (['init', life.initialising] as const) : (['handler', life.inFlight] as const);
  const isIdle = work === undefined || (await isDone(what, work));
  const { current } = life;
  if (isIdle && current !== undefined && behaviour.end !== undefined) {
    await isDone('end', runEnd(behaviour, current.state, reason, how));
  }
  deadline.lift();
}

/** Calls `init`. Its outcome is left in the life: a state, or the reason why there is none. */
export function beginInit<M, S>(life: Life<M, S>, behaviour: Behaviour<M, S>, whose: Whose): void {
  // Async, so that an init that throws at once is a rejection like another.
  const init = (async () => behaviour.init(life.context!))();
  life.initialising = init.then(
    (state) => {
      // Nobody waits for it any more; what it opened must be closed all the same.
      if (life.isClosed) return runEnd(behaviour, state, SHUTDOWN, whose);
      life.current = { state };
      return undefined;
    },
    (thrown: unknown) => {
      life.startError ??= asError(thrown);
    },
  );
}

/** Calls `end`; what it throws is reported and goes no further. */
async function runEnd<M, S>(behaviour: Behaviour<M, S>, state: S, reason: ExitReason, whose: Whose): Promise<void> {
  try {
    await behaviour.end?.(state, reason);
  } catch (thrown) {
    whose.events.emit({ kind: 'end-failed', path: whose.path, error: asError(thrown) });
  }
}
