// The build script on a checkout of a few files, with the real tools.
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../..', import.meta.url));
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-build-'));
  for (const path of ['scripts/build.mjs', 'scripts/build', 'tsconfig.json', 'package-lock.json']) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  write('package.json', '{ "type": "module" }');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}

const textOf = (path: string) => readFileSync(join(folder, path), 'utf8');

/** Undefined where it went well and there was nothing to do. */
function build(...options: readonly string[]): { failed: boolean; said: string } | undefined {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/build.mjs', ...options], {
    cwd: folder,
    encoding: 'utf8',
  });
  return status === 0 && stderr === '' ? undefined : { failed: status !== 0, said: stderr };
}

describe('the build', () => {
  it('runs what has a type error only where types are not asked for, and refuses it as long as it stands', () => {
    write('src/price.ts', 'export const price: number = "ten";\n');
    expect(build('--unchecked')).toMatchObject({ failed: false });
    expect(textOf('dist/src/price.js')).toContain('price = "ten"');
    expect(build('--unchecked')).toBeUndefined();
    for (const _ of ['once', 'and again']) {
      expect(build()).toMatchObject({ failed: true, said: expect.stringContaining('src/price.ts(1,14)') });
    }
    write('src/price.ts', 'export const price: number = 10;\n');
    expect(build()).toMatchObject({ failed: false });
    expect(textOf('dist/src/price.js')).toContain('price = 10');
    expect([build(), build('--unchecked')]).toEqual([undefined, undefined]);
  });

  it('leaves nothing of a file that was deleted or renamed', () => {
    write('src/old.ts', 'export const one = 1;\n');
    write('src/kept.ts', 'export const two = 2;\n');
    write('src/migrations/1.sql', 'SELECT 1;\n');
    build('--unchecked');
    expect(readdirSync(join(folder, 'dist/src')).sort()).toEqual([
      'kept.js',
      'kept.js.map',
      'migrations',
      'old.js',
      'old.js.map',
    ]);
    cpSync(join(folder, 'src/old.ts'), join(folder, 'src/new.ts'));
    rmSync(join(folder, 'src/old.ts'));
    rmSync(join(folder, 'src/migrations/1.sql'));
    build('--unchecked');
    expect(readdirSync(join(folder, 'dist/src')).sort()).toEqual([
      'kept.js',
      'kept.js.map',
      'migrations',
      'new.js',
      'new.js.map',
    ]);
    expect(readdirSync(join(folder, 'dist/src/migrations'))).toEqual([]);
  });

  it('sees a change that keeps size and time', () => {
    const writeLongAgo = (text: string) => {
      write('src/one.ts', text);
      utimesSync(join(folder, 'src/one.ts'), 1e9, 1e9);
    };
    writeLongAgo('export const one = 1;\n');
    build('--unchecked');
    writeLongAgo('export const one = 7;\n');
    expect(build('--unchecked')).toMatchObject({ failed: false });
    expect(textOf('dist/src/one.js')).toContain('one = 7');
  });

  it('says what is wrong with a kernel, and builds the others before it', () => {
    write('src/kernels/assembly/bad.ts', 'export function twice(n: i32): i32 { return m * 2; }\n');
    write('src/kernels/assembly/add.ts', 'export function add(a: i32, b: i32): i32 { return a + b; }\n');
    expect(build('--unchecked')).toMatchObject({
      failed: true,
      said: expect.stringMatching(/built {2}kernel-add.*kernel-bad.*Cannot find name 'm'/s),
    });
    expect(existsSync(join(folder, 'dist/src/kernels/add.wasm'))).toBe(true);
    write('src/kernels/assembly/bad.ts', 'export function twice(n: i32): i32 { return n * 2; }\n');
    const { said } = build('--unchecked')!;
    expect(said).toContain('built  kernel-bad');
    expect(said).not.toContain('kernel-add');
    const module = new WebAssembly.Module(readFileSync(join(folder, 'dist/src/kernels/bad.wasm')));
    const { exports } = new WebAssembly.Instance(module, {});
    expect((exports['twice'] as (n: number) => number)(21)).toBe(42);
  });
});

interface Prints {
  of(files: readonly string[]): string;
  save(): void;
}

describe('fingerprints', () => {
  // A file that nobody has just written: those are read every time.
  const FILE = 'LICENSE';
  let memory: string;
  let prints: () => Prints;

  beforeEach(async () => {
    memory = join(folder, 'memory/prints.json');
    const module = pathToFileURL(join(root, 'scripts/build/fingerprints.mjs')).href;
    const { Fingerprints } = (await import(module)) as { Fingerprints: new (root: string, memory: string) => Prints };
    prints = () => new Fingerprints(root, memory);
    const first = prints();
    first.of([FILE]);
    first.save();
  });

  /** What the memory says of the file, with something else in one field. */
  function pretend(field: string, value: unknown): void {
    const [[name, known]] = JSON.parse(readFileSync(memory, 'utf8')) as [[string, object]];
    writeFileSync(memory, JSON.stringify([[name, { ...known, [field]: value }]]));
  }

  it('are taken from memory while size and times are the same', () => {
    const read = prints().of([FILE]);
    pretend('content', 'something else');
    expect(prints().of([FILE])).not.toBe(read);
  });

  it.each(['size', 'mtimeMs', 'ctimeMs'])('are taken anew when the %s is another', (field) => {
    const read = prints().of([FILE]);
    pretend('content', 'something else');
    pretend(field, 1);
    expect(prints().of([FILE])).toBe(read);
  });

  it('are taken anew when the memory is damaged', () => {
    const read = prints().of([FILE]);
    writeFileSync(memory, '[["LICE');
    expect(prints().of([FILE])).toBe(read);
  });
});
