import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

function filesBelow(folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

const sources = filesBelow('src').filter((file) => /\.tsx?$/.test(file));
const textOf = (file: string) => readFileSync(join(root, file), 'utf8');
const importsOf = (file: string) =>
  [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1]!);

/** Which folders of src/ a folder may import from. Dependencies point one way. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  protocols: [],
  kernels: ['protocols'],
  venues: ['protocols', 'kernels'],
  supervision: ['protocols'],
  actors: ['protocols', 'kernels', 'venues', 'supervision'],
  servers: ['protocols'],
  console: ['protocols', 'supervision', 'actors'],
  program: ['protocols', 'kernels', 'venues', 'supervision', 'actors', 'servers', 'console'],
  cli: ['protocols', 'kernels', 'venues', 'supervision', 'actors', 'servers', 'console', 'program'],
};

describe('the layers', () => {
  it('import only what lies below them', () => {
    const wrong = sources.flatMap((file) => {
      const layer = file.split('/')[1]!;
      return importsOf(file)
        .filter((target) => target.startsWith('.'))
        .map((target) => relative(root, join(root, file, '..', target)).split('/'))
        .filter(([top, other]) => top !== 'src' || (other !== layer && !(MAY_IMPORT[layer] ?? []).includes(other!)))
        .map((target) => `${file} imports ${target.join('/')}`);
    });
    expect(wrong).toEqual([]);
  });

  it('let exactly one file import nact', () => {
    const importers = sources.filter((file) => importsOf(file).includes('nact'));
    expect(importers.every((file) => file === 'src/supervision/nact-host.ts')).toBe(true);
  });
});

describe('the sources', () => {
  it('have no file longer than 400 lines', () => {
    expect(sources.filter((file) => textOf(file).split('\n').length > 400)).toEqual([]);
  });

  it('keep every type and lint rule on', () => {
    const off = new RegExp([': any\\b', 'as any\\b', '@ts-ignore', '@ts-nocheck', 'biome-ig' + 'nore'].join('|'));
    expect(sources.filter((file) => !file.includes('/assembly/') && off.test(textOf(file)))).toEqual([]);
  });

  it('leave nothing for later', () => {
    const later = new RegExp(
      `\\b(${['TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK', 'not imple' + 'mented'].join('|')})\\b`,
      'i',
    );
    const files = ['src', 'test', 'bench', 'docs', 'config', 'scripts'].flatMap(filesBelow);
    expect(files.filter((file) => statSync(join(root, file)).size < 1 << 20 && later.test(textOf(file)))).toEqual([]);
  });
});
