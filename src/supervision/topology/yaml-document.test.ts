import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkConfiguration } from './load.ts';
import { editDistance, nearest } from './nearest.ts';
import { readYaml } from './yaml-document.ts';

const seed = Number(process.env['TAPEWORKS_SEED'] ?? Date.now() % 2 ** 31);
const numRuns = process.env['TAPEWORKS_LONG'] === '1' ? 20_000 : 1_000;

describe('reading YAML', () => {
  it(`never throws, whatever the bytes (TAPEWORKS_SEED=${seed})`, () => {
    const token = fc.constantFrom(...'[]{}:-?&*!|>\'"%@`#, \n\tab01'.split(''), '- ', ': ', '---\n', '<<', '__proto__');
    const yamlLike = fc.array(token, { maxLength: 200 }).map((tokens) => Buffer.from(tokens.join('')));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), yamlLike), (bytes) => {
        const read = readYaml('any.yaml', bytes);
        const files = new Map([
          ['kernel.yaml', bytes],
          ['topology.yaml', bytes],
          ['modules.d/a.yaml', bytes],
        ] as const);
        const checked = checkConfiguration(files, { venues: [] }, (name) => name);
        expect(read.ok || read.issues.length > 0).toBe(true);
        expect(checked.ok || checked.issues.length > 0).toBe(true);
      }),
      { seed, numRuns },
    );
  });

  it('gives plain objects that share nothing with prototypes', () => {
    const read = readYaml('a.yaml', Buffer.from('a: { b: [1, text, true, null, 0x10] }'));
    expect(read).toMatchObject({ ok: true, value: { value: { a: { b: [1, 'text', true, null, 16] } } } });
  });

  it('places an issue at the value, at the key, or at the nearest part that is written', () => {
    const read = readYaml('a.yaml', Buffer.from('one:\n  two: [5, 6]\n  three:\n'));
    if (!read.ok) throw new Error('unreadable');
    const finding = { code: 'TW_CONFIG_VALUE', expected: 'x', got: 'y' } as const;
    const placed = (path: (string | number)[], key = false) => {
      const issue = key ? read.value.atKey(path, finding) : read.value.at(path, finding);
      return `${issue.line}:${issue.column} ${issue.path}`;
    };
    expect(placed([])).toBe('1:1 ');
    expect(placed(['one', 'two', 1])).toBe('2:12 one.two[1]');
    expect(placed(['one', 'two'], true)).toBe('2:3 one.two');
    expect(placed(['one', 'three'])).toBe('3:3 one.three');
    expect(placed(['one', 'four', 'five'])).toBe('2:3 one.four.five');
    expect(placed(['zero', 'a b'])).toBe('1:1 zero."a b"');
  });
});

describe('the nearest word', () => {
  it.each([
    ['depth', 'depth', 0],
    ['depht', 'depth', 1],
    ['dept', 'depth', 1],
    ['', 'abc', 3],
    ['kitten', 'sitting', 3],
  ])('is %s to %s: %i', (from, to, distance) => {
    expect(editDistance(from, to)).toBe(distance);
    expect(editDistance(to, from)).toBe(distance);
  });

  it('is not offered when it is not near', () => {
    expect(nearest('whatever', ['depth', 'thread'])).toBeUndefined();
    expect(nearest('x'.repeat(1000), ['depth'])).toBeUndefined();
    expect(nearest('Tread', ['depth', 'thread'])).toBe('thread');
  });
});
