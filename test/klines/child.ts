import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { HealthPart } from '../../src/protocols/console-api.ts';

export interface ChildOrders {
  readonly topology: string;
  readonly data: string;
  readonly postgresUrl: string;
  readonly endpoints: Readonly<Record<string, { readonly wsUrl: string; readonly restUrl: string }>>;
}

export interface ChildReport {
  readonly health: HealthPart;
  readonly persistence: {
    readonly mode: string;
    readonly inMemory: number;
    readonly spill: { readonly bars: number };
  };
  readonly symbols: { readonly symbols: number; readonly placed: number };
}

const program = fileURLToPath(new URL('./bars-child.js', import.meta.url));

/** One life of the program in a process of its own. */
export class BarsChild {
  readonly #child: ChildProcess;
  report: ChildReport | undefined;
  log = '';

  constructor(orders: ChildOrders) {
    this.#child = fork(program, { env: { ...process.env, BARS_CHILD: JSON.stringify(orders) }, silent: true });
    this.#child.on('message', (report) => {
      this.report = report as ChildReport;
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log = (this.log + text).slice(-5_000);
    });
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill(signal);
    await once(this.#child, 'exit');
  }
}
