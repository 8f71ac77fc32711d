import { describe, expect, it } from 'vitest';
import {
  type ClockSample,
  graceUs,
  NEW_CLOCK,
  uncertaintyUs,
  type VenueClock,
  withSample,
  withSecond,
} from './venue-clock.ts';

const sample = (offsetMs: number, tookMs = 40, atMs = 1000): ClockSample => ({
  askedUs: atMs * 1000,
  answeredUs: (atMs + tookMs) * 1000,
  venueUs: (atMs + tookMs / 2 + offsetMs) * 1000,
});
const after = (samples: readonly ClockSample[], clock: VenueClock = NEW_CLOCK) => samples.reduce(withSample, clock);

describe("a venue's clock", () => {
  it('is taken from the middle of the question', () => {
    expect(after([sample(1000)]).offsetUs).toBe(1_000_000);
  });

  it('follows small differences slowly', () => {
    expect(after([sample(100), sample(200)]).offsetUs).toBe(120_000);
  });

  it('does not jump for one or two bad answers', () => {
    const clock = after([sample(100), sample(60_000), sample(60_000), sample(100)]);
    expect([clock.offsetUs, clock.steps, clock.stepSamplesUs]).toEqual([100_000, 0, []]);
  });

  it('takes a step at once when three answers agree on it, and only then', () => {
    const stepped = after([sample(100), sample(60_000), sample(-60_000), sample(60_000)]);
    expect([stepped.offsetUs, stepped.steps]).toEqual([100_000, 0]);
    const settled = after([sample(100), sample(60_000), sample(60_000), sample(60_000)]);
    expect([settled.offsetUs, settled.steps]).toEqual([60_000_000, 1]);
  });

  it('ignores answers that took too long or came before they were asked for', () => {
    expect(after([sample(100), sample(900, 6000), sample(900, -5)]).offsetUs).toBe(100_000);
  });

  it('gives a grace that grows with the road, within bounds', () => {
    expect(graceUs(after([sample(0, 40)]))).toBe(180_000);
    expect(graceUs(after([sample(0, 4000)]))).toBe(2_000_000);
  });
});

describe('a clock that tells whole seconds', () => {
  /** Asked at a moment of ours, answered 50 ms later, by a venue that is so far ahead. */
  const told = (atMs: number, aheadMs: number) => ({
    askedUs: atMs * 1000,
    answeredUs: (atMs + 50) * 1000,
    secondUs: Math.floor((atMs + 25 + aheadMs) / 1000) * 1_000_000,
  });
  const afterAll = (moments: readonly number[], aheadMs: number, clock: VenueClock = NEW_CLOCK) =>
    moments.reduce((known, atMs) => withSecond(known, told(atMs, aheadMs)), clock);

  it('is known to a fraction of a second after a few answers, with what is not known in the grace', () => {
    const one = afterAll([10_900], 340);
    expect(uncertaintyUs(one)).toBe(525_000);
    expect(graceUs(one)).toBe(725_000);
    const many = afterAll([10_900, 11_130, 12_360, 13_590, 14_620, 15_820], 340);
    expect(Math.abs(many.offsetUs! - 340_000)).toBeLessThanOrEqual(uncertaintyUs(many));
    expect(uncertaintyUs(many)).toBeLessThan(150_000);
  });

  it('takes a step when three answers in a row contradict what was known, and only then', () => {
    const known = afterAll([10_900, 11_130, 12_360, 13_590], 0);
    const odd = withSecond(withSecond(known, told(14_000, 90_000)), told(15_000, 90_000));
    expect(odd.offsetUs).toBe(known.offsetUs);
    expect(withSecond(odd, told(16_000, 0)).stepSamplesUs).toEqual([]);
    const stepped = withSecond(odd, told(16_100, 90_000));
    expect(stepped.steps).toBe(1);
    expect(Math.abs(stepped.offsetUs! - 90_000_000)).toBeLessThan(600_000);
  });
});
