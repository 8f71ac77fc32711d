import { type ResourceLimits, type Transferable, Worker } from 'node:worker_threads';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { deferred } from '../deferred.ts';
import { Doorbell } from './doorbell.ts';
import { HeartbeatWatch, LOOKS_TO_HANG } from './heartbeat.ts';
import { WORD_BYTES } from './layout.ts';
import { SharedMemory } from './memory.ts';
import type { Placement } from './pin.ts';
import { ORDER_RUN, ORDER_STOP, THREAD, THREAD_BLOCK_BYTES, THREAD_DOORBELL_BYTE } from './thread-block.ts';
import type { EndReason, ThreadEnd, ThreadHandle, ThreadState } from './thread-handle.ts';

/** What a life is given: a cloned value and the ports that move with it. Made anew for each life. */
export interface LifeArgs {
  readonly args: unknown;
  readonly transfer?: readonly Transferable[];
}

export interface WorkerThreadOptions {
  readonly name: string;
  /** URL of the module that the thread runs, and the export in it. */
  readonly module: URL;
  readonly exportName: string;
  /** Called before each life, when no thread of an earlier life runs any more: the place to admit mailbox ends. */
  readonly prepare: (life: number) => LifeArgs;
  readonly cpu?: number | undefined;
  readonly resourceLimits?: ResourceLimits;
  readonly readyDeadlineMs?: number;
  /** A thread without a heartbeat for this long is hung and is ended. */
  readonly hangMs?: number;
  /** Where the thread block lies, if it must share a buffer with others; else it gets a buffer of its own. */
  readonly block?: { readonly buffer: SharedArrayBuffer; readonly at: number };
  /** Told when the thread does not run where it was asked to. */
  readonly onWarning?: (warning: string) => void;
}

/** What every thread's entry finds in workerData, beside what its kind adds. */
export interface EntryData {
  readonly name: string;
  readonly module: string;
  readonly exportName: string;
  readonly life: number;
  readonly args: unknown;
  readonly cpu: number | undefined;
  readonly buffer: SharedArrayBuffer;
  readonly blockAt: number;
}

export interface EntryAddition {
  readonly data: object;
  readonly transfer: readonly Transferable[];
}

/** The one message that an entry sends about itself. */
export interface ReadyMessage {
  readonly kind: 'ready';
  readonly placement: Placement;
}

const READY_DEADLINE_MS = 10_000;
const HANG_MS = 2_000;

interface Life {
  readonly worker: Worker;
  readonly number: number;
  readonly ended: Promise<ThreadEnd>;
  /** Why we ended it, if we did; otherwise its own error and exit code say. */
  ending: EndReason | undefined;
}

/** The lifecycle that pinned and loop threads share: begin, become ready, watch, ask to stop, end, tell. */
export abstract class WorkerThread implements ThreadHandle {
  readonly name: string;
  readonly memory: SharedMemory;
  readonly blockAt: number;
  readonly doorbell: Doorbell;
  protected readonly options: WorkerThreadOptions;
  readonly #entry: URL;
  readonly #listeners = new Set<(end: ThreadEnd) => void>();
  #current: Life | undefined;
  #state: ThreadState = 'resting';
  #life = 0;
  #placement: Placement | undefined;

  protected constructor(options: WorkerThreadOptions, entry: URL) {
    this.options = options;
    this.name = options.name;
    this.#entry = entry;
    this.memory = new SharedMemory(options.block?.buffer ?? new SharedArrayBuffer(THREAD_BLOCK_BYTES));
    this.blockAt = options.block?.at ?? 0;
    this.doorbell = new Doorbell(this.memory, this.doorbellAt);
  }

  get state(): ThreadState {
    return this.#state;
  }

  get life(): number {
    return this.#life;
  }

  /** Counts up while the thread makes progress. */
  get beats(): number {
    return this.memory.load(this.word(THREAD.BEATS)) >>> 0;
  }

  get placement(): Placement | undefined {
    return this.#placement;
  }

  /** Byte offset of the thread's doorbell in `memory`. */
  get doorbellAt(): number {
    return this.blockAt + THREAD_DOORBELL_BYTE;
  }

  /** What a kind of thread adds to workerData for a new life. */
  protected abstract entryData(): EntryAddition;

  protected word(index: number): number {
    return this.blockAt / WORD_BYTES + index;
  }

  onExit(listener: (end: ThreadEnd) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async start(): Promise<Placement> {
    if (this.#state !== 'resting') {
      throw new TapeworksError('TW_THREAD_START', `thread ${this.name} is already ${this.#state}`);
    }
    this.memory.store(this.word(THREAD.ORDER), ORDER_RUN);
    const life = this.#begin(++this.#life);
    this.#current = life;
    this.#state = 'starting';
    const ready = await this.#becomesReady(life);
    if (ready === undefined) return this.#refuseStart(await life.ended);
    this.#placement = ready;
    this.#state = 'running';
    if (ready.warning !== undefined) this.options.onWarning?.(`thread ${this.name}: ${ready.warning}`);
    this.#watch(life);
    return ready;
  }

  async stop(deadlineMs: number): Promise<ThreadEnd> {
    const life = this.#current;
    if (life === undefined) return this.#neverRan();
    if (this.#state !== 'running') return this.kill();
    this.#state = 'stopping';
    life.ending = 'stopped';
    this.memory.store(this.word(THREAD.ORDER), ORDER_STOP);
    this.doorbell.ring();
    this.askToStop(life.worker);
    const deadline = setTimeout(() => this.#end(life, 'killed'), deadlineMs);
    const end = await life.ended;
    clearTimeout(deadline);
    return end;
  }

  /** `hung`: whoever watches its heartbeat says so. */
  async kill(why: 'killed' | 'hung' = 'killed'): Promise<ThreadEnd> {
    const life = this.#current;
    if (life === undefined) return this.#neverRan();
    this.#end(life, why);
    return life.ended;
  }

  /** A thread with an event loop is told by message too, since it does not look at the order word. */
  protected askToStop(_worker: Worker): void {}

  #begin(number: number): Life {
    const { args, transfer } = this.options.prepare(number);
    const data: EntryData = {
      name: this.name,
      module: this.options.module.href,
      exportName: this.options.exportName,
      life: number,
      args,
      cpu: this.options.cpu,
      buffer: this.memory.buffer,
      blockAt: this.blockAt,
    };
    const addition = this.entryData();
    const worker = new Worker(this.#entry, {
      name: this.name,
      workerData: { ...data, ...addition.data },
      transferList: [...(transfer ?? []), ...addition.transfer],
      ...(this.options.resourceLimits && { resourceLimits: this.options.resourceLimits }),
    });
    let error: Error | undefined;
    worker.on('error', (thrown: unknown) => {
      error = thrown instanceof Error ? thrown : new Error(String(thrown));
    });
    const { promise, resolve } = deferred<ThreadEnd>();
    const life: Life = { worker, number, ended: promise, ending: undefined };
    worker.once('exit', (exitCode) => {
      const wasReady = this.#state !== 'starting';
      const end: ThreadEnd = { reason: reasonOf(life.ending, error), life: number, exitCode, error };
      this.#current = undefined;
      this.#state = 'resting';
      this.#placement = undefined;
      resolve(end);
      if (wasReady) for (const listener of this.#listeners) listener(end);
    });
    return life;
  }

  /** The placement from the ready message, or undefined when the life ended or was ended before it came. */
  #becomesReady(life: Life): Promise<Placement | undefined> {
    const { promise, resolve } = deferred<Placement | undefined>();
    const deadline = setTimeout(() => this.#end(life, 'hung'), this.options.readyDeadlineMs ?? READY_DEADLINE_MS);
    life.worker.once('message', (message: ReadyMessage) => resolve(message.placement));
    void life.ended.then(() => resolve(undefined));
    return promise.finally(() => clearTimeout(deadline));
  }

  #refuseStart(end: ThreadEnd): never {
    const why =
      end.error?.message ?? (end.reason === 'hung' ? 'it was not ready in time' : `exit code ${end.exitCode}`);
    const details = { thread: this.name, life: end.life, reason: end.reason };
    throw new TapeworksError('TW_THREAD_START', `thread ${this.name} did not start: ${why}`, details, {
      cause: end.error,
    });
  }

  #watch(life: Life): void {
    const watch = new HeartbeatWatch(this.memory, this.word(THREAD.BEATS));
    const look = () => {
      if (watch.hasStopped()) this.#end(life, 'hung');
    };
    const timer = setInterval(look, (this.options.hangMs ?? HANG_MS) / LOOKS_TO_HANG).unref();
    void life.ended.then(() => clearInterval(timer));
  }

  #end(life: Life, why: EndReason): void {
    life.ending = why;
    void life.worker.terminate();
  }

  #neverRan(): ThreadEnd {
    return { reason: 'stopped', life: this.#life, exitCode: 0, error: undefined };
  }
}

function reasonOf(ending: EndReason | undefined, error: Error | undefined): EndReason {
  if (error !== undefined) {
    return 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'out-of-memory' : 'failed';
  }
  return ending ?? 'exited';
}
