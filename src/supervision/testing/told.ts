import type { ActorContext, Behaviour, Signal } from '../actor.ts';
import { type ActorOptions, type ActorSpec, actor } from '../spec.ts';

/** A message that says what the actor is to do with it. */
export type Deed = (context: ActorContext<Deed>) => void | Promise<void>;

export interface ToldActor {
  readonly spec: ActorSpec<Deed>;
  /** The context of each life, in order. */
  readonly contexts: ActorContext<Deed>[];
  readonly signals: Signal[];
}

const AT_ONCE = { minMs: 0, maxMs: 0, jitter: 0, resetAfterMs: 1000 };

/** An actor that does what each message says, for tests of what an actor can do. */
export function toldActor(
  id: string,
  options: Partial<Omit<ActorOptions<Deed, number>, 'behaviour'>> & {
    behaviour?: Partial<Behaviour<Deed, number>>;
  } = {},
): ToldActor {
  const contexts: ActorContext<Deed>[] = [];
  const signals: Signal[] = [];
  const behaviour: Behaviour<Deed, number> = {
    init: (context) => {
      contexts.push(context);
      return 0;
    },
    receive: (state, deed, context) => {
      const done = deed(context);
      return done instanceof Promise ? done.then(() => state + 1) : state + 1;
    },
    onSignal: (state, signal) => {
      signals.push(signal);
      return state;
    },
    ...options.behaviour,
  };
  return { spec: actor({ backoff: AT_ONCE, ...options, id, behaviour }), contexts, signals };
}
