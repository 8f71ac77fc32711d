import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadCommands } from './commands.ts';
import { bashScript } from './completion/bash.ts';
import { fishScript } from './completion/fish.ts';
import { completedCommands } from './completion/table.ts';
import { zshScript } from './completion/zsh.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const loaded = await loadCommands();
const commands = completedCommands(loaded);
const venues = ['binance', 'bitstamp', 'kraken', 'coinbase'];
const has = (shell: string) => spawnSync(shell, ['--version']).status === 0;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-completion-'));
  cpSync(join(root, 'config'), join(folder, 'config'), { recursive: true });
  mkdirSync(join(folder, 'other'));
  writeFileSync(join(folder, 'other/topology.yaml'), 'instruments:\n  DOGE-USD: {}\n  # none\nfeeds:\n  binance: {}\n');
  writeFileSync(join(folder, 'bash'), bashScript(commands, venues));
  writeFileSync(join(folder, 'zsh'), zshScript(commands, venues));
  writeFileSync(join(folder, 'fish'), fishScript(commands, venues));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function run(shell: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(shell, args, { cwd: folder, encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
  return stdout;
}

/** What bash itself would offer with the cursor behind the last of these words. */
function inBash(...words: readonly string[]): string[] {
  const quoted = ['tapeworks', ...words].map((word) => `'${word}'`).join(' ');
  const script = `source ./bash; COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _tapeworks; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return run('bash', ['--norc', '-c', script])
    .trim()
    .split('\n')
    .filter((word) => word !== '');
}

describe('completion in bash', () => {
  it('is bound to the command', () => {
    expect(run('bash', ['--norc', '-c', 'source ./bash; complete -p tapeworks'])).toContain('-F _tapeworks tapeworks');
  });

  it.each<[string[], string[]]>([
    [[''], [...loaded.map(([name]) => name), 'help']],
    [['st'], ['status']],
    [['help', 'va'], ['validate']],
    [
      ['dlq', ''],
      ['list', 'show', 'retry', 'drop'],
    ],
    [['dlq', 're'], ['retry']],
    [
      ['dlq', 'show', '--'],
      ['--box', '--data', '--json', '--help'],
    ],
    [['dlq', '--json', 'li'], ['list']],
    [['up', '--re'], ['--reset']],
    [
      ['top', '--book', 'ETH'],
      ['ETH-USD', 'ETH-BTC'],
    ],
    [['top', '--book', '=', 'SOL'], ['SOL-USD']],
    [
      ['top', '--book', '='],
      ['BTC-USD', 'ETH-USD', 'SOL-USD', 'ETH-BTC'],
    ],
    [['collect', '--config', 'other', '--symbols', ''], ['DOGE-USD']],
    [['collect', '--symbols', 'BTC-USD,SO'], ['BTC-USD,SOL-USD']],
    [
      ['collect', '--venues', 'bi'],
      ['binance', 'bitstamp'],
    ],
    [['collect', '--config', 'o'], ['other']],
    [
      ['plan', 'config/to'],
      ['config/topology.schema.json', 'config/topology.yaml'],
    ],
    [
      ['audit', 'klines', '--interval', '1'],
      ['1s', '1m', '1h', '1d', '1w', '1M'],
    ],
    [['completion', 'z'], ['zsh']],
    [['status', '--url', ''], []],
    [['nonsense', ''], []],
  ])('%j gives %j', (words, expected) => {
    const offered = inBash(...words);
    // Which intervals there are is not the shell's business.
    if (words[0] === 'audit') expect(offered).toEqual(expect.arrayContaining(['1m', '1h', '1d']));
    else expect(offered.sort()).toEqual([...expected].sort());
  });

  it.each(loaded)('knows every option of %s', (name, command) => {
    const action = Object.keys(command.actions ?? {});
    const offered = new Set(
      (action.length > 0 ? action : ['']).flatMap((word) => inBash(name, ...(word === '' ? [] : [word]), '--')),
    );
    expect([...offered].sort()).toEqual(
      [...Object.keys(command.options).map((option) => `--${option}`), '--help'].sort(),
    );
  });
});

describe.skipIf(!has('zsh'))('completion in zsh', () => {
  it('is right in form, and is bound to the command', () => {
    run('zsh', ['-f', '-n', './zsh']);
    const script = 'autoload -Uz compinit && compinit -D -u && source ./zsh && print -r -- $_comps[tapeworks]';
    expect(run('zsh', ['-f', '-c', script]).trim()).toBe('_tapeworks');
  });
});

describe.skipIf(!has('fish'))('completion in fish', () => {
  const inFish = (line: string) =>
    run('fish', ['--no-config', '-c', `source ./fish; complete -C '${line}'`])
      .trim()
      .split('\n')
      .map((one) => one.split('\t')[0]);

  it.each([
    ['tapeworks st', ['status']],
    ['tapeworks dlq re', ['retry']],
    ['tapeworks top --book ETH', ['ETH-BTC', 'ETH-USD']],
    ['tapeworks dlq list --li', ['--limit']],
    ['tapeworks up --re', ['--reset']],
  ])('%s gives %j', (line, expected) => {
    expect(inFish(line).sort()).toEqual(expected);
  });
});
