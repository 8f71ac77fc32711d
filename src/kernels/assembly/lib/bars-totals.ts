// Running totals, a count and four sums of 128 bits, and entries that hold them.
import { E_CLOSE, E_FIRST_ID, E_HIGH, E_LAST_ID, E_LOW, E_OPEN, SIDE_BYTES, TOTALS_BYTES } from './bars-layout';

// For few bytes at a time: memory.copy leaves the kernel, which costs as much as all else that opens a bar.
@inline function copyLine(to: usize, from: usize): void {
  v128.store(to, v128.load(from));
  v128.store(to, v128.load(from, 16), 16);
  v128.store(to, v128.load(from, 32), 32);
  v128.store(to, v128.load(from, 48), 48);
}
@inline export function copyEntry(to: usize, from: usize): void {
  copyLine(to, from);
  copyLine(to + 64, from + 64);
}
@inline export function copyTotals(to: usize, from: usize): void {
  store<u64>(to, load<u64>(from));
  copyLine(to + 8, from + 8);
}

@inline export function add128(address: usize, low: u64, high: u64): void {
  const sum = load<u64>(address) + low;
  store<u64>(address, sum);
  store<u64>(address, load<u64>(address, 8) + high + u64(sum < low), 8);
}

/** Adds totals (count and four sums) to totals. */
export function addTotals(to: usize, delta: usize): void {
  store<u64>(to, load<u64>(to) + load<u64>(delta));
  for (let at: usize = 8; at < TOTALS_BYTES; at += 16) add128(to + at, load<u64>(delta + at), load<u64>(delta + at, 8));
}

function subtract128(from: usize, delta: usize): void {
  const low = load<u64>(from);
  const less = load<u64>(delta);
  store<u64>(from, low - less);
  store<u64>(from, load<u64>(from, 8) - load<u64>(delta, 8) - u64(low < less), 8);
}

export function subtractTotals(from: usize, delta: usize): void {
  store<u64>(from, load<u64>(from) - load<u64>(delta));
  for (let at: usize = 8; at < TOTALS_BYTES; at += 16) subtract128(from + at, delta + at);
}

/** Turns sums of sold and bought into those of both and bought, as records have them. */
export function joinSides(sums: usize): void {
  const bought = sums + SIDE_BYTES;
  for (let at: usize = 0; at < SIDE_BYTES; at += 16) add128(sums + at, load<u64>(bought + at), load<u64>(bought + at, 8));
}

/** The other way round. */
export function partSides(sums: usize): void {
  for (let at: usize = 0; at < SIDE_BYTES; at += 16) subtract128(sums + at, sums + SIDE_BYTES + at);
}

/** Folds a later or earlier part of the same window into an entry. Sums need nothing: they are differences of totals. */
@inline export function fold(into: usize, part: usize): void {
  store<u64>(into, max(load<u64>(part, E_HIGH), load<u64>(into, E_HIGH)), E_HIGH);
  store<u64>(into, min(load<u64>(part, E_LOW), load<u64>(into, E_LOW)), E_LOW);
  if (load<u64>(part, E_LAST_ID) >= load<u64>(into, E_LAST_ID)) {
    store<u64>(into, load<u64>(part, E_LAST_ID), E_LAST_ID);
    store<u64>(into, load<u64>(part, E_CLOSE), E_CLOSE);
  }
  if (load<u64>(part, E_FIRST_ID) < load<u64>(into, E_FIRST_ID)) {
    store<u64>(into, load<u64>(part, E_FIRST_ID), E_FIRST_ID);
    store<u64>(into, load<u64>(part, E_OPEN), E_OPEN);
  }
}
