import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { generatedFiles } from '../scripts/generated-files.ts';
import { ERROR_TABLE } from '../src/protocols/errors/index.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const files = generatedFiles();

describe('what is made from the sources', () => {
  it.each([...files.keys()])('%s is fresh', (path) => {
    const onDisk = existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '';
    const hint = `${path} is not what the sources make of it: run \`npm run docs\` and commit the result`;
    expect(onDisk === files.get(path), hint).toBe(true);
  });

  it('leaves no schema file behind that nothing makes', () => {
    const schemas = readdirSync(join(root, 'config')).filter((name) => name.endsWith('.schema.json'));
    expect(schemas.filter((name) => !files.has(`config/${name}`))).toEqual([]);
  });

  it('describes every key of the configuration', () => {
    const undescribed = files
      .get('docs/configuration.md')!
      .split('\n')
      .filter((line) => line.startsWith('| `') && / \| +\|$/.test(line));
    expect(undescribed).toEqual([]);
  });

  it('gives each error code one area, a meaning and a remedy', () => {
    const codes = Object.values(ERROR_TABLE).flatMap((errors) => Object.keys(errors));
    expect(new Set(codes).size).toBe(codes.length);
    for (const code of codes) expect(files.get('docs/errors.md')).toContain(`| \`${code}\` | `);
  });
});
