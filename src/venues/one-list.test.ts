// Adding a venue needs nothing outside its folder but one line in the list: so nothing outside may know a venue by name.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DecodeKernel } from '../kernels/decode.ts';
import { VENUES } from './index.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Where frames, books and feeds are handled. Defaults of the configuration name venues, and so may tests and oracles. */
const FOLDERS = [
  ...['src/actors/exchange', 'src/actors/merger', 'src/actors/publisher', 'src/actors/collector', 'src/console'],
  ...['src/kernels', 'src/protocols', 'src/venues'],
];
const isOutside = (file: string) =>
  /\.tsx?$/.test(file) && !/\.test\.ts$|\/oracle\//.test(file) && !/^src\/venues\/(index\.ts|\w+\/.+)$/.test(file);
const filesBelow = (folder: string) =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' }).map((name) => `${folder}/${name}`);
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '');

describe.each(VENUES.map(({ facts }) => facts.id))('%s', (venue) => {
  it('is named in its own folder and in the list alone', () => {
    const files = FOLDERS.flatMap(filesBelow).filter(isOutside);
    expect(files.length).toBeGreaterThan(100);
    const name = new RegExp(venue, 'i');
    expect(files.filter((file) => name.test(withoutComments(readFileSync(`${root}${file}`, 'utf8'))))).toEqual([]);
  });

  it('has its walker in its folder, and in the decode kernel', () => {
    expect(existsSync(`${root}src/venues/${venue}/assembly/walker.ts`)).toBe(true);
    const { walkers } = new DecodeKernel();
    expect(Object.keys(walkers).map((name) => name.toLowerCase())).toContain(`decode${venue}`);
  });
});
