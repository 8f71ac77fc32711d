// The way from the outbox into Redis.
//
//   idle --offered--> appending --answered--> idle
//                        |  ^
//        error or silence|  | backoff: 0.1, 0.2, 0.4 ... 5 s
//                        v  |
//                       away          backlogged: the stream is full, look again every second
//
// A batch is one transaction, so either all of it is in the stream, in order, or nothing. When the answer is lost nobody
// knows which; the same bytes go again, and the ids in them make one event of the two.
//
// Nothing is trimmed here: only the kernel knows what has been read. A stream that nobody reads is left alone once it
// has `backlogMax` entries; then the outbox fills up, and what it drops is counted.
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { ENVELOPE_FIELD } from '../../protocols/envelope.ts';
import type { Entry, Outbox } from './outbox.ts';

export interface StreamWriterOptions {
  readonly url: string;
  readonly outbox: Outbox;
  readonly backlogMax: number;
}

export type WriterState =
  | { readonly kind: 'up' }
  | { readonly kind: 'away'; readonly reason: string }
  | { readonly kind: 'backlogged'; readonly reason: string };

const BATCH = 500;
const ANSWER_WITHIN_MS = 5_000;
const LOADING_LOOK_MS = 500;
const BACKOFF_MS = { least: 100, most: 5_000 } as const;
const BACKLOG_LOOK_MS = 1_000;

export class StreamWriter {
  readonly #options: StreamWriterOptions;
  readonly #redis: Redis;
  readonly #ended = new AbortController();
  readonly #running: Promise<void>;
  #isStopping = false;
  #state: WriterState = { kind: 'away', reason: 'not connected yet' };
  #connectionError = 'not connected yet';
  #wake: () => void = () => {};
  appended = 0;

  constructor(options: StreamWriterOptions) {
    this.#options = options;
    this.#redis = new Redis(options.url, {
      protocol: 2,
      connectTimeout: ANSWER_WITHIN_MS,
      // A command whose connection broke fails at once: what it did is unknown, and this class knows what to do then.
      enableOfflineQueue: false,
      autoResendUnfulfilledCommands: false,
      maxRetriesPerRequest: 0,
      // A server that reads back its log guesses badly how long that takes.
      maxLoadingRetryTime: LOADING_LOOK_MS,
      socketTimeout: ANSWER_WITHIN_MS,
      retryStrategy: backoffMs,
    });
    this.#redis.on('error', (error: Error) => {
      this.#connectionError = error.message || error.name;
    });
    options.outbox.onOffer = () => this.#wake();
    this.#running = this.#run();
  }

  get state(): WriterState {
    return this.#state;
  }

  /** Appends what is left, for at most so long; answers how many did not get through. */
  async stop(deadlineMs: number): Promise<number> {
    this.#isStopping = true;
    this.#wake();
    const overdue = setTimeout(() => this.#end(), deadlineMs);
    await this.#running;
    clearTimeout(overdue);
    this.#end();
    return this.#options.outbox.length;
  }

  #end(): void {
    this.#ended.abort();
    this.#redis.disconnect();
  }

  async #run(): Promise<void> {
    const { outbox } = this.#options;
    let failures = 0;
    while (!this.#ended.signal.aborted) {
      if (outbox.length === 0) {
        if (this.#isStopping) return;
        await this.#somethingOffered();
        continue;
      }
      const batch = outbox.peek(BATCH);
      const problem = await this.#append(batch);
      if (problem === undefined) {
        outbox.settle(batch.length);
        this.appended += batch.length;
        failures = 0;
        if (this.#state.kind === 'backlogged') await this.#waitForRoom(batch);
      } else {
        this.#state = { kind: 'away', reason: problem };
        await this.#pause(backoffMs(failures++));
      }
    }
  }

  #somethingOffered(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = () => {};
        resolve();
      };
    });
  }

  /** Appends the batch and looks how long the streams are now; answers what went wrong. */
  async #append(batch: readonly Entry[]): Promise<string | undefined> {
    if (this.#redis.status !== 'ready') return this.#connectionError;
    const transaction = this.#redis.multi();
    for (const { stream, bytes } of batch) transaction.xadd(stream, '*', ENVELOPE_FIELD, bytes);
    const streams = streamsOf(batch);
    for (const stream of streams) transaction.xlen(stream);
    try {
      const answers = await transaction.exec();
      const failed = answers?.find(([error]) => error !== null)?.[0];
      if (answers === null || failed) return failed?.message ?? 'the transaction was discarded';
      this.#judge(
        streams,
        answers.slice(batch.length).map(([, length]) => length as number),
      );
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  /** Holds back until the kernel has read and trimmed what is there, or Redis is away, which the next append will find. */
  async #waitForRoom(batch: readonly Entry[]): Promise<void> {
    const streams = streamsOf(batch);
    while (this.#state.kind === 'backlogged' && !this.#isStopping) {
      await this.#pause(BACKLOG_LOOK_MS);
      try {
        this.#judge(streams, await Promise.all(streams.map((stream) => this.#redis.xlen(stream))));
      } catch {
        return;
      }
    }
  }

  #judge(streams: readonly string[], lengths: readonly number[]): void {
    const { backlogMax } = this.#options;
    const full = lengths.findIndex((length) => length >= backlogMax);
    this.#state =
      full < 0
        ? { kind: 'up' }
        : { kind: 'backlogged', reason: `${streams[full]} has ${lengths[full]} entries, the limit is ${backlogMax}` };
  }

  async #pause(ms: number): Promise<void> {
    await sleep(ms, undefined, { signal: this.#ended.signal }).catch(() => undefined);
  }
}

function streamsOf(batch: readonly Entry[]): string[] {
  return [...new Set(batch.map(({ stream }) => stream))];
}

function backoffMs(failures: number): number {
  return Math.min(BACKOFF_MS.most, BACKOFF_MS.least * 2 ** Math.min(failures, 10));
}
