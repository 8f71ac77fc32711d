import { expect, it } from 'vitest';
import type { Writers } from '../sink/writers.ts';
import type { SpillYard } from '../spill/yard.ts';
import { areReplaced, drainTime, sharedParts, shareSink, shareSpill } from './thread-share.ts';

it('shares one time to drain between readers that end together, and begins anew with the next end', () => {
  expect(drainTime(6_000, 100)).toBe(6_000);
  expect(drainTime(6_000, 2_100)).toBe(4_000);
  expect(drainTime(6_000, 7_000)).toBe(0);
  expect(drainTime(6_000, 100_000)).toBe(6_000);
});

it('tells a reader of another sink once it is there', () => {
  shareSpill({} as SpillYard);
  shareSink({} as Writers);
  const parts = sharedParts();
  shareSink(undefined);
  expect(areReplaced(parts)).toBe(false);
  shareSink({} as Writers);
  expect(areReplaced(parts)).toBe(true);
  expect(areReplaced(sharedParts())).toBe(false);
});
