import { setTimeout as sleep } from 'node:timers/promises';

/** A process that we started. */
export interface OwnProcess {
  /** For the log, such as "the embedded redis in data/redis". */
  readonly title: string;
  /** Resolves when it has ended, with the end of what it said, where that is known. */
  whenEnded(): Promise<string>;
  stop(): Promise<void>;
}

export interface KeptOptions<P extends OwnProcess> {
  /** Starts it, or starts it again where `before` was. */
  start(before: P | undefined): Promise<P>;
  warn(text: string): void;
}

const AGAIN_MIN_MS = 500;
const AGAIN_MAX_MS = 30_000;
/** One that lived as long as this is started again without a long wait. */
const STEADY_MS = 60_000;
const SAID_MAX = 300;

/**
 * A process of ours that is started again when it ends by itself.
 *
 *   running --ends--> waiting 0.5, 1, 2 ... 30 s --starts--> running
 *      '----------------- stop ----------------'--> stopped
 */
export class Kept<P extends OwnProcess> {
  readonly #options: KeptOptions<P>;
  readonly #stopping = new AbortController();
  readonly #kept: Promise<void>;
  #process: P;
  #waitMs = AGAIN_MIN_MS;

  private constructor(options: KeptOptions<P>, process: P) {
    this.#options = options;
    this.#process = process;
    this.#kept = this.#keep();
  }

  static async start<P extends OwnProcess>(options: KeptOptions<P>): Promise<Kept<P>> {
    return new Kept(options, await options.start(undefined));
  }

  /** The one that runs, or ran last. */
  get process(): P {
    return this.#process;
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('')));
    while (!signal.aborted) {
      const sinceMs = performance.now();
      const lastWords = await Promise.race([this.#process.whenEnded(), stopped]);
      if (performance.now() - sinceMs >= STEADY_MS) this.#waitMs = AGAIN_MIN_MS;
      if (!signal.aborted) await this.#startAgain(lastWords, signal);
    }
  }

  async #startAgain(lastWords: string, signal: AbortSignal): Promise<void> {
    const { start, warn } = this.#options;
    const { title } = this.#process;
    const said = lastWords === '' ? '' : `; it said last: ${lastWords.slice(-SAID_MAX)}`;
    warn(`${title} ended by itself and is started again${said}`);
    while (!signal.aborted) {
      await sleep(this.#waitMs, undefined, { signal }).catch(() => undefined);
      this.#waitMs = Math.min(2 * this.#waitMs, AGAIN_MAX_MS);
      if (signal.aborted) return;
      try {
        this.#process = await start(this.#process);
        return;
      } catch (error) {
        warn(`${title} does not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#kept;
    await this.#process.stop();
  }
}
