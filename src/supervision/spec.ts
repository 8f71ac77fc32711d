import type { Admission, Ref } from '../protocols/ref.ts';
import type { Behaviour } from './actor.ts';
import type { Askable, Asked } from './ask.ts';
import type { Backoff } from './backoff.ts';
import { Cell } from './cell.ts';
import { ACTOR_DEFAULTS, type Budget } from './cell-options.ts';
import type { Child, Shutdown } from './child.ts';
import type { Place } from './host.ts';
import type { MailboxOptions } from './mailbox.ts';
import type { Runtime } from './runtime.ts';
import { checkActorOptions } from './spec-checks.ts';
import type { ChildPolicy, RestartType } from './strategy.ts';
import { type Watchable, WatcherSet } from './watch.ts';

/** What a supervisor needs to know of a child before it exists. */
export interface ChildSpec extends ChildPolicy {
  /** Makes the child's place in the tree; it has no life yet. */
  place(runtime: Runtime, parent: Place | undefined, path: string): Child;
}

export interface ActorOptions<M, S> {
  readonly id: string;
  readonly behaviour: Behaviour<M, S>;
  readonly restart?: RestartType;
  readonly significant?: boolean;
  readonly backoff?: Backoff;
  readonly mailbox?: MailboxOptions<M>;
  readonly stashCapacity?: number;
  /** How long a life may take to end. */
  readonly shutdown?: Shutdown;
  /** How long `init` may take. */
  readonly startDeadlineMs?: number;
  readonly budget?: Budget;
}

export interface ActorSpec<in M> extends ChildSpec {
  /** The actor's address; it may be handed out before the actor is placed. */
  readonly ref: Ref<M>;
}

/** What the options of a child say to its supervisor. */
export function policyOf(options: { readonly id: string } & Partial<ChildPolicy>): ChildPolicy {
  const { id, restart = 'permanent', significant, backoff } = options;
  return { id, restart, ...(significant !== undefined && { significant }), ...(backoff !== undefined && { backoff }) };
}

/** An actor on the thread of its supervisor. */
export function actor<M, S>(options: ActorOptions<M, S>): ActorSpec<M> {
  const ref = new LateRef<M>(options.id);
  const complete = { ...ACTOR_DEFAULTS, ...options };
  checkActorOptions(options.id, complete);
  return {
    ...policyOf(options),
    ref,
    place(runtime, parent, path) {
      const cell = new Cell<M, S>(runtime, parent, path, complete);
      ref.bind(cell);
      return cell;
    },
  };
}

/** The kind of ref that cells, and proxies of cells, are. */
export type FullRef<M> = Askable<M> & Watchable & { whenReady(callback: () => void): void };

/** A ref that can be handed out before its actor is placed: until then the actor counts as gone. */
export class LateRef<M> implements Askable<M>, Watchable {
  readonly #id: string;
  readonly #unbound: WatcherSet;
  #target: FullRef<M> | undefined;

  constructor(id: string) {
    this.#id = id;
    this.#unbound = new WatcherSet(id);
    this.#unbound.end('shutdown');
  }

  bind(target: FullRef<M>): void {
    this.#target = target;
  }

  get path(): string {
    return this.#target?.path ?? this.#id;
  }

  get watchers(): WatcherSet {
    return this.#target?.watchers ?? this.#unbound;
  }

  tell(message: M): Admission {
    return this.#target === undefined ? 'dead' : this.#target.tell(message);
  }

  offerAsked(asked: Asked<M>): Admission {
    return this.#target === undefined ? 'dead' : this.#target.offerAsked(asked);
  }

  whenReady(callback: () => void): void {
    if (this.#target === undefined) callback();
    else this.#target.whenReady(callback);
  }
}
