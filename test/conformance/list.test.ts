import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const folder = fileURLToPath(new URL('../../../test/conformance/', import.meta.url));
const readme = readFileSync(`${folder}README.md`, 'utf8');
const rows = [...readme.matchAll(/^\| `(\w+)`\s+\| `([\w-]+\.test\.ts)`\s+\|$/gm)].map(
  (row) => [row[1]!, row[2]!] as const,
);

/** How a title ends whose test runs for each restart type. */
const LOOPED = ['_$', '{restart}'].join('');

it('every case that the list calls covered is a test of that name in that file', () => {
  expect(rows.length).toBeGreaterThan(70);
  const missing = rows.filter(([name, file]) => {
    const titles = [...readFileSync(`${folder}${file}`, 'utf8').matchAll(/\bit\(\s*(['`])(.*?)\1/g)].map(
      (match) => match[2]!,
    );
    const ways = [name, name.replace(/_(temporary|transient)$/, LOOPED)];
    return !titles.some((title) => ways.some((way) => new RegExp(`(^|, )${escaped(way)}[:,]`).test(title)));
  });
  expect(missing).toEqual([]);
});

function escaped(text: string): string {
  return text.replace(/[${}]/g, '\\$&');
}
