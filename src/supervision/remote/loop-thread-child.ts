import { TapeworksError } from '../../protocols/errors/index.ts';
import { OVERDUE, within } from '../deadline.ts';
import type { ActorInfo, ThreadInfo } from '../inspect.ts';
import type { Runtime } from '../runtime.ts';
import { type ChildSpec, policyOf } from '../spec.ts';
import type { ExitReason } from '../strategy.ts';
import { LoopThread } from '../threads/loop-thread.ts';
import { Link } from './link.ts';
import type { ThreadNotes } from './loop-host.ts';
import { ThreadChild } from './thread-child.ts';

export interface LoopThreadOptions {
  readonly id: string;
  readonly cpu?: number;
  readonly memoryLimitMb?: number;
  /** Without a heartbeat for this long the thread counts as hung. */
  readonly hangMs?: number;
  readonly shutdownMs?: number;
  readonly backoff?: NonNullable<ChildSpec['backoff']>;
  readonly onWarning?: (warning: string) => void;
}

export interface LoopThreadSpec extends ChildSpec {
  /** The thread, once it is placed in the tree. */
  readonly child: LoopThreadChild | undefined;
}

const SHUTDOWN_MS = 10_000;
/** Garbage collections and a busy neighbour stop an event loop for a while; only longer is a hang. */
const HANG_MS = 5_000;

/** A thread with an event loop, for actors to be placed on. It must be started before them: put it first. */
export function loopThread(options: LoopThreadOptions): LoopThreadSpec {
  let child: LoopThreadChild | undefined;
  return {
    ...policyOf(options),
    get child() {
      return child;
    },
    place(runtime, _parent, path) {
      child = new LoopThreadChild(runtime, path, options);
      return child;
    },
  };
}

/** What an actor on the thread hears of its life there. */
export interface Resident {
  exited(reason: ExitReason): void;
  /** The thread's life is over, and the actor's with it. */
  threadEnded(): void;
  /** Lives on earlier lives of the thread; the cell over there begins to count anew. */
  livesBefore(): number;
}

export class LoopThreadChild extends ThreadChild<LoopThread> {
  readonly #runtime: Runtime;
  readonly #residents = new Map<string, Resident>();
  #infos = new Map<string, ActorInfo>();
  #link: Link | undefined;
  #waiting: ((link: Link) => void)[] = [];

  constructor(runtime: Runtime, path: string, options: LoopThreadOptions) {
    const thread = new LoopThread({
      name: options.id,
      module: new URL('./loop-host.js', import.meta.url),
      exportName: 'hostActors',
      prepare: () => ({ args: { thread: options.id } }),
      hangMs: options.hangMs ?? HANG_MS,
      ...(options.cpu !== undefined && { cpu: options.cpu }),
      ...(options.memoryLimitMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: options.memoryLimitMb } }),
      ...(options.onWarning !== undefined && { onWarning: options.onWarning }),
    });
    super(runtime, path, thread, 'loop', options.shutdownMs ?? SHUTDOWN_MS);
    this.#runtime = runtime;
  }

  protected override onUp(): void {
    const link = new Link({
      port: this.thread.port!,
      clock: this.#runtime.clock,
      deadLetters: this.#runtime.deadLetters,
      onCall: (name) => {
        throw new TapeworksError('TW_INVARIANT', `a loop thread has nothing to call here: ${name}`);
      },
      onNote: (name, value) => this.#heard(name as keyof ThreadNotes, value),
    });
    this.#link = link;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve(link);
  }

  protected override onDown(): void {
    this.#link?.close();
    this.#link = undefined;
    for (const resident of [...this.#residents.values()]) resident.threadEnded();
    this.#infos.clear();
  }

  #heard(name: keyof ThreadNotes, value: unknown): void {
    if (name === 'exit') {
      const { path, ...reason } = value as ThreadNotes['exit'];
      this.#residents.get(path)?.exited(reason);
    } else if (name === 'infos') {
      this.#infos = new Map((value as ThreadNotes['infos']).map((info) => [info.path, info]));
    } else {
      const event = value as ThreadNotes['event'];
      const before = this.#residents.get(event.path)?.livesBefore() ?? 0;
      const isOfALife = 'incarnation' in event;
      this.#runtime.events.emit(isOfALife ? { ...event, incarnation: event.incarnation + before } : event);
    }
  }

  /** The link of the present life, waiting for the thread to be up if it is not. */
  async link(deadlineMs: number): Promise<Link> {
    if (this.#link !== undefined) return this.#link;
    const up = new Promise<Link>((resolve) => this.#waiting.push(resolve));
    const link = await within(deadlineMs, up, this.#runtime.clock);
    if (link !== OVERDUE) return link;
    throw new TapeworksError('TW_START_TIMEOUT', `thread ${this.thread.name} was not up within ${deadlineMs} ms`);
  }

  isCurrent(link: Link | undefined): link is Link {
    return link !== undefined && link === this.#link;
  }

  settle(path: string, resident: Resident): void {
    this.#residents.set(path, resident);
  }

  leave(path: string): void {
    this.#residents.delete(path);
  }

  /** What the actor last said of itself. */
  infoOf(path: string): ActorInfo | undefined {
    return this.#infos.get(path);
  }

  protected override health(): Pick<ThreadInfo, 'loop'> {
    return { loop: this.thread.health };
  }
}
