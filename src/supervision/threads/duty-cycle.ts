import type { Doorbell } from './doorbell.ts';
import { Heartbeat } from './heartbeat.ts';
import type { IdleStrategy } from './idle-strategy.ts';
import type { Memory, SharedMemory } from './memory.ts';
import { ORDER_RUN, THREAD } from './thread-block.ts';

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

/**
 * Runs cycles until the owner orders a stop. The order is read in every cycle, so also between arming the doorbell and
 * sleeping at it: a stop cannot be slept through.
 */
export function runDutyCycle(duty: DutyCycle, idle: IdleStrategy, memory: Memory, block: number): void {
  const heartbeat = new Heartbeat(memory, block + THREAD.BEATS);
  const order = block + THREAD.ORDER;
  while (memory.load(order) === ORDER_RUN) {
    const work = duty.doWork();
    heartbeat.beat();
    idle.idle(work);
  }
  duty.onStop?.();
}
