// Help is made from what a command says of itself, so that every one has usage, options, exit codes and examples.
import { type Command, EXIT, EXIT_MEANS, type OptionSpec } from './command.ts';

const WIDTH_MAX = 120;
const WIDTH_MIN = 40;
const INDENT = '  ';

/** Text for so many columns; a terminal of any width gets lines that it need not break. */
export function renderHelp(name: string, command: Command, columns = WIDTH_MAX): string {
  const width = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, columns));
  const usage = [
    ...command.usage.map((line) => `${name} ${line}`.trimEnd()),
    ...Object.entries(command.actions ?? {}).map(([action, { usage: line }]) => `${name} ${action} ${line}`.trimEnd()),
  ];
  const exits = { ...command.exits, [EXIT.usage]: EXIT_MEANS[EXIT.usage] };
  return [
    ...usage.flatMap((line, at) => hanging(at === 0 ? 'usage: ' : '       ', `tapeworks ${line}`, width)),
    '',
    ...command.about
      .trim()
      .split('\n')
      .flatMap((line) => hanging('', line, width)),
    '',
    'options:',
    ...table(
      Object.entries(command.options).map(([option, spec]) => [flagOf(option, spec), aboutOf(spec)]),
      width,
    ),
    ...(command.notes === undefined ? [] : ['', command.notes.trim()]),
    '',
    'exit codes:',
    ...table(Object.entries(exits), width),
    '',
    'examples:',
    ...command.examples.map((line) => `${INDENT}${line}`),
    '',
  ].join('\n');
}

/** The list of commands. */
export function renderCommands(commands: readonly (readonly [string, Command])[], columns = WIDTH_MAX): string {
  const width = Math.max(WIDTH_MIN, Math.min(WIDTH_MAX, columns));
  return [
    'usage: tapeworks COMMAND [options]',
    '',
    ...table(
      commands.map(([name, { summary }]) => [name, summary]),
      width,
    ),
    '',
    ...hanging(
      '',
      '`tapeworks help COMMAND` shows options, exit codes and examples; `tapeworks --version` the version.',
      width,
    ),
    '',
  ].join('\n');
}

function flagOf(option: string, { value }: OptionSpec): string {
  return value === undefined ? `--${option}` : `--${option} ${value}`;
}

const aboutOf = ({ about, default: given }: OptionSpec) => (typeof given === 'string' ? `${about} (${given})` : about);

/** Two columns; where they would not fit, the second goes below the first. */
export function table(rows: readonly (readonly [string, string])[], width: number): string[] {
  const first = Math.max(...rows.map(([left]) => left.length)) + INDENT.length + 2;
  if (first > width / 2) {
    return rows.flatMap(([left, right]) => [`${INDENT}${left}`, ...hanging(INDENT.repeat(3), right, width)]);
  }
  return rows.flatMap(([left, right]) => hanging(`${INDENT}${left}`.padEnd(first), right, width));
}

/** Words filled into lines; the first begins with `lead`, the others with as many spaces. */
export function hanging(lead: string, text: string, width: number): string[] {
  const lines: string[] = [];
  let line = lead;
  for (const word of text.split(' ')) {
    const isFresh = line.trim() === '' || line === lead;
    if (!isFresh && line.length + 1 + word.length > width) {
      lines.push(line);
      line = ' '.repeat(lead.length) + word;
    } else line = line === lead ? lead + word : `${line} ${word}`;
  }
  return [...lines, line];
}
