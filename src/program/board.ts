import type { Behaviour } from '../supervision/actor.ts';
import { type ActorSpec, actor } from '../supervision/spec.ts';

/** What an actor on any thread says of itself, under its path. */
export interface Posting {
  readonly path: string;
}

/** The latest posting of each actor, for whoever wants to look without asking. */
export class Board<P extends Posting> {
  readonly #latest = new Map<string, P>();
  readonly spec: ActorSpec<P>;

  constructor(id: string) {
    const behaviour: Behaviour<P, undefined> = {
      init: () => undefined,
      receive: (_state, posting) => {
        this.#latest.set(posting.path, posting);
        return undefined;
      },
    };
    this.spec = actor({
      id,
      behaviour,
      mailbox: { capacity: 1024, policy: 'conflate', keyOf: (posting) => posting.path },
    });
  }

  get(path: string): P | undefined {
    return this.#latest.get(path);
  }

  all(): P[] {
    return [...this.#latest.values()];
  }

  forget(path: string): void {
    this.#latest.delete(path);
  }
}
