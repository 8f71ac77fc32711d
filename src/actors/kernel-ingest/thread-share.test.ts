import { expect, it } from 'vitest';
import { drainTime } from './thread-share.ts';

it('shares one time to drain between readers that end together, and begins anew with the next end', () => {
  expect(drainTime(6_000, 100)).toBe(6_000);
  expect(drainTime(6_000, 2_100)).toBe(4_000);
  expect(drainTime(6_000, 7_000)).toBe(0);
  expect(drainTime(6_000, 100_000)).toBe(6_000);
});
