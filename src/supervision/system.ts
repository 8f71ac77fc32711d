import { TapeworksError } from '../protocols/errors/index.ts';
import type { Ref } from '../protocols/ref.ts';
import { ask } from './ask.ts';
import { Cell } from './cell.ts';
import type { Child } from './child.ts';
import { type Clock, type Random, systemClock } from './clock.ts';
import { DeadLetters } from './dead-letters.ts';
import type { Host } from './host.ts';
import type { ActorInfo } from './inspect.ts';
import { LifecycleBus } from './lifecycle.ts';
import { nactHost } from './nact-host.ts';
import { Registry } from './registry.ts';
import { ThreadedActor } from './remote/threaded-actor.ts';
import type { Runtime } from './runtime.ts';
import { type ExitReason, SHUTDOWN } from './strategy.ts';
import { Supervisor } from './supervisor.ts';
import type { SupervisorOptions } from './supervisor-spec.ts';

export interface SystemOptions {
  readonly thread?: string;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly host?: Host;
}

export function newRuntime(options: SystemOptions = {}): Runtime {
  const clock = options.clock ?? systemClock;
  const events = new LifecycleBus(() => clock.now());
  return {
    thread: options.thread ?? 'main',
    host: options.host ?? nactHost(),
    clock,
    random: options.random ?? Math.random,
    events,
    deadLetters: new DeadLetters(events),
    registry: new Registry(),
  };
}

/** The runtime of one thread and the tree that it carries. */
export class ActorSystem {
  readonly runtime: Runtime;
  readonly root: Supervisor;
  /** Resolves with the reason when the root ends by itself: its supervisor gave up. */
  readonly ended: Promise<ExitReason>;
  #stopping: Promise<void> | undefined;

  constructor(root: Omit<SupervisorOptions, 'id'>, options: SystemOptions = {}) {
    this.runtime = newRuntime(options);
    this.root = new Supervisor(this.runtime, undefined, '/', { ...root, id: 'root' });
    this.ended = new Promise((resolve) => {
      this.root.onExit = resolve;
    });
  }

  get events(): LifecycleBus {
    return this.runtime.events;
  }

  get deadLetters(): DeadLetters {
    return this.runtime.deadLetters;
  }

  get registry(): Registry {
    return this.runtime.registry;
  }

  /** Resolves when every child of the tree is up. */
  start(): Promise<void> {
    return this.root.start();
  }

  /** Stops the tree, the last started first, and gives up the host. A second call waits for the first. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    await this.root.halt();
    this.root.retire(SHUTDOWN);
    this.root.remove();
    this.runtime.host.close();
  }

  ask<M, R>(target: Ref<M>, question: (replyTo: Ref<R>) => NoInfer<M>, deadlineMs: number): Promise<R> {
    return ask(target, question, { clock: this.runtime.clock, deadlineMs });
  }

  tree(): ActorInfo {
    return this.root.inspect();
  }

  /** Stops the actor from taking messages; they wait. */
  suspend(path: string): void {
    this.#cell(path).suspend();
  }

  resume(path: string): void {
    this.#cell(path).resume();
  }

  /** Gives the actor or supervisor a new life, in order, without counting it as a failure. */
  restart(path: string): void {
    const cut = path.lastIndexOf('/');
    const parent = this.#find(cut === 0 ? '/' : path.slice(0, cut));
    if (!(parent instanceof Supervisor)) throw unknownActor(path);
    parent.restartChild(path.slice(cut + 1));
  }

  /** What the actor says of its state, for the operator's eyes. */
  async summary(path: string): Promise<unknown> {
    return this.#cell(path).summary();
  }

  #cell(path: string): Cell<unknown, unknown> | ThreadedActor<unknown> {
    const child = this.#find(path);
    if (child instanceof Cell || child instanceof ThreadedActor) return child;
    throw unknownActor(path);
  }

  #find(path: string): Child | undefined {
    let child: Child | undefined = this.root;
    for (const id of path.split('/').filter((part) => part !== '')) {
      child = child instanceof Supervisor ? child.child(id) : undefined;
    }
    return child;
  }
}

function unknownActor(path: string): TapeworksError {
  return new TapeworksError('TW_UNKNOWN_ACTOR', `there is no such actor: ${path}`);
}
