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

// Vector constants in memory: a load costs one step, while the engine builds a constant in the code out of three or four.
const VECTORS = memory.data(96, 16);
v128.store(VECTORS, i8x16.splat(0x30));
v128.store(VECTORS, i16x8.splat(2561), 16);
v128.store(VECTORS, i16x8(100, 1, 100, 1, 100, 1, 100, 1), 32);
v128.store(VECTORS, i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1), 48);
v128.store(VECTORS, i8x16(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), 64);
v128.store(VECTORS, i32x4.splat(100000000), 80);

@inline
export function digitsOf(text: v128): v128 {
  return i8x16.sub(text, v128.load(VECTORS));
}

/**
 * 16 digits become four numbers of four digits. A 16-bit lane holds tens + 256 * ones; times 2561 (10 * 256 + 1) its
 * upper byte is 10 * tens + ones.
 */
@inline
export function quartersOf(digits: v128): v128 {
  const pairs = i16x8.shr_u(i16x8.mul(digits, v128.load(VECTORS, 16)), 8);
  return i32x4.dot_i16x8_s(pairs, v128.load(VECTORS, 32));
}

/** Four-digit numbers, two at a time, become eight-digit numbers: [a, b, c, d]. */
@inline
export function eightsOf(ab: v128, cd: v128): v128 {
  return i32x4.dot_i16x8_s(i16x8.narrow_i32x4_u(ab, cd), v128.load(VECTORS, 48));
}

/** [whole, fraction, whole, fraction], eight digits each, become two numbers at 10^-8. */
@inline
export function fixedPointOf(parts: v128): v128 {
  const sorted = v128.shuffle<i32>(parts, parts, 0, 2, 1, 3);
  return i64x2.add(i64x2.extmul_low_i32x4_u(sorted, v128.load(VECTORS, 80)), i64x2.extend_high_i32x4_u(sorted));
}

/** Reads a run of 1 to 16 digits at once into `value`; answers how many, 0 when there are none or more. */
@inline
export function readShortInteger(at: usize): u32 {
  const digits = digitsOf(v128.load(at));
  const count = ctz<u32>(<u32>i8x16.bitmask(i8x16.gt_u(digits, i8x16.splat(9))) | 0x10000);
  if (count == 16 && <u32>load<u8>(at, 16) - 0x30 <= 9) return 0;
  // Lane i takes digit i - (16 - count); an index below zero wraps beyond 15, which swizzle answers with 0.
  const aligned = i8x16.swizzle(digits, i8x16.add(v128.load(VECTORS, 64), i8x16.splat(<i8>(<i32>count - 16))));
  const quarters = quartersOf(aligned);
  const halves = eightsOf(quarters, quarters);
  value = <u64>(<u32>i32x4.extract_lane(halves, 0)) * 100000000 + <u64>(<u32>i32x4.extract_lane(halves, 1));
  return count;
}
