// How far a venue's clock is ahead of ours, from its server time and the time that the question took.
//
// Small differences are smoothed. A large one is either a bad measurement or a step of a clock (ours was set, the machine
// slept): it is believed only when STEP_CONFIRMATIONS samples in a row agree on it, and is then taken at once. So one bad
// answer closes no bars early, and a step closes each window once.

export interface VenueClock {
  /** Venue time minus ours, in microseconds; undefined until the first sample. */
  readonly offsetUs: number | undefined;
  /** The smoothed duration of the question, for the grace. */
  readonly roundTripUs: number;
  /** Samples in a row that disagree with the offset and agree with each other. */
  readonly stepSamplesUs: readonly number[];
  readonly steps: number;
  /** Where only whole seconds are told: the offset lies between these. */
  readonly boundsUs: Bounds | undefined;
}

export interface Bounds {
  readonly leastUs: number;
  readonly mostUs: number;
}

export interface ClockSample {
  readonly askedUs: number;
  readonly answeredUs: number;
  readonly venueUs: number;
}

/** A time in whole seconds, such as the Date of an answer. */
export interface SecondSample {
  readonly askedUs: number;
  readonly answeredUs: number;
  readonly secondUs: number;
}

const SMOOTHING = 0.2;
const STEP_US = 250_000;
const STEP_CONFIRMATIONS = 3;
/** A slower answer says too little about the moment when it was made. */
const ROUND_TRIP_MAX_US = 5_000_000;
const GRACE_MIN_US = 100_000;
const GRACE_MAX_US = 2_000_000;

export const NEW_CLOCK: VenueClock = {
  offsetUs: undefined,
  roundTripUs: 0,
  stepSamplesUs: [],
  steps: 0,
  boundsUs: undefined,
};

/** The venue read its clock, as far as we can know, half way through. Worked: asked 0, answered 40 ms, venue says 1,020 ms: 1 s ahead. */
export function withSample(clock: VenueClock, { askedUs, answeredUs, venueUs }: ClockSample): VenueClock {
  const tookUs = answeredUs - askedUs;
  if (tookUs < 0 || tookUs > ROUND_TRIP_MAX_US) return clock;
  const measured = venueUs - (askedUs + tookUs / 2);
  if (clock.offsetUs === undefined) return { ...clock, offsetUs: measured, roundTripUs: tookUs };
  const roundTripUs = clock.roundTripUs + (tookUs - clock.roundTripUs) * SMOOTHING;
  if (Math.abs(measured - clock.offsetUs) <= STEP_US + tookUs / 2) {
    const offsetUs = clock.offsetUs + (measured - clock.offsetUs) * SMOOTHING;
    return { ...clock, offsetUs, roundTripUs, stepSamplesUs: [] };
  }
  return withStep({ ...clock, roundTripUs }, measured);
}

function withStep(clock: VenueClock, measured: number): VenueClock {
  const agreeing = clock.stepSamplesUs.filter((other) => Math.abs(other - measured) <= STEP_US);
  const stepSamplesUs = [...agreeing, measured];
  if (stepSamplesUs.length < STEP_CONFIRMATIONS) return { ...clock, stepSamplesUs };
  return { ...clock, offsetUs: measured, stepSamplesUs: [], steps: clock.steps + 1 };
}

const SECOND_US = 1_000_000;
/** What two clocks may drift apart between two questions: 50 ppm over a minute is 3 ms. */
const DRIFT_US = 3_000;

/**
 * One answer in whole seconds bounds the offset to a second and the road; answers at other moments of the second narrow
 * that down. Worked: asked at 10.9 and answered at 10.95, the venue says 10: it is at most 0.1 s ahead and 0.95 behind.
 * Asked at 12.0, answered at 12.05, it says 12: at most 1 s ahead and 0.05 behind. Together: -0.05 .. 0.1.
 */
export function withSecond(clock: VenueClock, { askedUs, answeredUs, secondUs }: SecondSample): VenueClock {
  const tookUs = answeredUs - askedUs;
  if (tookUs < 0 || tookUs > ROUND_TRIP_MAX_US) return clock;
  const told = { leastUs: secondUs - answeredUs, mostUs: secondUs + SECOND_US - askedUs };
  const known = clock.boundsUs ?? told;
  const leastUs = Math.max(known.leastUs - DRIFT_US, told.leastUs);
  const mostUs = Math.min(known.mostUs + DRIFT_US, told.mostUs);
  const roundTripUs =
    clock.boundsUs === undefined ? tookUs : clock.roundTripUs + (tookUs - clock.roundTripUs) * SMOOTHING;
  if (leastUs <= mostUs) {
    return {
      ...clock,
      roundTripUs,
      boundsUs: { leastUs, mostUs },
      offsetUs: (leastUs + mostUs) / 2,
      stepSamplesUs: [],
    };
  }
  const stepSamplesUs = [...clock.stepSamplesUs, told.leastUs];
  if (stepSamplesUs.length < STEP_CONFIRMATIONS) return { ...clock, roundTripUs, stepSamplesUs };
  const offsetUs = (told.leastUs + told.mostUs) / 2;
  return { roundTripUs, offsetUs, boundsUs: told, stepSamplesUs: [], steps: clock.steps + 1 };
}

/** How far the offset may be off for want of finer answers. */
export function uncertaintyUs({ boundsUs }: VenueClock): number {
  return boundsUs === undefined ? 0 : (boundsUs.mostUs - boundsUs.leastUs) / 2;
}

/** How long after its end a window is kept open for trades on their way: twice the road, what is not known, and some. */
export function graceUs(clock: VenueClock): number {
  const roadUs = clock.roundTripUs * 2 + uncertaintyUs(clock) + GRACE_MIN_US;
  return Math.min(GRACE_MAX_US, Math.max(GRACE_MIN_US, roadUs));
}
