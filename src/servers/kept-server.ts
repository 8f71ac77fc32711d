import { setTimeout as sleep } from 'node:timers/promises';
import type { ServerProcess } from './server-process.ts';

export interface EmbeddedServer {
  readonly url: string;
  readonly process: ServerProcess;
  stop(): Promise<void>;
}

const AGAIN_MIN_MS = 500;
const AGAIN_MAX_MS = 30_000;

/**
 * An embedded server that is started again, on the same port, when it ends by itself.
 *
 *   running --ends--> waiting 0.5, 1, 2 ... 30 s --starts--> running
 *      '----------------- stop ----------------'--> stopped
 */
export class KeptServer {
  readonly url: string;
  readonly #start: (port: number) => Promise<EmbeddedServer>;
  readonly #warn: (text: string) => void;
  readonly #stopping = new AbortController();
  readonly #kept: Promise<void>;
  #server: EmbeddedServer;

  private constructor(
    server: EmbeddedServer,
    start: (port: number) => Promise<EmbeddedServer>,
    warn: (text: string) => void,
  ) {
    this.url = server.url;
    this.#server = server;
    this.#start = start;
    this.#warn = warn;
    this.#kept = this.#keep();
  }

  static async start(
    start: (port: number) => Promise<EmbeddedServer>,
    warn: (text: string) => void,
  ): Promise<KeptServer> {
    return new KeptServer(await start(0), start, warn);
  }

  async #keep(): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
    while (!signal.aborted) {
      await Promise.race([this.#server.process.whenEnded(), stopped]);
      if (!signal.aborted) await this.#startAgain(signal);
    }
  }

  async #startAgain(signal: AbortSignal): Promise<void> {
    const { name, folder } = this.#server.process;
    this.#warn(`the embedded ${name} in ${folder} ended by itself and is started again`);
    for (let waitMs = AGAIN_MIN_MS; !signal.aborted; waitMs = Math.min(2 * waitMs, AGAIN_MAX_MS)) {
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        this.#server = await this.#start(Number(new URL(this.url).port));
        return;
      } catch (error) {
        this.#warn(`the embedded ${name} does not start: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#kept;
    await this.#server.stop();
  }
}
