import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Checked, renderIssue } from '../../protocols/config-issue.ts';
import { type Configuration, readConfigFiles } from './load.ts';
import { KNOWN } from './testing.ts';
import { ConfigWatcher, settle } from './watch.ts';

describe('settling', () => {
  const readings = (...digests: string[]) => {
    let state = { told: 'old', lastRead: undefined } as Parameters<typeof settle>[0];
    return digests.map((digest) => {
      const [next, then] = settle(state, digest);
      state = next;
      return then;
    });
  };

  it('tells a change once, after two equal readings', () => {
    expect(readings('new', 'new', 'new')).toEqual(['wait', 'tell', 'idle']);
  });

  it('does not tell what is still being written', () => {
    expect(readings('ne', 'new', 'new!', 'new!')).toEqual(['wait', 'wait', 'wait', 'tell']);
  });

  it('tells nothing when a change is taken back', () => {
    expect(readings('new', 'old', 'new', 'new', 'old', 'old')).toEqual([
      ...['wait', 'idle', 'wait', 'tell', 'wait', 'tell'],
    ]);
  });
});

describe('watching a folder', () => {
  let folder = '';
  let watcher: ConfigWatcher | undefined;
  const told: string[] = [];
  let wake = () => {};

  const write = (name: string, text: string) => writeFileSync(join(folder, name), text);
  const shown = (checked: Checked<Configuration>) =>
    checked.ok
      ? `depth ${checked.value.topology.book.depth}, ${checked.value.modules.length} modules`
      : checked.issues.map(renderIssue).join('; ').replaceAll(folder, '');

  /** Waits until that was told; the test's own time limit is the only one. */
  async function untilTold(text: string): Promise<void> {
    while (told.at(-1) !== text) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  }

  async function watchFolder(meanwhile = () => {}): Promise<void> {
    const known = await readConfigFiles(folder);
    if (!known.ok) throw new Error('unreadable');
    meanwhile();
    watcher = new ConfigWatcher({
      ...{ folder, around: KNOWN, debounceMs: 20 },
      known: known.value,
      onChange: (checked) => {
        told.push(shown(checked));
        wake();
      },
    });
  }

  beforeEach(() => {
    told.length = 0;
    folder = mkdtempSync(join(tmpdir(), 'tapeworks-watch-'));
    write('kernel.yaml', '{}');
    write('topology.yaml', 'book: { depth: 1 }');
  });

  afterEach(() => {
    watcher?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('tells of a file that is written, renamed over, and of a module that comes', async () => {
    await watchFolder();
    write('topology.yaml', 'book: { depth: 2 }');
    await untilTold('depth 2, 0 modules');
    write('.topology.yaml.new', 'book: { depth: 3 }');
    renameSync(join(folder, '.topology.yaml.new'), join(folder, 'topology.yaml'));
    await untilTold('depth 3, 0 modules');
    mkdirSync(join(folder, 'modules.d'));
    write('modules.d/a.yaml', 'name: a\ncommand: a');
    await untilTold('depth 3, 1 modules');
    expect(told).toHaveLength(3);
  });

  it('tells of a file that is wrong or gone, and goes on', async () => {
    await watchFolder();
    write('topology.yaml', 'book: { depth: 0 }');
    await untilTold('/topology.yaml:1:16 book.depth: expected 1..100, got 0');
    rmSync(join(folder, 'topology.yaml'));
    await untilTold('/topology.yaml: expected a readable file, got ENOENT');
    write('topology.yaml', 'book: { depth: 4 }');
    await untilTold('depth 4, 0 modules');
  });

  it('tells of what changed between loading and watching', async () => {
    await watchFolder(() => write('topology.yaml', 'book: { depth: 5 }'));
    await untilTold('depth 5, 0 modules');
  });

  it('tells of a folder that is replaced', async () => {
    await watchFolder();
    const next = `${folder}-next`;
    mkdirSync(next);
    writeFileSync(join(next, 'kernel.yaml'), '{}');
    writeFileSync(join(next, 'topology.yaml'), 'book: { depth: 7 }');
    rmSync(folder, { recursive: true });
    renameSync(next, folder);
    await untilTold('depth 7, 0 modules');
    write('topology.yaml', 'book: { depth: 8 }');
    await untilTold('depth 8, 0 modules');
  });
});
