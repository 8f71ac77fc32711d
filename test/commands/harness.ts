// `tapeworks` as a person runs it: a process of its own, in a folder of its own, with ports of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../src/servers/server-process.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
export const bin = join(root, 'bin/tapeworks.mjs');
export const main = join(root, 'dist/src/cli/main.js');

export interface Ran {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly cwd: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly uid?: number;
  readonly input?: string;
}

/** Only PATH is handed on: the reader's own servers and tokens must not decide a test. */
const environment = (env: RunOptions['env']) => ({ PATH: process.env['PATH'] ?? '', HOME: tmpdir(), ...env });

/** Runs a program to its end. */
export function runProgram(command: string, args: readonly string[], options: RunOptions): Promise<Ran> {
  const { cwd, env, uid } = options;
  return new Promise((done, fail) => {
    const child = spawn(command, [...args], {
      cwd,
      env: environment(env),
      ...(uid !== undefined && { uid, gid: uid }),
    });
    let [out, err] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      err += text;
    });
    child.once('error', fail);
    child.once('close', (code) => done({ code, out, err }));
    child.stdin.end(options.input ?? '');
  });
}

/** Runs `tapeworks` without a terminal, to its end. */
export const tapeworks = (args: readonly string[], options: RunOptions) =>
  runProgram(process.execPath, [main, ...args], options);

export interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly simulation: number;
}

/** A folder with the shipped configuration on free ports, and the Redis that was fetched before, if any. */
export class Workplace {
  readonly folder = mkdtempSync(join(tmpdir(), 'tapeworks-commands-'));
  readonly ports: Ports;

  private constructor(ports: Ports) {
    this.ports = ports;
    // Open to the account that Postgres runs under where root runs the tests; its data would be moved elsewhere else.
    chmodSync(this.folder, 0o755);
    cpSync(join(root, 'config'), join(this.folder, 'config'), { recursive: true });
    this.edit('port: 9090', `port: ${ports.http}`);
    this.edit('port: 50051', `port: ${ports.grpc}`);
    this.edit('port: 9801', `port: ${ports.simulation}`);
    mkdirSync(join(root, '.tapeworks/cache'), { recursive: true });
    mkdirSync(this.data);
    symlinkSync(join(root, '.tapeworks/cache'), join(this.data, 'cache'));
  }

  static async make(ports?: Ports): Promise<Workplace> {
    return new Workplace(ports ?? { http: await freePort(), grpc: await freePort(), simulation: await freePort() });
  }

  get data(): string {
    return join(this.folder, '.tapeworks');
  }

  /** Changes kernel.yaml. */
  edit(from: string, to: string): void {
    this.#change('kernel.yaml', from, to);
  }

  editTopology(from: string, to: string): void {
    this.#change('topology.yaml', from, to);
  }

  #change(file: string, from: string, to: string): void {
    const path = join(this.folder, 'config', file);
    const before = readFileSync(path, 'utf8');
    if (!before.includes(from)) throw new Error(`${file} has no "${from}"`);
    writeFileSync(path, before.replace(from, to));
  }

  run(args: readonly string[], env: RunOptions['env'] = {}): Promise<Ran> {
    return tapeworks(args, { cwd: this.folder, env });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A running `tapeworks up --json`. */
export class Running {
  readonly child: ChildProcess;
  /** What it printed when it was ready. */
  readonly ready: Promise<Record<string, unknown>>;
  readonly ended: Promise<number | null>;
  err = '';

  constructor(place: Workplace, args: readonly string[] = [], env: RunOptions['env'] = {}) {
    const child = spawn(process.execPath, [main, 'up', '--json', ...args], {
      ...{ cwd: place.folder, env: environment(env), stdio: ['ignore', 'pipe', 'pipe'] },
      // The leader of a process group, as in a terminal.
      detached: true,
    });
    this.child = child;
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.err = (this.err + text).slice(-8_000);
    });
    this.ended = new Promise((done) => child.once('close', done));
    this.ready = new Promise((done, fail) => {
      createInterface({ input: child.stdout! }).once('line', (line) =>
        done(JSON.parse(line) as Record<string, unknown>),
      );
      child.once('exit', (code) => fail(new Error(`up ended with ${code}: ${this.err}`)));
    });
    // A start that nobody waits for any more must not be an unhandled rejection.
    this.ready.catch(() => undefined);
  }

  /** Ctrl-C: a terminal sends it to the whole process group. */
  async stop(): Promise<number | null> {
    if (this.child.exitCode === null) process.kill(-this.child.pid!, 'SIGINT');
    return this.ended;
  }
}
