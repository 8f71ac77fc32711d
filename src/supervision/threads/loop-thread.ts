import { MessageChannel, type MessagePort, type Worker } from 'node:worker_threads';
import type { LoopInfo } from '../inspect.ts';
import { THREAD } from './thread-block.ts';
import { type EntryAddition, WorkerThread, type WorkerThreadOptions } from './worker-life.ts';

/** What runs on a loop thread: it answers when everything on the thread has been shut down. */
export interface Hosted {
  stop(): void | Promise<void>;
}

/** What the module of a loop thread gets. Messages between the thread and its owner go over `port`. */
export interface HostContext {
  readonly life: number;
  readonly args: unknown;
  readonly port: MessagePort;
}

/** `exportName` of a loop thread's module names one of these; the thread is ready when it has returned. */
export type Host = (context: HostContext) => Hosted | Promise<Hosted>;

export interface LoopThreadOptions extends WorkerThreadOptions {
  readonly beatMs?: number;
}

/** What loop-entry finds in workerData beside EntryData. */
export interface LoopData {
  readonly beatMs: number;
  readonly port: MessagePort;
}

/** The owner's order to stop, the only message of the lifecycle itself. */
export const STOP_MESSAGE = 'stop';

const BEAT_MS = 100;

/** A thread with an event loop, which hosts sockets, timers and any number of actors. */
export class LoopThread extends WorkerThread {
  readonly #beatMs: number;
  #port: MessagePort | undefined;

  constructor(options: LoopThreadOptions) {
    super(options, new URL('./loop-entry.js', import.meta.url));
    this.#beatMs = options.beatMs ?? BEAT_MS;
  }

  /** The owner's end of the current life's channel; it closes when the life ends. */
  get port(): MessagePort | undefined {
    return this.#port;
  }

  get health(): LoopInfo {
    const word = (name: keyof typeof THREAD) => this.memory.load(this.word(THREAD[name])) >>> 0;
    return {
      delayMeanUs: word('LOOP_DELAY_MEAN_US'),
      delayMaxUs: word('LOOP_DELAY_MAX_US'),
      busy: word('LOOP_BUSY_PERMILLE') / 1000,
      collections: word('LOOP_COLLECTIONS'),
      collectedUs: word('LOOP_COLLECTED_US'),
      heapUsedBytes: word('LOOP_HEAP_USED_KIB') * 1024,
      heapLimitBytes: word('LOOP_HEAP_LIMIT_KIB') * 1024,
    };
  }

  protected override entryData(): EntryAddition {
    this.#port?.close();
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    return { data: { beatMs: this.#beatMs, port: port2 } satisfies LoopData, transfer: [port2] };
  }

  protected override askToStop(worker: Worker): void {
    worker.postMessage(STOP_MESSAGE);
  }
}
