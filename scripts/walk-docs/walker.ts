// Follows pages as a new user would, in one shell a command, with real programs.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Expectation, looselyContains, type Page, type Step } from './document.ts';

export interface WalkOptions {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  /** Changes a command or a text to the ports that are really used. */
  readonly adapt: (text: string) => string;
  readonly say: (line: string) => void;
}

const COMMAND_MS = 180_000;
const READY_MS = 600_000;
const CHECK_MS = 60_000;
const STOP_MS = 40_000;
const OUTPUT_MAX = 200_000;

/** A line of a page that did not do what it says. */
export class WalkError extends Error {
  override readonly name = 'WalkError';
}

/** A command of a page, with all that it has printed. */
class Shell {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  output = '';

  constructor(command: string, { folder, env }: WalkOptions) {
    // A group of its own: Ctrl-C in a terminal goes to all of it, and so does ours.
    this.child = spawn('bash', ['-c', command], {
      cwd: folder,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output = (this.output + text).slice(-OUTPUT_MAX);
      });
    }
    this.ended = new Promise((done) => this.child.once('close', done));
  }

  /** Waits for its end; undefined when it takes too long. */
  async end(withinMs: number): Promise<number | null | undefined> {
    const late = new AbortController();
    const limit = sleep(withinMs, undefined, { signal: late.signal }).catch(() => undefined);
    const code = await Promise.race([this.ended, limit]);
    late.abort();
    return code;
  }

  async prints(text: string, withinMs: number): Promise<boolean> {
    const deadline = performance.now() + withinMs;
    while (performance.now() < deadline) {
      if (this.output.includes(text)) return true;
      if (this.child.exitCode !== null || this.child.signalCode !== null) return this.output.includes(text);
      await sleep(50);
    }
    return false;
  }

  async interrupt(): Promise<number | null | undefined> {
    if (this.child.exitCode !== null || this.child.pid === undefined) return this.child.exitCode;
    process.kill(-this.child.pid, 'SIGINT');
    const code = await this.end(STOP_MS);
    if (code === undefined) process.kill(-this.child.pid, 'SIGKILL');
    return code;
  }
}

/** Keeps the program that a page started running while the pages are followed. */
export class Walker {
  readonly #options: WalkOptions;
  #program: Shell | undefined;
  #last = '';

  constructor(options: WalkOptions) {
    this.#options = options;
  }

  async follow({ file, steps }: Page): Promise<void> {
    for (const step of steps) await this.#take(file, step);
  }

  /** Runs a command that the page names in passing; it must work beside the running program. */
  async glance(file: string, line: number, command: string): Promise<void> {
    await this.#take(
      file,
      { kind: 'command', line, command, expects: { kind: 'exit', code: 0, needs: undefined } },
      [0, 2],
    );
  }

  /** Ctrl-C, as the pages say: everything ends, and quickly. */
  async stop(): Promise<void> {
    const program = this.#program;
    this.#program = undefined;
    if (program === undefined) return;
    const code = await program.interrupt();
    if (code === undefined) throw new WalkError(`Ctrl-C did not end the program:\n${program.output.slice(-2_000)}`);
  }

  async #take(file: string, step: Step, codes?: readonly number[]): Promise<void> {
    const place = `${file}:${step.line}`;
    if (step.kind === 'output') {
      if (looselyContains(this.#last, step.lines.map(this.#options.adapt)))
        return this.#options.say(`  ok    ${place}  prints that`);
      throw new WalkError(`${place} the page shows other output than this:\n${this.#last.slice(-2_000)}`);
    }
    const command = this.#options.adapt(step.command);
    if (step.kind === 'check') return this.#check(place, command);
    await this.#run(place, command, step.expects, codes);
  }

  async #run(place: string, command: string, expects: Expectation, codes?: readonly number[]): Promise<void> {
    const { say } = this.#options;
    if (expects.kind === 'not-here') return say(`  skip  ${place}  ${command}  (${expects.reason})`);
    if ('needs' in expects && expects.needs !== undefined && !isInstalled(expects.needs)) {
      return say(`  skip  ${place}  ${command}  (there is no ${expects.needs})`);
    }
    if (expects.kind === 'background' && this.#program !== undefined) return say(`  ok    ${place}  runs already`);
    const startedMs = performance.now();
    const shell = new Shell(command, this.#options);
    if (expects.kind === 'background') {
      this.#program = shell;
      await this.#expectText(place, shell, command, expects.text, READY_MS);
    } else if (expects.kind === 'until') {
      await this.#expectText(place, shell, command, expects.text, COMMAND_MS);
      await shell.interrupt();
    } else {
      const code = await shell.end(COMMAND_MS);
      const wanted = codes ?? [expects.code];
      if (typeof code !== 'number' || !wanted.includes(code)) {
        await shell.interrupt();
        const got = code === undefined ? `went on for ${COMMAND_MS / 1000} s` : `ended with ${code}`;
        throw new WalkError(
          `${place} \`${command}\` ${got}, expected ${wanted.join(' or ')}:\n${shell.output.slice(-2_000)}`,
        );
      }
    }
    this.#last = shell.output;
    say(`  ok    ${place}  ${command}  ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);
  }

  async #expectText(place: string, shell: Shell, command: string, text: string, withinMs: number): Promise<void> {
    if (await shell.prints(this.#options.adapt(text), withinMs)) return;
    await shell.interrupt();
    throw new WalkError(`${place} \`${command}\` did not print "${text}":\n${shell.output.slice(-2_000)}`);
  }

  async #check(place: string, command: string): Promise<void> {
    const deadline = performance.now() + CHECK_MS;
    for (;;) {
      const shell = new Shell(command, this.#options);
      if ((await shell.end(CHECK_MS)) === 0) break;
      if (performance.now() > deadline)
        throw new WalkError(`${place} is not true: \`${command}\`\n${shell.output.slice(-2_000)}`);
      await sleep(250);
    }
    this.#options.say(`  ok    ${place}  ${command}`);
  }
}

function isInstalled(program: string): boolean {
  return spawnSync('bash', ['-c', `command -v "${program}"`]).status === 0;
}
