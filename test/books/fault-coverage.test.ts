import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { FAULT_KINDS } from '../../src/venues/simulation/faults.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));
const tests = readdirSync(folder)
  .filter((name) => name.endsWith('.test.js') && name !== 'fault-coverage.test.js')
  .map((name) => readFileSync(`${folder}${name}`, 'utf8'));

describe('every fault of the simulated venues', () => {
  it.each(Object.keys(FAULT_KINDS))('%s is struck by a test of the book path', (kind) => {
    expect(tests.some((text) => text.includes(`'${kind}'`))).toBe(true);
  });
});
