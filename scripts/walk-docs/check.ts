// The short form: whether everything that the pages name exists. Nothing is run.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Command } from '../../src/cli/command.ts';
import { loadCommands } from '../../src/cli/commands.ts';
import { type Page, readPage } from './document.ts';

/** The pages that a new user follows, in this order. */
export const WALKED = ['README.md', 'docs/tour.md', 'docs/grpc.md'] as const;

/** Everything that is wrong with some pages of a checkout. */
export async function checkPages(root: string, files: readonly string[]): Promise<string[]> {
  const commands = new Map(await loadCommands());
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: object };
  const walked: readonly string[] = WALKED;
  return files.flatMap((file) => {
    const page = readPage(file, readFileSync(join(root, file), 'utf8'));
    const lines = [
      ...page.inline,
      ...page.steps.flatMap((step) => (step.kind === 'output' ? [] : [{ line: step.line, command: step.command }])),
    ];
    return [
      // Only pages that are followed need every block to say what it is.
      ...(walked.includes(file) ? page.mistakes : []),
      ...lines.flatMap(({ line, command }) =>
        mistakesIn(command, commands, Object.keys(scripts)).map((wrong) => `${file}:${line} ${wrong}`),
      ),
      ...page.links.flatMap(({ line, target }) =>
        deadLink(root, page, target).map((wrong) => `${file}:${line} ${wrong}`),
      ),
    ];
  });
}

/** Commands, actions, options and npm scripts that do not exist. */
function mistakesIn(line: string, commands: ReadonlyMap<string, Command>, scripts: readonly string[]): string[] {
  const npm = [...line.matchAll(/\bnpm run ([\w:-]+)/g)].map((match) => match[1]!);
  const own = [...line.matchAll(/(?<![\w/-])tapeworks ([a-z]+)((?: [^|;&>)]+)?)/g)];
  return [
    ...npm.filter((script) => !scripts.includes(script)).map((script) => `there is no npm script ${script}`),
    ...own.flatMap((match) => mistakesInCommand(match[1]!, match[2]!, commands)),
  ];
}

function mistakesInCommand(name: string, rest: string, commands: ReadonlyMap<string, Command>): string[] {
  if (name === 'help') return [];
  const command = commands.get(name);
  if (command === undefined) return [`there is no command ${name}`];
  const options = [...rest.matchAll(/--([a-z-]+)/g)].map((match) => match[1]!);
  const action = rest.trim().split(' ')[0] ?? '';
  const isAction =
    command.actions === undefined || action === '' || action.startsWith('-') || action in command.actions;
  return [
    ...options.filter((option) => !(option in command.options)).map((option) => `${name} has no --${option}`),
    ...(isAction ? [] : [`${name} has no action ${action}`]),
  ];
}

function deadLink(root: string, page: Page, target: string): string[] {
  if (/^[a-z]+:/.test(target)) return [];
  const [path = '', anchor] = target.split('#');
  const file = path === '' ? page.file : normalize(join(dirname(page.file), path));
  if (!existsSync(join(root, file))) return [`the link leads nowhere: ${target}`];
  if (anchor === undefined || !file.endsWith('.md')) return [];
  const { anchors } = file === page.file ? page : readPage(file, readFileSync(join(root, file), 'utf8'));
  return anchors.includes(anchor) ? [] : [`${file} has no heading #${anchor}`];
}
