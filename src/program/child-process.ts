import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { TapeworksError } from '../protocols/errors/index.ts';

const MAIN = fileURLToPath(new URL('../cli/main.js', import.meta.url));
/** Set for a command that belongs to another process and ends with it. */
export const CHILD_VARIABLE = 'TAPEWORKS_CHILD';
const KILL_AFTER_MS = 5_000;
const LAST_WORDS_MAX = 2_000;

/** A `tapeworks` command in a process of its own, which ends with this one. */
export interface RunningCommand {
  /** Its first line of output: the sign that it is ready. */
  readonly firstLine: string;
  readonly pid: number;
  /** Resolves when it has ended by itself or by `stop`, with the end of what it said on stderr. */
  whenEnded(): Promise<string>;
  stop(): Promise<void>;
}

/** Starts a command and waits for its first line. Rejects with TW_CHILD_FAILED when it ends before, with its last words. */
export async function startCommand(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<RunningCommand> {
  const child = spawn(process.execPath, [MAIN, ...args], {
    // The pipe to its stdin closes with this process, however that ends: the sign for the child to end too.
    stdio: ['pipe', 'pipe', 'pipe'],
    // Its own process group: Ctrl-C in a terminal must reach this process alone, which then stops what it started in order.
    detached: true,
    env: { ...process.env, ...env, [CHILD_VARIABLE]: '1' },
  });
  let lastWords = '';
  child.stderr?.on('data', (text: Buffer) => {
    lastWords = (lastWords + text.toString()).slice(-LAST_WORDS_MAX);
  });
  const ended = new Promise<string>((resolve) => child.once('exit', () => resolve(lastWords.trim())));
  const firstLine = await firstLineOf(child, args, () => lastWords.trim());
  return {
    firstLine,
    pid: child.pid!,
    whenEnded: () => ended,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      const kill = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS);
      await ended;
      clearTimeout(kill);
    },
  };
}

function firstLineOf(child: ChildProcess, args: readonly string[], lastWords: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      const message = `\`tapeworks ${args[0]}\` did not start: ${lastWords() || why}`;
      reject(new TapeworksError('TW_CHILD_FAILED', message, { args }));
    };
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`it ended with ${signal ?? `exit code ${code}`}`));
    createInterface({ input: child.stdout! }).once('line', resolve);
  });
}
