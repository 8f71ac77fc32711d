import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { World } from './world.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const main = join(root, 'dist/src/cli/main.js');

/** What `up --json` says when it is ready. */
export interface Ready {
  readonly dashboard: string;
}

/** `tapeworks up` with the shipped configuration, on the world's servers, free ports, and one stream in two shards. */
export class ProgramProcess {
  readonly #world: World;
  readonly #config: string;
  #child: ChildProcess | undefined;
  log = '';

  constructor(world: World) {
    this.#world = world;
    this.#config = join(world.folder, 'config');
    cpSync(join(root, 'config'), this.#config, { recursive: true });
    this.#edit('kernel.yaml', [
      [/port: \d+/g, 'port: 0'],
      [/data: \S+/, `data: ${join(world.folder, 'data')}`],
      [/$/, '\nspill: { minFreeBytes: 0B }\n'],
    ]);
    this.#edit('topology.yaml', [[/events: \{ shards: 1 \}/, 'events: { shards: 2 }']]);
  }

  #edit(file: string, changes: readonly (readonly [RegExp, string])[]): void {
    const path = join(this.#config, file);
    let text = readFileSync(path, 'utf8').replace(/^spill:.*$/m, '');
    for (const [from, to] of changes) text = text.replace(from, to);
    writeFileSync(path, text);
  }

  async start(): Promise<Ready> {
    const { redis, postgres, folder } = this.#world;
    const child = spawn(process.execPath, [main, 'up', '--json', '--config', this.#config], {
      cwd: folder,
      env: { ...process.env, REDIS_URL: redis.url, DATABASE_URL: postgres.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.log = (this.log + text).slice(-20_000);
    });
    const ready = new Promise<Ready>((resolve) => {
      createInterface({ input: child.stdout! }).on('line', (line) => {
        if (line.startsWith('{"ready":true')) resolve(JSON.parse(line) as Ready);
        else this.log = `${this.log}${line}\n`.slice(-20_000);
      });
    });
    const ended = once(child, 'exit').then(() => {
      throw new Error(`the program did not come up:\n${this.log}`);
    });
    return Promise.race([ready, ended]);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal);
  }

  async ended(): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    const child = this.#child!;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return { code: child.exitCode, signal: child.signalCode };
  }

  async kill(): Promise<void> {
    if (this.#child === undefined) return;
    this.signal('SIGKILL');
    await this.ended();
  }
}
