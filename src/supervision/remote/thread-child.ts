import { TapeworksError } from '../../protocols/errors/index.ts';
import type { Child } from '../child.ts';
import { type ActorInfo, type FailureInfo, failureInfo, type ThreadInfo } from '../inspect.ts';
import type { Runtime } from '../runtime.ts';
import type { ExitReason } from '../strategy.ts';
import type { ThreadEnd } from '../threads/thread-handle.ts';
import type { WorkerThread } from '../threads/worker-life.ts';

/** A thread as a child of a supervisor: a crash, a hang, an exit or too much memory is a failure like any other. */
export class ThreadChild<T extends WorkerThread = WorkerThread> implements Child {
  readonly path: string;
  readonly thread: T;
  onExit: (reason: ExitReason) => void = () => {};
  readonly #runtime: Runtime;
  readonly #kind: 'loop' | 'pinned';
  readonly #shutdownMs: number;
  #lastFailure: FailureInfo | undefined;
  #isHalting = false;

  constructor(runtime: Runtime, path: string, thread: T, kind: 'loop' | 'pinned', shutdownMs: number) {
    this.path = path;
    this.thread = thread;
    this.#runtime = runtime;
    this.#kind = kind;
    this.#shutdownMs = shutdownMs;
    thread.onExit((end) => this.#ended(end));
  }

  async start(): Promise<void> {
    this.#isHalting = false;
    const { events } = this.#runtime;
    try {
      await this.thread.start();
    } catch (error) {
      this.#noteFailure(error as Error);
      throw error;
    }
    events.emit({ kind: 'started', path: this.path, incarnation: this.thread.life });
    this.onUp();
  }

  async halt(): Promise<void> {
    this.#isHalting = true;
    await this.thread.stop(this.#shutdownMs);
  }

  /** For what must be done when a life is up, or is over. */
  protected onUp(): void {}
  protected onDown(): void {}

  #ended(end: ThreadEnd): void {
    this.onDown();
    if (this.#isHalting) return;
    const why = end.error?.message ?? `exit code ${end.exitCode}`;
    const error = new TapeworksError(
      'TW_THREAD_ENDED',
      `thread ${this.thread.name} ended: ${end.reason}, ${why}`,
      { thread: this.thread.name, reason: end.reason, life: end.life },
      { cause: end.error },
    );
    this.#noteFailure(error);
    this.onExit({ kind: 'failure', error });
  }

  #noteFailure(error: Error): void {
    this.#lastFailure = failureInfo(error, this.#runtime.clock.now());
    this.#runtime.events.emit({ kind: 'failed', path: this.path, incarnation: this.thread.life, error });
  }

  retire(reason: ExitReason): void {
    this.#runtime.events.emit({ kind: 'stopped', path: this.path, reason: reason.kind });
  }

  remove(): void {}

  inspect(): ActorInfo {
    const { thread } = this;
    const state = { resting: 'idle', starting: 'starting', running: 'running', stopping: 'halting' } as const;
    return {
      path: this.path,
      kind: 'thread',
      state: thread.state === 'resting' && this.#lastFailure && !this.#isHalting ? 'failed' : state[thread.state],
      thread: thread.name,
      incarnation: thread.life,
      restarts: Math.max(0, thread.life - 1),
      lastFailure: this.#lastFailure,
      mailbox: undefined,
      unhandled: 0,
      waitMs: undefined,
      ...this.work(),
      children: [],
      threadInfo: {
        name: thread.name,
        kind: this.#kind,
        cpu: thread.placement?.cpu,
        observedCpus: thread.placement?.observed ?? '',
        pinnedBy: thread.placement?.how,
        tid: thread.placement?.tid ?? 0,
        beats: thread.beats,
        ...this.health(),
      },
    };
  }

  protected work(): Pick<ActorInfo, 'messages' | 'processingMs'> {
    return { messages: 0, processingMs: undefined };
  }

  /** What the thread's kind can tell of it. */
  protected health(): Pick<ThreadInfo, 'loop' | 'duty'> {
    return {};
  }
}
