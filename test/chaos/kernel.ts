import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { IngestPoint } from '../../src/actors/kernel-ingest/plane.ts';
import type { LaneHealth } from '../../src/protocols/ingest.ts';
import type { IngestSnapshot, LaneCounts } from '../../src/protocols/ingest-snapshot.ts';
import type { KernelIngestSettings, SpillSettings } from '../../src/protocols/topology.ts';

export interface KernelOrders {
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly spillFolder: string;
  readonly streams: readonly string[];
  readonly notesFile: string;
  readonly killAt?: { readonly point: IngestPoint; readonly hits: number };
  readonly spill?: Partial<SpillSettings>;
  readonly reader?: Partial<KernelIngestSettings>;
}

export type KernelNotes = IngestSnapshot & { readonly health: LaneHealth };

const program = fileURLToPath(new URL('./kernel-child.js', import.meta.url));

/** One life of the kernel after another, with what all of them counted. */
export class KernelProcess {
  readonly #base: Omit<KernelOrders, 'notesFile' | 'killAt'>;
  readonly #folder: string;
  readonly #notes: string[] = [];
  #child: ChildProcess | undefined;
  #prefix: readonly string[] = [];
  log = '';

  constructor(base: Omit<KernelOrders, 'notesFile' | 'killAt'>, folder: string) {
    this.#base = base;
    this.#folder = folder;
  }

  /** Runs the next lives under another program, e.g. strace. */
  under(prefix: readonly string[]): void {
    this.#prefix = prefix;
  }

  async start(more: Partial<KernelOrders> = {}): Promise<void> {
    const notesFile = join(this.#folder, `kernel-${this.#notes.length}.json`);
    this.#notes.push(notesFile);
    const orders: KernelOrders = { ...this.#base, ...more, notesFile };
    const [command, ...args] = [...this.#prefix, process.execPath, program];
    const child = spawn(command!, args, {
      env: { ...process.env, CHAOS_KERNEL: JSON.stringify(orders) },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log = (this.log + text).slice(-20_000);
    });
    await Promise.race([once(child.stdout!, 'data'), once(child, 'exit')]);
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#child!;
    if (this.running) await once(child, 'exit');
    return { code: child.exitCode, signal: child.signalCode };
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended();
  }

  notes(): KernelNotes | undefined {
    return read(this.#notes.at(-1));
  }

  /** A count of the present life, or of the last one, summed over its lanes. */
  lastLife(count: keyof LaneCounts): number {
    return (this.notes()?.lanes ?? []).reduce((sum, { counts }) => sum + counts[count], 0);
  }

  /** Everything that was counted, summed over all lives and lanes. */
  totals(): Readonly<Partial<Record<keyof LaneCounts, number>>> {
    const sums: Partial<Record<keyof LaneCounts, number>> = {};
    for (const { counts } of this.#notes.flatMap((file) => read(file)?.lanes ?? [])) {
      for (const [name, count] of Object.entries(counts) as [keyof LaneCounts, number][])
        sums[name] = (sums[name] ?? 0) + count;
    }
    return sums;
  }
}

function read(file: string | undefined): KernelNotes | undefined {
  if (file === undefined || !existsSync(file)) return undefined;
  return JSON.parse(readFileSync(file, 'utf8')) as KernelNotes;
}
