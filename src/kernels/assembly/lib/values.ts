// Values of fields, read from JSON that the strict reader has already checked.
import { REFUSED_DECIMAL, REFUSED_ESCAPE, REFUSED_ROUTE, REFUSED_SHAPE } from './contract';
import { blank, plainStringLength } from './json';
import { power10, readDecimal, readInteger, value } from './numbers';
import { findRoute, NO_ROUTE } from './routes';
import { failure, noteName, refuse } from './state';

/** True when the number that ends at `end` is the whole value that began at `start`, quoted or not. */
@inline
function endsValue(start: usize, end: usize): bool {
  const byte = load<u8>(end);
  if (load<u8>(start) == 0x22) return byte == 0x22;
  return byte == 0x2c || byte == 0x5d || byte == 0x7d || byte <= 0x20;
}

function refuseNumber(at: usize): usize {
  return refuse(load<u8>(at) == 0x5c ? REFUSED_ESCAPE : REFUSED_DECIMAL, at);
}

/** A decimal as a string or as a JSON number, into `value`; answers the position behind the whole value. */
export function decimalValue(at: usize, decimals: u32): usize {
  if (at == 0) return refuse(REFUSED_SHAPE, at);
  const quoted: usize = load<u8>(at) == 0x22 ? 1 : 0;
  if (load<u8>(at + quoted) == 0x5c) return refuse(REFUSED_ESCAPE, at);
  const end = readDecimal(at + quoted, decimals);
  if (end == 0) return 0;
  return endsValue(at, end) ? end + quoted : refuseNumber(end);
}

/** An unsigned integer as a string or as a JSON number, into `value`. */
export function integerValue(at: usize): usize {
  if (at == 0) return refuse(REFUSED_SHAPE, at);
  const quoted: usize = load<u8>(at) == 0x22 ? 1 : 0;
  if (load<u8>(at + quoted) == 0x5c) return refuse(REFUSED_ESCAPE, at);
  const end = readInteger(at + quoted);
  if (end == 0) return 0;
  return endsValue(at, end) ? end + quoted : refuseNumber(end);
}

/** The route of the symbol, stream or channel named by the string at `at`. */
export function routeValue(at: usize): u32 {
  const length = plainStringLength(at);
  if (length < 0) {
    if (failure == 0) refuse(REFUSED_SHAPE, at);
    return NO_ROUTE;
  }
  noteName(at + 1, length);
  const route = findRoute(at + 1, length);
  if (route == NO_ROUTE) refuse(REFUSED_ROUTE, at);
  return route;
}

/** The first element of the array at `at`; 0 when it is empty or no array at all. */
export function firstElement(at: usize): usize {
  at = blank(at + 1);
  return load<u8>(at) == 0x5d ? 0 : at;
}

/** The element behind the one that ends at `end`; 0 behind the last. */
export function nextElement(end: usize): usize {
  const at = blank(end);
  return load<u8>(at) == 0x2c ? blank(at + 1) : 0;
}

export function isArray(at: usize): bool {
  return at != 0 && load<u8>(at) == 0x5b;
}

@inline
function twoDigits(at: usize): u32 {
  const tens = <u32>load<u8>(at) - 0x30;
  const ones = <u32>load<u8>(at, 1) - 0x30;
  return tens <= 9 && ones <= 9 ? tens * 10 + ones : 100;
}

/** Days from 1970-01-01 of a proleptic Gregorian date, by counting in years that begin in March. */
function daysOf(year: u32, month: u32, day: u32): u32 {
  const shifted = month > 2 ? year : year - 1;
  const era = shifted / 400;
  const yearOfEra = shifted - era * 400;
  const dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
  return era * 146097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719468;
}

/** `"2023-10-06T17:35:55.440295Z"` in microseconds since 1970 into `timeUs`; digits beyond microseconds are cut. */
export let timeUs: u64 = 0;
export function timeValue(at: usize): bool {
  if (at == 0 || load<u8>(at) != 0x22) {
    refuse(REFUSED_SHAPE, at);
    return false;
  }
  const century = twoDigits(at + 1);
  const year = twoDigits(at + 3);
  const month = twoDigits(at + 6);
  const day = twoDigits(at + 9);
  const hour = twoDigits(at + 12);
  const minute = twoDigits(at + 15);
  const second = twoDigits(at + 18);
  const signs = load<u8>(at, 5) == 0x2d && load<u8>(at, 8) == 0x2d && load<u8>(at, 11) == 0x54 && load<u8>(at, 14) == 0x3a && load<u8>(at, 17) == 0x3a;
  const inRange =
    century >= 19 && century < 100 && year < 100 && month - 1 < 12 && day - 1 < 31 && hour < 24 && minute < 60 && second < 61;
  let end = at + 20;
  let micros: u64 = 0;
  if (signs && inRange && load<u8>(end) == 0x2e) {
    let digits: u32 = 0;
    let digit = <u32>load<u8>(++end) - 0x30;
    while (digit <= 9) {
      if (digits < 6) micros = micros * 10 + digit;
      digits++;
      digit = <u32>load<u8>(++end) - 0x30;
    }
    micros *= digits < 6 ? power10(6 - digits) : 1;
  }
  if (!signs || !inRange || year + century * 100 < 1970 || load<u16>(end) != 0x225a) {
    refuse(REFUSED_DECIMAL, at);
    return false;
  }
  const days = <u64>daysOf(century * 100 + year, month, day);
  timeUs = (days * 86400 + hour * 3600 + minute * 60 + second) * 1000000 + micros;
  return true;
}

/** Milliseconds or microseconds since 1970, told apart by size (2001 to 2286 in either unit), as microseconds. */
export function microsecondsOf(stamp: u64): u64 {
  return stamp < 10000000000000 ? stamp * 1000 : stamp;
}

export function integerInto(at: usize): u64 {
  return integerValue(at) == 0 ? 0 : value;
}
