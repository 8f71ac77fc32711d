// Which window of an interval a time falls in. Fixed lengths count from an offset (weeks from Monday 1970-01-05, the
// others from the epoch); months follow the calendar and are numbered year * 12 + month.
import { S_VENUE } from './bars-layout';

const DAY_US: u64 = 86_400_000_000;
export const INTERVALS_MAX: u32 = 16;
export const VENUES_MAX: u32 = 16;

// Each interval: length_us u64 (0 for calendar months), offset_us u64, child u32 (the interval that feeds it), pad.
const PLAN_BYTES: u32 = 24;
export const plan: usize = memory.data(24 * 16, 16);
/** Per venue and interval: the last window that is closed by the clock. */
const closedWindows: usize = memory.data(16 * 16 * 4, 16);
/** Per venue: the latest time told by a tick, the end of the last closed base window, until when a trade's time is believed. */
const CLOCK_BYTES: u32 = 32;
const clocks: usize = memory.data(16 * 32, 16);
/** Windows are counted from the epoch, or from days after it; in seconds they fit into 32 bits. */
export const EARLIEST_US: u64 = 40 * DAY_US;
const LATEST_US: u64 = <u64>u32.MAX_VALUE * 1_000_000;
/** A trade may run ahead of the venue's clock by this much; beyond it the stamp is taken for damaged. */
const AHEAD_US: u64 = 3_600_000_000;

export let intervals: u32 = 0;
/** No venue's clock has closed a base window at or after this time. */
export let closedAnywhere: u64 = 0;
/** Until when a trade's time is believed at every venue. */
export let believedEverywhere: u64 = LATEST_US;
/** The base window that was entered last: when it opens, and its number. */
export let recentOpen: u64 = 0;
export let recentWindow: u32 = 0;
/** Takes the plan into use, with all clocks at nought. */
export function setIntervals(count: u32): void {
  intervals = count;
  recentOpen = u64.MAX_VALUE;
  closedAnywhere = 0;
  believedEverywhere = LATEST_US;
  memory.fill(closedWindows, 0, VENUES_MAX * INTERVALS_MAX * 4);
  memory.fill(clocks, 0, VENUES_MAX * CLOCK_BYTES);
  for (let venue: u32 = 0; venue < VENUES_MAX; venue++) store<u64>(clocks + venue * CLOCK_BYTES, LATEST_US, 16);
}

@inline export function lengthOf(k: u32): u64 {
  return load<u64>(plan + k * PLAN_BYTES);
}
@inline export function offsetOf(k: u32): u64 {
  return load<u64>(plan + k * PLAN_BYTES, 8);
}
@inline export function childOf(k: u32): u32 {
  return load<u32>(plan + k * PLAN_BYTES, 16);
}

export function windowAt(k: u32, time: u64): u32 {
  const length = lengthOf(k);
  return length ? <u32>((time - offsetOf(k)) / length) : monthAt(time);
}

export function windowOpen(k: u32, window: u32): u64 {
  const length = lengthOf(k);
  return length ? <u64>window * length + offsetOf(k) : monthOpen(window);
}

@inline export function windowEnd(k: u32, window: u32): u64 {
  return windowOpen(k, window + 1);
}

/** Trades come by time, so that most are of the window of the one before, and nothing has to be divided. */
@inline export function enterWindow(time: u64): void {
  if (time - recentOpen < lengthOf(0)) return;
  recentWindow = windowAt(0, time);
  recentOpen = windowOpen(0, recentWindow);
}

/** How much of the recent window, from its start, no venue's clock has closed and every venue's stamps may say. */
@inline export function plainSpan(): u64 {
  if (recentOpen < closedAnywhere || recentOpen >= believedEverywhere) return 0;
  return min(lengthOf(0), believedEverywhere - recentOpen);
}

// Days and civil dates, with the year turned so that it starts in March and leap days come last.
function monthAt(time: u64): u32 {
  const day = <u32>(time / DAY_US) + 719468;
  const era = day / 146097;
  const ofEra = day - era * 146097;
  const yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36524 - ofEra / 146096) / 365;
  const ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100);
  const fromMarch = (5 * ofYear + 2) / 153;
  const month = fromMarch < 10 ? fromMarch + 2 : fromMarch - 10;
  const year = yearOfEra + era * 400 + u32(month < 2);
  return year * 12 + month;
}

function monthOpen(window: u32): u64 {
  const month = window % 12;
  const year = window / 12 - u32(month < 2);
  const era = year / 400;
  const yearOfEra = year - era * 400;
  const fromMarch = month < 2 ? month + 10 : month - 2;
  const ofYear = (153 * fromMarch + 2) / 5;
  const day = era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear - 719468;
  return <u64>day * DAY_US;
}

/** Time never runs backwards here: an earlier tick changes nothing. */
export function tick(venue: u32, now: u64, grace: u64): void {
  const clock = clocks + venue * CLOCK_BYTES;
  if (venue >= VENUES_MAX || now <= load<u64>(clock) || now < grace + EARLIEST_US) return;
  store<u64>(clock, now);
  store<u64>(clock, min(LATEST_US, now + AHEAD_US), 16);
  believeEverywhere();
  // Every longer window ends where a base window does.
  if (now - grace < load<u64>(clock, 8) + lengthOf(0)) return;
  for (let k: u32 = 0; k < intervals; k++) {
    const closed = windowAt(k, now - grace) - 1;
    const address = closedWindows + (venue * INTERVALS_MAX + k) * 4;
    if (closed > load<u32>(address)) store<u32>(address, closed);
  }
  const until = windowEnd(0, load<u32>(closedWindows + venue * INTERVALS_MAX * 4));
  store<u64>(clock, until, 8);
  closedAnywhere = max(closedAnywhere, until);
}

function believeEverywhere(): void {
  believedEverywhere = LATEST_US;
  for (let venue: u32 = 0; venue < VENUES_MAX; venue++) believedEverywhere = min(believedEverywhere, load<u64>(clocks + venue * CLOCK_BYTES, 16));
}

/** Base windows before this time are closed. */
@inline export function closedUntil(symbol: usize): u64 {
  return load<u64>(clocks + load<u32>(symbol, S_VENUE) * CLOCK_BYTES, 8);
}

/** A trade at or after this time bears a damaged stamp. */
@inline export function believedUntil(symbol: usize): u64 {
  return load<u64>(clocks + load<u32>(symbol, S_VENUE) * CLOCK_BYTES, 16);
}

@inline export function clockOf(venue: u32): u64 {
  return load<u64>(clocks + venue * CLOCK_BYTES);
}

@inline export function closedWindow(symbol: usize, k: u32): u32 {
  return load<u32>(closedWindows + (load<u32>(symbol, S_VENUE) * INTERVALS_MAX + k) * 4);
}
