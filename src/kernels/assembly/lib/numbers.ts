// Decimal text to fixed point.
import { REFUSED_DECIMAL, REFUSED_OVERFLOW, REFUSED_PRECISION } from './contract';
import { refuse } from './state';

const TENTH_OF_MAX: u64 = 1844674407370955161; // floor((2^64 - 1) / 10)

/** The results of the last number that was read. */
export let value: u64 = 0;
export let places: u32 = 0;

// prettier-ignore
const POWERS = memory.data<u64>([
  1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 1000000000000,
  10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000, 1000000000000000000,
]);

@inline
export function power10(exponent: u32): u64 {
  return load<u64>(POWERS + ((<usize>exponent) << 3));
}

/**
 * Reads digits with an optional fraction at any scale from 0 to 18 places, one digit at a time: the reading that all
 * others must agree with. Answers the position behind the number. Digits beyond the scale must be zeros.
 */
export function readDecimal(start: usize, decimals: u32): usize {
  let at = start;
  let sum: u64 = 0;
  let digit = <u32>load<u8>(at) - 0x30;
  if (digit > 9) return refuse(REFUSED_DECIMAL, at);
  do {
    if (sum > TENTH_OF_MAX || (sum == TENTH_OF_MAX && digit > 5)) return refuse(REFUSED_OVERFLOW, start);
    sum = sum * 10 + digit;
    digit = <u32>load<u8>(++at) - 0x30;
  } while (digit <= 9);

  let written: u32 = 0;
  let beyond: u32 = 0;
  if (load<u8>(at) == 0x2e) {
    digit = <u32>load<u8>(++at) - 0x30;
    if (digit > 9) return refuse(REFUSED_DECIMAL, at);
    do {
      if (written < decimals) {
        if (sum > TENTH_OF_MAX || (sum == TENTH_OF_MAX && digit > 5)) return refuse(REFUSED_OVERFLOW, start);
        sum = sum * 10 + digit;
      } else {
        beyond |= digit;
      }
      written++;
      digit = <u32>load<u8>(++at) - 0x30;
    } while (digit <= 9);
  }
  if (beyond != 0) return refuse(REFUSED_PRECISION, start);
  if (written < decimals) {
    const factor = power10(decimals - written);
    if (sum > u64.MAX_VALUE / factor) return refuse(REFUSED_OVERFLOW, start);
    sum *= factor;
  }
  value = sum;
  places = written;
  return at;
}

/** Reads a run of digits; answers the position behind it. */
export function readInteger(start: usize): usize {
  let at = start;
  let sum: u64 = 0;
  let digit = <u32>load<u8>(at) - 0x30;
  if (digit > 9) return refuse(REFUSED_DECIMAL, at);
  do {
    if (sum > TENTH_OF_MAX || (sum == TENTH_OF_MAX && digit > 5)) return refuse(REFUSED_OVERFLOW, start);
    sum = sum * 10 + digit;
    digit = <u32>load<u8>(++at) - 0x30;
  } while (digit <= 9);
  value = sum;
  return at;
}

/** Two digits a 16-bit lane (tens in the low byte) become one number a lane. */
@inline
export function pairsOf(digits: v128): v128 {
  const tens = i16x8.mul(digits, i16x8.splat(10));
  return v128.and(i16x8.add(tens, i16x8.shr_u(digits, 8)), i16x8.splat(0xff));
}

/** 16 digits become four numbers of four digits. */
@inline
export function quartersOf(digits: v128): v128 {
  return i32x4.dot_i16x8_s(pairsOf(digits), i16x8(100, 1, 100, 1, 100, 1, 100, 1));
}

@inline
export function iota(): v128 {
  return i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
}

/** Reads a run of 1 to 16 digits at once into `value`; answers how many, 0 when there are none or more. */
@inline
export function readShortInteger(at: usize): u32 {
  const digits = i8x16.sub(v128.load(at), i8x16.splat(0x30));
  const count = ctz<u32>(<u32>i8x16.bitmask(i8x16.gt_u(digits, i8x16.splat(9))) | 0x10000);
  if (count == 16 && <u32>load<u8>(at, 16) - 0x30 <= 9) return 0;
  // Lane i takes digit i - (16 - count); an index below zero wraps beyond 15, which swizzle answers with 0.
  const aligned = i8x16.swizzle(digits, i8x16.add(iota(), i8x16.splat(<i8>(<i32>count - 16))));
  const quarters = quartersOf(aligned);
  const halves = i32x4.dot_i16x8_s(
    i16x8.narrow_i32x4_u(quarters, quarters),
    i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1),
  );
  value = <u64>(<u32>i32x4.extract_lane(halves, 0)) * 100000000 + <u64>(<u32>i32x4.extract_lane(halves, 1));
  return count;
}
