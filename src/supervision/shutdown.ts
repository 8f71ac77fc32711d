import { asError, TapeworksError } from '../protocols/errors/index.ts';
import type { Clock } from './clock.ts';
import { OVERDUE, within } from './deadline.ts';

/** A step of the way down. Phases run one after another in the order in which they were added. */
export interface ShutdownPhase {
  readonly name: string;
  readonly deadlineMs: number;
  run(): Promise<void>;
}

export interface ShutdownReport {
  readonly phases: readonly { readonly name: string; readonly tookMs: number; readonly error: Error | undefined }[];
}

/**
 * The way down, in phases: ready off, stop intake, drain, stop the tree. A phase that fails or is overdue is reported and
 * the next one begins all the same: what is durable is durable, and the process must end.
 */
export class GracefulShutdown {
  readonly #clock: Clock;
  readonly #phases: ShutdownPhase[] = [];
  #running: Promise<ShutdownReport> | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(phase: ShutdownPhase): void {
    this.#phases.push(phase);
  }

  get hasBegun(): boolean {
    return this.#running !== undefined;
  }

  /** Runs the phases once; a second call waits for the first. */
  run(): Promise<ShutdownReport> {
    this.#running ??= this.#runPhases();
    return this.#running;
  }

  async #runPhases(): Promise<ShutdownReport> {
    const phases = [];
    for (const phase of this.#phases) {
      const startedMs = this.#clock.now();
      const error = await this.#runPhase(phase);
      phases.push({ name: phase.name, tookMs: this.#clock.now() - startedMs, error });
    }
    return { phases };
  }

  async #runPhase(phase: ShutdownPhase): Promise<Error | undefined> {
    try {
      if ((await within(phase.deadlineMs, phase.run(), this.#clock)) !== OVERDUE) return undefined;
      const message = `shutdown phase "${phase.name}" took longer than ${phase.deadlineMs} ms`;
      return new TapeworksError('TW_SHUTDOWN_OVERDUE', message, { phase: phase.name });
    } catch (error) {
      return asError(error);
    }
  }
}

const ENDING = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/**
 * The first SIGTERM, SIGINT or SIGHUP (the terminal was closed) asks for the way down; a second one ends the process at
 * once. A shell hands SIGHUP on after the terminal has sent it, so that a second one means nothing.
 */
export function onTerminationSignal(begin: (signal: NodeJS.Signals) => void, exit: (code: number) => void): () => void {
  let count = 0;
  const listener = (signal: NodeJS.Signals) => {
    count++;
    if (count === 1) begin(signal);
    else if (signal !== 'SIGHUP') exit(signal === 'SIGINT' ? 130 : 143);
  };
  for (const signal of ENDING) process.on(signal, listener);
  return () => {
    for (const signal of ENDING) process.off(signal, listener);
  };
}
