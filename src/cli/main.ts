import { CHILD_VARIABLE } from '../program/child-process.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { type Command, EXIT } from './command.ts';

/** The commands in the order in which `tapeworks help` lists them. */
const COMMANDS: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  up: () => import('./up.ts'),
  sim: () => import('./sim.ts'),
  collect: () => import('./collect.ts'),
  validate: () => import('./validate.ts'),
  plan: () => import('./plan.ts'),
  apply: () => import('./apply.ts'),
  status: () => import('./status.ts'),
  top: () => import('./top.ts'),
  audit: () => import('./audit.ts'),
  dlq: () => import('./dlq.ts'),
  spill: () => import('./spill.ts'),
};

async function help(name: string | undefined): Promise<number> {
  if (name !== undefined) {
    process.stdout.write(`${(await find(name)).help.trim()}\n`);
    return EXIT.ok;
  }
  const lines = await Promise.all(
    Object.entries(COMMANDS).map(async ([key, load]) => `  ${key.padEnd(12)} ${(await load()).command.summary}`),
  );
  process.stdout.write(
    `usage: tapeworks COMMAND [options]\n\n${lines.join('\n')}\n\ntapeworks help COMMAND says more.\n`,
  );
  return EXIT.ok;
}

async function find(name: string): Promise<Command> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) throw new TapeworksError('TW_UNKNOWN_COMMAND', `there is no command "${name}"`);
  return (await load()).command;
}

async function main(args: readonly string[]): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return help(rest[0]);
  if (rest.includes('--help') || rest.includes('-h')) return help(name);
  return (await find(name)).run(rest);
}

if (process.env[CHILD_VARIABLE] !== undefined) {
  process.stdin.once('close', () => process.kill(process.pid, 'SIGTERM')).resume();
  // Listening for that must not keep a finished command from ending.
  (process.stdin as { unref?(): void }).unref?.();
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof TapeworksError)) throw error;
  process.stderr.write(`${error.code}: ${error.message}\n  ${error.remedy}\n`);
  const usage = error.code === 'TW_UNKNOWN_COMMAND' || error.code === 'TW_BAD_USAGE';
  const unreachable = error.code === 'TW_CONTROL_UNREACHABLE' || error.code === 'TW_CONSOLE_UNREACHABLE';
  process.exitCode = usage ? EXIT.usage : unreachable ? EXIT.unavailable : EXIT.failed;
}
