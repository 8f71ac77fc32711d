import { TapeworksError } from '../protocols/errors/index.ts';

/** One actor as an operator sees it. */
export interface ActorInfo {
  readonly path: string;
  readonly kind: 'actor' | 'supervisor' | 'thread';
  readonly state: 'idle' | 'starting' | 'running' | 'suspended' | 'failed' | 'halting' | 'dead';
  readonly thread: string;
  readonly incarnation: number;
  readonly restarts: number;
  readonly lastFailure: FailureInfo | undefined;
  readonly mailbox: MailboxInfo | undefined;
  readonly messages: number;
  readonly unhandled: number;
  /** Sampled from the first message of each turn, over about the last minute. */
  readonly waitMs: LatencyInfo | undefined;
  readonly processingMs: LatencyInfo | undefined;
  readonly children: readonly ActorInfo[];
  /** Set for threads. */
  readonly threadInfo?: ThreadInfo;
}

export interface ThreadInfo {
  readonly name: string;
  readonly kind: 'loop' | 'pinned';
  /** The core that was asked for, and the list that the kernel says it may run on. */
  readonly cpu: number | undefined;
  readonly observedCpus: string;
  readonly pinnedBy: 'sched_setaffinity' | 'taskset' | 'unpinned' | undefined;
  readonly tid: number;
  /** Counts up while the thread makes progress. */
  readonly beats: number;
  /** What a thread with an event loop measures of itself. */
  readonly loop?: LoopInfo;
  /** What a thread with a duty cycle counts. */
  readonly duty?: DutyInfo;
}

export interface LoopInfo {
  /** Share of the last second in which the loop was not waiting for events. */
  readonly busy: number;
  /** How late the loop ran its timers in the last second. */
  readonly delayMeanUs: number;
  readonly delayMaxUs: number;
  /** Garbage collections of this life, and the time that they took; both wrap at 2^32. */
  readonly collections: number;
  readonly collectedUs: number;
  readonly heapUsedBytes: number;
  readonly heapLimitBytes: number;
}

/** Rising counts; `sampledNs` is the time for `samples` of the things that were handled. */
export interface DutyInfo {
  readonly handled: number;
  readonly samples: number;
  readonly sampledNs: number;
}

export interface FailureInfo {
  readonly message: string;
  readonly code: string | undefined;
  readonly atMs: number;
}

export function failureInfo(error: Error, atMs: number): FailureInfo {
  return { message: error.message, code: error instanceof TapeworksError ? error.code : undefined, atMs };
}

export interface MailboxInfo {
  readonly depth: number;
  readonly highWater: number;
  readonly capacity: number;
  readonly policy: string;
  readonly rejected: number;
  readonly droppedOldest: number;
  readonly droppedNewest: number;
  readonly conflated: number;
}

export interface LatencyInfo {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

/** Every actor of a tree, parents before their children. */
export function flatten(info: ActorInfo): ActorInfo[] {
  return [info, ...info.children.flatMap(flatten)];
}
