// The short form of `npm run test:docs`: what the pages name exists, and their annotations mean something.
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkPages, WALKED } from '../../scripts/walk-docs/check.ts';
import { looselyContains, readPage } from '../../scripts/walk-docs/document.ts';
import { Walker } from '../../scripts/walk-docs/walker.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

describe('the pages', () => {
  it.each(pages)('%s names only commands, options, scripts and files that exist', async (page) => {
    expect(await checkPages(root, [page])).toEqual([]);
  });
});

const page = (...lines: readonly string[]) => readPage('page.md', lines.join('\n'));

describe('reading a page', () => {
  it('finds commands with what is expected of them', () => {
    const { steps } = page(
      ...['```sh', 'npm start   # runs', '# nothing', '', 'curl \\', '  -f x', '```'],
      ...['<!-- walk: if jq, exit 2 -->', '```sh', 'jq .', '```'],
      ...['<!-- walk: background, until "is up" -->', '```sh', 'up', '```'],
      ...['<!-- walk: until "BTC #" -->', '```bash', 'top', '```'],
      ...['<!-- walk: not here, it is far -->', '```sh', 'far', '```'],
      ...['<!-- walk: output -->', '```text', 'a', '```', '<!-- walk: check true -->', '```yaml', 'b: 1', '```'],
    );
    expect(steps).toEqual([
      { kind: 'command', line: 2, command: 'npm start', expects: { kind: 'exit', code: 0, needs: undefined } },
      { kind: 'command', line: 5, command: 'curl -f x', expects: { kind: 'exit', code: 0, needs: undefined } },
      { kind: 'command', line: 10, command: 'jq .', expects: { kind: 'exit', code: 2, needs: 'jq' } },
      { kind: 'command', line: 14, command: 'up', expects: { kind: 'background', text: 'is up' } },
      { kind: 'command', line: 18, command: 'top', expects: { kind: 'until', text: 'BTC #', needs: undefined } },
      { kind: 'command', line: 22, command: 'far', expects: { kind: 'not-here', reason: 'it is far' } },
      { kind: 'output', line: 25, lines: ['a'] },
      { kind: 'check', line: 28, command: 'true' },
    ]);
  });

  it('refuses annotations without a meaning, and blocks without a language', () => {
    expect(page('<!-- walk: sometimes -->', '```', 'x', '```').mistakes).toEqual([
      'page.md:1 the annotation says nothing that is known: <!-- walk: sometimes -->',
      'page.md:2 the block has no language that is known',
    ]);
  });

  it('takes figures and spaces in samples lightly, and words and their order seriously', () => {
    const output = 'built x\nBTC-USD #99  0.5 @ 101.25 kraken\ndone in 3 s\n';
    expect(looselyContains(output, ['BTC-USD #1041 0.31 @ 97,234.11 ...', 'done in 12.5 s'])).toBe(true);
    expect(looselyContains(output, ['done in 3 s', 'built x'])).toBe(false);
    expect(looselyContains(output, ['ETH-USD #1'])).toBe(false);
  });
});

describe('the short check', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tapeworks-pages-'));
    writeFileSync(join(folder, 'package.json'), '{"scripts":{"bench":""}}');
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('finds what does not exist, by its line', async () => {
    const lines = [
      '`npx tapeworks stauts`, `tapeworks dlq lst`, `npx tapeworks top --bok BTC-USD`, `npm run bnch`',
      '[a](gone.md) [b](#nowhere) [c](page.md#here) [d](https://example.org/x)',
      '## Here',
      '`npx tapeworks status`, `npm run bench -- x`, `tapeworks dlq list --code x`, `tapeworks help COMMAND`',
    ];
    writeFileSync(join(folder, 'page.md'), lines.join('\n'));
    expect(await checkPages(folder, ['page.md'])).toEqual([
      'page.md:1 there is no command stauts',
      'page.md:1 dlq has no action lst',
      'page.md:1 top has no --bok',
      'page.md:1 there is no npm script bnch',
      'page.md:2 the link leads nowhere: gone.md',
      'page.md:2 page.md has no heading #nowhere',
    ]);
  });

  it('and the walk stop at the first line that does not do what it says', async () => {
    const said: string[] = [];
    const walker = new Walker({ folder, env: process.env, adapt: (text) => text, say: (line) => said.push(line) });
    const follow = (...lines: readonly string[]) => walker.follow(page(...lines));
    await follow('```sh', 'echo "up 7 s" && exit 0', '```', '<!-- walk: output -->', '```text', 'up 12 s', '```');
    await follow('<!-- walk: exit 3 -->', '```sh', 'exit 3', '```', '<!-- walk: check true -->');
    await follow('<!-- walk: until "ready" -->', '```sh', 'echo ready; sleep 100', '```');
    await follow(
      '<!-- walk: background, until "ready" -->',
      '```sh',
      'trap "exit 0" INT; echo ready; while :; do sleep 0.1; done',
      '```',
    );
    await walker.stop();
    expect(said).toHaveLength(6);
    await expect(follow('```sh', 'true', 'echo oops; false', 'true', '```')).rejects.toThrow(
      /^page\.md:3 `echo oops; false` ended with 1, expected 0:\noops/,
    );
    await expect(follow('```sh', 'echo up', '```', '<!-- walk: output -->', '```text', 'down', '```')).rejects.toThrow(
      'page.md:5 the page shows other output',
    );
    await expect(follow('<!-- walk: until "x" -->', '```sh', 'true', '```')).rejects.toThrow('did not print "x"');
  });

  it('covers each page that a new user follows', () => {
    expect(pages).toEqual(expect.arrayContaining([...WALKED]));
  });
});
