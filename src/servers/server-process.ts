import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { TapeworksError } from '../protocols/errors/index.ts';
import { isAlive, markOf, type ProcessMark } from '../protocols/process-mark.ts';
import type { Account } from './unprivileged.ts';

// A server that we start belongs to this process, and a note beside its data says so:
//
//   absent --claim--> ours --stop--> absent
//   theirs (owner lives)  --claim--> refused with TW_SERVER_IN_USE
//   orphan (owner died, the server may live on) --claim--> the orphan is stopped, then ours
//
// A pid alone can be reused by another program, so the note holds marks.

interface OwnerNote {
  readonly owner: ProcessMark;
  readonly server?: ProcessMark;
}

export interface Launch {
  readonly name: string;
  readonly folder: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly account: Account | undefined;
  readonly env?: Readonly<Record<string, string>>;
  /** Asks for an orderly end; SIGKILL follows when the server does not leave in time. */
  readonly stopSignal: NodeJS.Signals;
  /** Resolves true once the server answers. */
  isReady(): Promise<boolean>;
}

/** A process that ends without the time for an orderly stop (a second Ctrl-C, a defect) still tells its servers to end. */
const running = new Set<ServerProcess>();
process.on('exit', () => {
  for (const server of running) server.askToEnd();
});

const READY_MS = 30_000;
const STOP_MS = 10_000;
const LOG_TAIL_BYTES = 2_000;

export class ServerProcess {
  readonly name: string;
  readonly folder: string;
  readonly #child: ChildProcess;
  readonly #stopSignal: NodeJS.Signals;
  readonly #ended: Promise<void>;

  private constructor(launch: Launch, child: ChildProcess, ended: Promise<void>) {
    this.name = launch.name;
    this.folder = launch.folder;
    this.#stopSignal = launch.stopSignal;
    this.#child = child;
    this.#ended = ended;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Starts the server and waits until it answers. The folder must be claimed. */
  static async start(launch: Launch): Promise<ServerProcess> {
    const log = openSync(logFile(launch), 'a', 0o600);
    const child = spawn(launch.command, [...launch.args], {
      cwd: launch.folder,
      env: { PATH: process.env['PATH'], LANG: 'C', LC_ALL: 'C', ...launch.env },
      stdio: ['ignore', log, log],
      // Its own process group: Ctrl-C in a terminal must reach the kernel first, which then stops the servers in order.
      detached: true,
      ...(launch.account && { uid: launch.account.uid, gid: launch.account.gid }),
    });
    closeSync(log);
    const ended = new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.once('error', () => resolve());
    });
    const server = new ServerProcess(launch, child, ended);
    running.add(server);
    void ended.then(() => running.delete(server));
    if (child.pid !== undefined) writeNote(launch, { owner: markOf(process.pid), server: markOf(child.pid) });
    const deadline = performance.now() + READY_MS;
    while (server.running && child.pid !== undefined && performance.now() < deadline) {
      if (await launch.isReady()) return server;
      await Promise.race([sleep(20), ended]);
    }
    await server.stop();
    throw new TapeworksError(
      'TW_SERVER_START_FAILED',
      `${launch.name} did not start from ${launch.folder}: ${tailOf(logFile(launch))}`,
      { command: launch.command },
    );
  }

  askToEnd(): void {
    this.#child.kill(this.#stopSignal);
  }

  async stop(): Promise<void> {
    if (this.running && this.#child.pid !== undefined) {
      this.askToEnd();
      // Unreferenced: the wait must not outlive the server, nor hold this process back.
      const late = sleep(STOP_MS, 'late' as const, { ref: false });
      if ((await Promise.race([this.#ended, late])) === 'late') this.#child.kill('SIGKILL');
      await this.#ended;
    }
    rmSync(noteFile(this), { force: true });
  }

  /** For tests of outages: SIGKILL, SIGSTOP and the like, straight to the server. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async whenEnded(): Promise<void> {
    await this.#ended;
  }
}

/** Makes `folder` ours, or says who holds it. A server whose owner has died is stopped first. */
export async function claimFolder(place: { readonly name: string; readonly folder: string }): Promise<void> {
  const note = readNote(place);
  if (note !== undefined) {
    if (note.owner.pid !== process.pid && isAlive(note.owner)) {
      throw new TapeworksError(
        'TW_SERVER_IN_USE',
        `${place.name} in ${place.folder} belongs to the running process ${note.owner.pid}`,
      );
    }
    if (note.server !== undefined && isAlive(note.server)) await endOrphan(note.server);
  }
  writeNote(place, { owner: markOf(process.pid) });
}

interface Life {
  readonly pid: number;
  readonly isAlive: boolean;
}

/** What the note beside a server's folder says, and who of them still lives; undefined where there is no note. */
export function ownerOfServer(folder: string): { readonly owner: Life; readonly server: Life | undefined } | undefined {
  const note = readNote({ folder });
  if (note === undefined) return undefined;
  const life = (mark: ProcessMark): Life => ({ pid: mark.pid, isAlive: isAlive(mark) });
  return { owner: life(note.owner), server: note.server === undefined ? undefined : life(note.server) };
}

async function endOrphan(server: ProcessMark): Promise<void> {
  for (const [signal, patience] of [
    ['SIGINT', STOP_MS],
    ['SIGKILL', STOP_MS],
  ] as const) {
    process.kill(server.pid, signal);
    const deadline = performance.now() + patience;
    while (isAlive(server) && performance.now() < deadline) await sleep(20);
    if (!isAlive(server)) return;
  }
}

/** A port that the system says is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === 'object' && address !== null ? resolve(address.port) : reject(new Error('no address')),
      );
    });
  });
}

const noteFile = (place: { folder: string }) => `${place.folder}.owner.json`;
const logFile = (place: { folder: string }) => `${place.folder}.log`;

function readNote(place: { folder: string }): OwnerNote | undefined {
  try {
    return JSON.parse(readFileSync(noteFile(place), 'utf8')) as OwnerNote;
  } catch {
    // Absent or torn: then nobody can be proved to own the folder.
    return undefined;
  }
}

function writeNote(place: { folder: string }, note: OwnerNote): void {
  writeFileSync(noteFile(place), JSON.stringify(note), { mode: 0o600 });
}

function tailOf(path: string): string {
  if (!existsSync(path)) return 'it wrote no log';
  const text = readFileSync(path, 'utf8');
  return `the end of its log (${statSync(path).size} bytes) says: ${text.slice(-LOG_TAIL_BYTES).trim()}`;
}
