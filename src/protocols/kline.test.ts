import { expect, it } from 'vitest';
import { decimal, fromDecimal } from './kline.ts';

it.each([
  [150_000_000n, 8, '1.5'],
  [120n, 0, '120'],
  [0n, 0, '0'],
  [7n, 16, '0.0000000000000007'],
  [1_000n, 3, '1'],
])('%s at %s places is %s, and back', (value, digits, text) => {
  expect(decimal(value, digits)).toBe(text);
  expect(fromDecimal(text, digits)).toBe(value);
});

it('is shown with its sign', () => expect(decimal(-25n, 1)).toBe('-2.5'));
