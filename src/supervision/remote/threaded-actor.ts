// An actor on another thread, as its supervisor on this one sees it. The cell itself is over there, with its mailbox and
// its lives; what is here is its address, which outlives the thread, and the commands.
import { TapeworksError } from '../../protocols/errors/index.ts';
import type { Admission } from '../../protocols/ref.ts';
import type { Asked } from '../ask.ts';
import { ACTOR_DEFAULTS, type CellOptions } from '../cell-options.ts';
import type { Child } from '../child.ts';
import { within } from '../deadline.ts';
import { type ActorInfo, type FailureInfo, failureInfo } from '../inspect.ts';
import type { MailboxPolicy } from '../mailbox.ts';
import type { Runtime } from '../runtime.ts';
import { type ActorSpec, type ChildSpec, type FullRef, LateRef, policyOf } from '../spec.ts';
import type { ExitReason } from '../strategy.ts';
import { WatcherSet } from '../watch.ts';
import type { Link } from './link.ts';
import type { LoopThreadChild, LoopThreadSpec } from './loop-thread-child.ts';
import type { RemoteRef } from './remote-ref.ts';

type RemoteOptions = Partial<Omit<CellOptions<unknown, unknown>, 'behaviour' | 'mailbox'>> & {
  /** A conflating mailbox needs a function of the message, which cannot travel. */
  readonly mailbox?: { readonly capacity: number; readonly policy: Exclude<MailboxPolicy, 'conflate'> };
};

export interface ThreadedActorOptions extends RemoteOptions {
  readonly id: string;
  readonly thread: LoopThreadSpec;
  /** The module that the thread loads; its export makes a Behaviour from `args`. */
  readonly module: URL;
  readonly exportName: string;
  /** Asked at each placing and cloned to the thread; refs in its fields arrive as refs. */
  readonly args: () => unknown;
  readonly restart?: ChildSpec['restart'];
  readonly significant?: boolean;
  readonly backoff?: NonNullable<ChildSpec['backoff']>;
}

/** The order by which an actor gets its place on a thread. */
export interface PlaceOrder {
  readonly path: string;
  readonly module: string;
  readonly exportName: string;
  readonly args: unknown;
  readonly options: RemoteOptions;
}

/** An actor on a loop thread. Its supervisor, its watchers and its senders may be on another. */
export function threadedActor<M>(options: ThreadedActorOptions): ActorSpec<M> {
  const ref = new LateRef<M>(options.id);
  return {
    ...policyOf(options),
    ref,
    place(runtime, _parent, path) {
      const child = options.thread.child;
      if (child === undefined) {
        throw new TapeworksError('TW_INVARIANT', `${path} is placed before its thread "${options.thread.id}"`);
      }
      const actor = new ThreadedActor<M>(runtime, child, path, options);
      ref.bind(actor);
      return actor;
    },
  };
}

/** Commands may take as long as the life itself, and a little for the way. */
const COMMAND_MARGIN_MS = 1000;

export class ThreadedActor<M> implements Child, FullRef<M> {
  readonly path: string;
  readonly watchers: WatcherSet;
  onExit: (reason: ExitReason) => void = () => {};
  readonly #runtime: Runtime;
  readonly #thread: LoopThreadChild;
  readonly #options: ThreadedActorOptions;
  #link: Link | undefined;
  #remote: RemoteRef<M> | undefined;
  #state: ActorInfo['state'] = 'idle';
  #rejectedWhileDown = 0;
  /** Lives on earlier lives of the thread, which the cell on the present one does not know of. */
  #livesBefore = 0;
  #wentDown: FailureInfo | undefined;

  constructor(runtime: Runtime, thread: LoopThreadChild, path: string, options: ThreadedActorOptions) {
    this.path = path;
    this.watchers = new WatcherSet(path);
    this.#runtime = runtime;
    this.#thread = thread;
    this.#options = options;
  }

  // --- as an address ---

  tell(message: M): Admission {
    return this.#reachable()?.tell(message) ?? this.#unreachable(message);
  }

  offerAsked(asked: Asked<M>): Admission {
    return this.#reachable()?.offerAsked(asked) ?? this.#unreachable(asked.message);
  }

  whenReady(callback: () => void): void {
    const remote = this.#reachable();
    if (remote === undefined) callback();
    else remote.whenReady(callback);
  }

  #reachable(): RemoteRef<M> | undefined {
    return this.#state !== 'dead' && this.#thread.isCurrent(this.#link) ? this.#remote : undefined;
  }

  /** While the thread is down the message stays with its sender. */
  #unreachable(message: M): Admission {
    if (this.#state === 'dead') {
      this.#runtime.deadLetters.add(this.path, message, 'terminated');
      return 'dead';
    }
    this.#rejectedWhileDown++;
    return 'rejected';
  }

  // --- as a child ---

  async start(): Promise<void> {
    if (this.#state === 'dead') this.watchers.reopen();
    this.#state = 'starting';
    const startDeadlineMs = this.#options.startDeadlineMs ?? ACTOR_DEFAULTS.startDeadlineMs;
    try {
      const link = await this.#thread.link(startDeadlineMs);
      if (this.#link !== link) await this.#place(link);
      await link.call('start', { path: this.path });
    } catch (error) {
      this.#state = 'failed';
      throw error;
    }
    this.#state = 'running';
  }

  async #place(link: Link): Promise<void> {
    const { id, thread, module, exportName, args, restart, significant, backoff, ...options } = this.#options;
    const order: PlaceOrder = { path: this.path, module: module.href, exportName, args: link.encode(args()), options };
    const { ref } = (await link.call('place', order)) as { ref: RemoteRef<M> };
    this.#remote = ref;
    this.#link = link;
    this.#thread.settle(this.path, {
      exited: (reason) => this.#ended(reason),
      threadEnded: () => this.#threadEnded(),
      livesBefore: () => this.#livesBefore,
    });
  }

  async halt(): Promise<void> {
    if (!this.#thread.isCurrent(this.#link) || this.#state === 'dead') return;
    this.#state = 'halting';
    const shutdown = this.#options.shutdown ?? ACTOR_DEFAULTS.shutdown;
    const limitMs = (shutdown === 'brutal' ? 0 : shutdown) + COMMAND_MARGIN_MS;
    await within(limitMs, this.#command('halt'), this.#runtime.clock);
    this.#state = 'idle';
  }

  /** Sends a command that has no answer worth waiting for; when the thread is gone there is nothing left to command. */
  async #command(name: string): Promise<unknown> {
    if (!this.#thread.isCurrent(this.#link)) return undefined;
    return this.#link.call(name, { path: this.path }).catch(() => undefined);
  }

  #ended(reason: ExitReason): void {
    this.#state = reason.kind === 'failure' ? 'failed' : 'idle';
    this.onExit(reason);
  }

  #threadEnded(): void {
    const wasUp = this.#state === 'running' || this.#state === 'suspended';
    this.#link = undefined;
    this.#remote = undefined;
    if (!wasUp) return;
    const name = this.#thread.thread.name;
    const error = new TapeworksError('TW_THREAD_ENDED', `${this.path} went down with its thread ${name}`);
    this.#livesBefore += Math.max(1, this.#thread.infoOf(this.path)?.incarnation ?? 1);
    this.#wentDown = failureInfo(error, this.#runtime.clock.now());
    this.#runtime.events.emit({ kind: 'failed', path: this.path, incarnation: this.#livesBefore, error });
    this.#ended({ kind: 'failure', error });
  }

  retire(reason: ExitReason): void {
    if (this.#state === 'dead') return;
    this.#state = 'dead';
    void this.#command('retire');
    this.#runtime.registry.forget(this);
    this.watchers.end(reason.kind);
  }

  remove(): void {
    this.retire({ kind: 'shutdown' });
    void this.#command('remove');
    this.#thread.leave(this.path);
  }

  // --- the operator's view ---

  suspend(): void {
    if (this.#state !== 'running') return;
    this.#state = 'suspended';
    void this.#command('suspend');
  }

  resume(): void {
    if (this.#state !== 'suspended') return;
    this.#state = 'running';
    void this.#command('resume');
  }

  summary(): Promise<unknown> {
    return this.#command('summary');
  }

  inspect(): ActorInfo {
    const last = this.#thread.infoOf(this.path);
    const nothing = { rejected: 0, droppedOldest: 0, droppedNewest: 0, conflated: 0, depth: 0, highWater: 0 };
    const mailbox = last?.mailbox ?? { ...nothing, ...ACTOR_DEFAULTS.mailbox, ...this.#options.mailbox };
    const incarnation = this.#livesBefore + (last?.incarnation ?? 0);
    const rejected = mailbox.rejected + (this.#remote?.rejected ?? 0) + this.#rejectedWhileDown;
    return {
      path: this.path,
      kind: 'actor',
      state: this.#state,
      thread: this.#thread.thread.name,
      incarnation,
      restarts: Math.max(0, incarnation - 1),
      lastFailure: last?.lastFailure ?? this.#wentDown,
      mailbox: { ...mailbox, rejected },
      messages: last?.messages ?? 0,
      unhandled: last?.unhandled ?? 0,
      waitMs: last?.waitMs,
      processingMs: last?.processingMs,
      children: [],
    };
  }
}
