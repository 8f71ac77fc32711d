import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { EXIT } from './command.ts';
import { loadCommands } from './commands.ts';
import { hanging, renderCommands, renderHelp } from './help.ts';

const main = fileURLToPath(new URL('./main.js', import.meta.url));
const commands = await loadCommands();

function tapeworks(args: readonly string[], env: Record<string, string> = {}) {
  return spawnSync(process.execPath, [main, ...args], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
}

describe('the help', () => {
  it.each(commands)('of %s has usage, options with --json, exit codes and examples', (name, command) => {
    const text = renderHelp(name, command);
    expect(text).toMatch(new RegExp(`^usage: tapeworks ${name} `));
    expect(text).toMatch(/^ {2}--json {2,}\S/m);
    expect(text).toMatch(/^exit codes:\n {2}0 {2,}\S/m);
    expect(command.examples.length).toBeGreaterThan(0);
    for (const example of command.examples) expect(example).toMatch(/tapeworks|_sim/);
    for (const line of command.usage)
      expect(Object.keys(command.options)).toEqual(expect.arrayContaining(flagsIn(line)));
  });

  it.each(commands)('of %s names only options that exist, in each action too', (_name, command) => {
    const known = Object.keys(command.options);
    for (const { usage, options } of Object.values(command.actions ?? {})) {
      expect(known).toEqual(expect.arrayContaining([...options]));
      expect(options).toEqual(expect.arrayContaining(flagsIn(usage)));
    }
  });

  it.each([40, 80, 120])('is filled to %i columns', (columns) => {
    for (const [name, command] of commands) {
      const [filled] = renderHelp(name, { ...command, notes: '', examples: [] }, columns).split('exit codes:');
      const isWord = (line: string) => line.trim().split(' ').length === 1;
      expect(
        filled!.split('\n').filter((line) => line.length > columns && !isWord(line) && !line.includes('://')),
      ).toEqual([]);
    }
    expect(
      renderCommands(commands, columns)
        .split('\n')
        .every((line) => line.length <= columns),
    ).toBe(true);
  });

  it('breaks lines between words and keeps the indent', () => {
    expect(hanging('ab: ', 'one two three', 11)).toEqual(['ab: one two', '    three']);
    expect(hanging('', 'unbreakable', 4)).toEqual(['unbreakable']);
  });
});

const flagsIn = (usage: string) => [...usage.matchAll(/--([a-z-]+)/g)].map((match) => match[1]!);

describe('a command line that does not fit', () => {
  it.each([
    [['stauts'], 'TW_UNKNOWN_COMMAND: there is no command "stauts"; did you mean `status`?'],
    [['status', '--jsn'], 'TW_BAD_USAGE: there is no option --jsn; did you mean `--json`?'],
    [['status', '--zzzzzz'], 'TW_BAD_USAGE: there is no option --zzzzzz\n'],
    [['status', 'now'], 'TW_BAD_USAGE: "now" is one word too many'],
    [['dlq'], 'TW_BAD_USAGE: say what to do: list, show, retry, drop'],
    [['dlq', 'lst'], 'only list, show, retry, drop; did you mean `list`?'],
    [['dlq', 'list', '--edit', 'x'], 'TW_BAD_USAGE: `list` takes no --edit'],
    [['top', '--depth', '3'], 'TW_BAD_USAGE: --depth goes with --book SYMBOL'],
    [['up', '--config'], 'argument missing'],
    [
      ['audit', 'klines', '--venue', 'kraken'],
      'TW_BAD_USAGE: --venue: expected one that gives bars of its own (binance',
    ],
    [['backfill', 'XXBTZUSD', '--venue', 'kraken', '--from', '2026-01-31'], 'gives bars of its own (binance'],
    [['backfill', 'btcusdt', '--from', '2026-01-31'], '"btcusdt" is no symbol of Binance spot; they look like BTCUSDT'],
  ])('%j is answered with the likely cure', (args, said) => {
    const { status, stderr, stdout } = tapeworks(args);
    expect([status, stdout]).toEqual([EXIT.usage, '']);
    expect(stderr).toContain(said);
  });

  it('is one JSON object on stdout for programs', () => {
    const { status, stdout, stderr } = tapeworks(['status', '--json', '--url', 'http://127.0.0.1:1']);
    expect([status, stderr]).toEqual([EXIT.unavailable, '']);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: false,
      error: { code: 'TW_CONSOLE_UNREACHABLE', remedy: expect.stringContaining('tapeworks') },
    });
  });

  it('shows help wherever --help stands, except behind --', () => {
    expect(tapeworks(['dlq', 'list', '--help']).stdout).toMatch(/^usage: tapeworks dlq list/);
    expect(tapeworks(['dlq', '--', '--help']).status).toBe(EXIT.usage);
  });
});
