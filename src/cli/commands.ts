import { TapeworksError } from '../protocols/errors/index.ts';
import { didYouMean } from '../supervision/topology/nearest.ts';
import type { Command } from './command.ts';

/** The commands in the order in which `tapeworks help` lists them. */
const COMMANDS: Readonly<Record<string, () => Promise<{ command: Command }>>> = {
  up: () => import('./up.ts'),
  doctor: () => import('./doctor.ts'),
  sim: () => import('./sim.ts'),
  collect: () => import('./collect.ts'),
  validate: () => import('./validate.ts'),
  plan: () => import('./plan.ts'),
  apply: () => import('./apply.ts'),
  status: () => import('./status.ts'),
  top: () => import('./top.ts'),
  audit: () => import('./audit.ts'),
  backfill: () => import('./backfill.ts'),
  dlq: () => import('./dlq.ts'),
  spill: () => import('./spill.ts'),
  bench: () => import('./bench.ts'),
  completion: () => import('./completion.ts'),
};

/** Every command with its name; only the help and the shells' completion need them all. */
export function loadCommands(): Promise<(readonly [string, Command])[]> {
  return Promise.all(Object.entries(COMMANDS).map(async ([name, load]) => [name, (await load()).command] as const));
}

export async function commandNamed(name: string): Promise<Command> {
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load !== undefined) return (await load()).command;
  const hint = didYouMean(name, Object.keys(COMMANDS));
  const text = `there is no command "${name}"`;
  throw new TapeworksError('TW_UNKNOWN_COMMAND', hint === undefined ? text : `${text}; ${hint}`);
}
