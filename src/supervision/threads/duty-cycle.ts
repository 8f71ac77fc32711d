import { FINE_BUCKETS } from '../telemetry/buckets.ts';
import { SharedCounter } from '../telemetry/counter.ts';
import { SharedHistogram } from '../telemetry/histogram.ts';
import type { Doorbell } from './doorbell.ts';
import { Heartbeat } from './heartbeat.ts';
import type { IdleStrategy } from './idle-strategy.ts';
import { WORD_BYTES } from './layout.ts';
import type { Memory, SharedMemory } from './memory.ts';
import { ORDER_RUN, THREAD, THREAD_HANDLED_BYTE, THREAD_PROCESSING_BYTE } from './thread-block.ts';
import { nowNs } from './thread-clock.ts';

/** The work of a pinned thread: look at every input once, handle what is there, say how much that was. */
export interface DutyCycle {
  /** Handles what is waiting, within a bound, and returns how many things it handled; 0 lets the thread idle. */
  doWork(): number;
  /** Called once after the last cycle of a thread that was asked to stop. */
  onStop?(): void;
}

/** What the module of a pinned thread gets to build its duty cycle. */
export interface DutyContext {
  /** Number of this life, from 1; a restarted thread has the next one. */
  readonly life: number;
  /** What the owner prepared for this life: buffers, offsets, the lives of its mailbox ends. */
  readonly args: unknown;
  /** The thread's own doorbell: give its place to whoever publishes for this thread. */
  readonly doorbell: Doorbell;
  /** The memory that the thread block lies in. */
  readonly memory: SharedMemory;
}

export type MakeDutyCycle = (context: DutyContext) => DutyCycle | Promise<DutyCycle>;

/** One cycle of so many is timed, whether or not it will find work: two looks at the clock cost as much as a small cycle. */
const TIMED_ONE_IN = 64;

/**
 * Runs cycles until the owner orders a stop. The order is read in every cycle, so also between arming the doorbell and
 * sleeping at it: a stop cannot be slept through.
 */
export function runDutyCycle(duty: DutyCycle, idle: IdleStrategy, memory: Memory, blockAt: number): void {
  const block = blockAt / WORD_BYTES;
  const heartbeat = new Heartbeat(memory, block + THREAD.BEATS);
  const handled = new SharedCounter(memory, blockAt + THREAD_HANDLED_BYTE);
  const processing = new SharedHistogram(memory, blockAt + THREAD_PROCESSING_BYTE, FINE_BUCKETS);
  const order = block + THREAD.ORDER;
  for (let cycle = 0; memory.load(order) === ORDER_RUN; cycle = (cycle + 1) % TIMED_ONE_IN) {
    const begin = cycle === 0 ? nowNs() : 0;
    const work = duty.doWork();
    if (work > 0) {
      handled.add(work);
      if (cycle === 0) processing.record((nowNs() - begin) / work);
    }
    heartbeat.beat();
    idle.idle(work);
  }
  duty.onStop?.();
}
