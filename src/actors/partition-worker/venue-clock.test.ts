import { describe, expect, it } from 'vitest';
import { type ClockSample, graceUs, NEW_CLOCK, type VenueClock, withSample } from './venue-clock.ts';

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
