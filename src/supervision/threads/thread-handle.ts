import type { Placement } from './pin.ts';

/**
 * Why a life of a thread ended.
 *
 * - `stopped`: it was asked to stop and did so in time.
 * - `killed`: its owner ended it, by `kill` or because it was asked to stop and did not in time.
 * - `failed`: it threw.
 * - `out-of-memory`: it went over its memory limit; the rest of the process lives on.
 * - `hung`: its heartbeat stopped, and it was ended for that.
 * - `exited`: it called process.exit by itself.
 */
export type EndReason = 'stopped' | 'killed' | 'failed' | 'out-of-memory' | 'hung' | 'exited';

export interface ThreadEnd {
  readonly reason: EndReason;
  readonly life: number;
  readonly exitCode: number;
  readonly error: Error | undefined;
}

/**
 *              start()              ready                stop()
 *   resting ------------> starting -------> running ---------------> stopping
 *      ^                      |                |                        |
 *      +------ failed --------+---- crash -----+------ exit, deadline --+
 */
export type ThreadState = 'resting' | 'starting' | 'running' | 'stopping';

/** A thread in the eyes of its supervisor. One handle serves all lives of the thread, one after the other. */
export interface ThreadHandle {
  readonly name: string;
  readonly state: ThreadState;
  /** Number of the current or last life; 0 before the first. */
  readonly life: number;
  /** Where the current life runs, as the kernel sees it. */
  readonly placement: Placement | undefined;
  /** Begins the next life. Rejects with TW_THREAD_START, and the thread is resting again, if it does not become ready. */
  start(): Promise<Placement>;
  /** Asks the thread to stop, kills it at the deadline. Resolves when it has ended; at once when it is resting. */
  stop(deadlineMs: number): Promise<ThreadEnd>;
  kill(): Promise<ThreadEnd>;
  /** Told once for every life that had become ready, when it has ended and its memory is no longer touched. */
  onExit(listener: (end: ThreadEnd) => void): () => void;
}
