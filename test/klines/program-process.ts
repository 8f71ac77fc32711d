import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { HealthPart } from '../../src/protocols/console-api.ts';
import type { FastClock } from './fast-clock.ts';

export interface ProgramOrders {
  readonly topology: string;
  readonly endpoints: Readonly<Record<string, { readonly wsUrl: string; readonly restUrl: string }>>;
  readonly postgresUrl: string;
  readonly folder: string;
  /** How fast its clocks go; 1 unless told. */
  readonly speed?: number;
}

/** How the K-lines of a life are. */
export interface ProgramReport {
  readonly health: HealthPart;
  readonly catalogue: readonly string[];
  readonly persistence: {
    readonly mode: string;
    readonly inMemory: number;
    readonly spill: { readonly bars: number };
  };
  readonly symbols: { readonly symbols: number; readonly placed: number };
}

export type ToChild = { readonly kind: 'end-worker'; readonly worker: number } | { readonly kind: 'stop' };
export type ToParent =
  | { readonly kind: 'up'; readonly grpc: string }
  | { readonly kind: 'report'; readonly report: ProgramReport };

const program = fileURLToPath(new URL('./program-child.js', import.meta.url));
const fastClock = new URL('./fast-clock.js', import.meta.url).href;
const LOG_CHARACTERS = 20_000;

/** One life of the program after another. */
export class ProgramProcess {
  readonly #orders: ProgramOrders;
  readonly #clock: FastClock;
  #child: ChildProcess | undefined;
  /** What the present life last told of itself. */
  report: ProgramReport | undefined;
  log = '';
  lives = 0;

  constructor(orders: ProgramOrders) {
    this.#orders = orders;
    this.#clock = { speed: orders.speed ?? 1, sinceMs: Date.now() };
  }

  /** Symbols in the catalogue. */
  get symbols(): readonly string[] {
    return this.report?.catalogue ?? [];
  }

  /** Starts a life and gives its gRPC address. */
  async start(): Promise<string> {
    const child = spawn(process.execPath, ['--import', fastClock, program], {
      env: {
        ...process.env,
        KLINES_PROGRAM: JSON.stringify(this.#orders),
        FAST_CLOCK: JSON.stringify(this.#clock),
      },
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child = child;
    this.lives++;
    this.report = undefined;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log = (this.log + text).slice(-LOG_CHARACTERS);
    });
    return new Promise((resolve, reject) => {
      child.once('exit', (code, signal) => reject(new Error(`the program ended: ${code} ${signal} ${this.log}`)));
      child.on('message', (message: ToParent) => {
        if (message.kind === 'up') resolve(message.grpc);
        else this.report = message.report;
      });
    });
  }

  tell(message: ToChild): void {
    this.#child?.send(message);
  }

  async kill(): Promise<void> {
    await this.#end(() => this.#child?.kill('SIGKILL'));
  }

  async stop(): Promise<void> {
    await this.#end(() => this.tell({ kind: 'stop' }));
  }

  async #end(how: () => void): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    how();
    await ended;
  }
}
