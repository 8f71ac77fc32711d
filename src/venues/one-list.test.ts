// Adding a venue needs nothing outside its folder but one line in the list: so nothing outside may know a venue by name.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { DecodeKernel } from '../kernels/decode.ts';
import { VENUES } from './index.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Defaults of the configuration name venues, and so may tests, what only tests use, and oracles. */
const MAY_NAME = /\.test\.ts$|\/testing\.ts$|\/oracle\/|^src\/supervision\/topology\/topology-schema\.ts$/;
const OWN = new RegExp(`^src/venues/(index\\.ts|(${VENUES.map(({ facts }) => facts.id).join('|')})/.+)$`);
const isOutside = (file: string) => /\.tsx?$/.test(file) && !MAY_NAME.test(file) && !OWN.test(file);
const sources = () => readdirSync(`${root}src`, { recursive: true, encoding: 'utf8' }).map((name) => `src/${name}`);
const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '');

describe.each(VENUES.map(({ facts }) => facts.id))('%s', (venue) => {
  it('is named in its own folder and in the list alone', () => {
    const files = sources().filter(isOutside);
    expect(files.length).toBeGreaterThan(200);
    const name = new RegExp(venue, 'i');
    expect(files.filter((file) => name.test(withoutComments(readFileSync(`${root}${file}`, 'utf8'))))).toEqual([]);
  });

  it('has its walker in its folder, and in the decode kernel', () => {
    expect(existsSync(`${root}src/venues/${venue}/assembly/walker.ts`)).toBe(true);
    const { walkers } = new DecodeKernel();
    expect(Object.keys(walkers).map((name) => name.toLowerCase())).toContain(`decode${venue}`);
  });
});
