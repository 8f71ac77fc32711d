// The usual form of a side of a book, `[["97234.11000000","2.42179435"],["97232.14","0.7"],...]` without white space,
// read a level at a time. Whatever does not look exactly like that is left to the strict reader: these functions answer
// 0 for it and decide nothing else.

import { iota, quartersOf, readDecimal, value } from './numbers';
import { forgive } from './state';

const LEVEL_OPENS: u32 = 0x225b; //        ["
const NEXT_AMOUNT: u32 = 0x222c; //        ,"
const NEXT_LEVEL: u32 = 0x225b2c5d; //     ],["
const SIDE_CLOSES: u32 = 0x5d5d; //        ]]
const LEVEL_CLOSES: u32 = 0x2c5d; //       ],

/** How many levels the last side kept. */
export let kept: u32 = 0;

/**
 * Digits of a number that is `length` long with its point at `point` (or none, where point == length), placed so that
 * the whole part ends in lane 7 and the fraction begins in lane 8:
 *
 *     "97234.11"   ->   0 0 0 9 7 2 3 4 | 1 1 0 0 0 0 0 0
 */
@inline
function aligned(text: v128, point: u32, length: u32): v128 {
  const digits = i8x16.sub(text, i8x16.splat(0x30));
  const own = v128.and(digits, i8x16.lt_u(iota(), i8x16.splat(<i8>length)));
  const lanes = i8x16(-8, -7, -6, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 7, 8);
  return i8x16.swizzle(own, i8x16.add(lanes, i8x16.splat(<i8>point)));
}

/** Below zero unless there are 1..8 digits before the point, none or 1..8 behind it, and at most 16 characters. */
@inline
function fits(point: u32, length: u32): i32 {
  const rest = <i32>(length - point);
  return (
    (<i32>point - 1) | (8 - <i32>point) | ((rest ^ 1) - 1) | (9 - rest) | (16 - <i32>length)
  );
}

/** [price, amount] at 10^-8 from their aligned digits. */
@inline
function levelOf(price: v128, amount: v128): v128 {
  const parts = i32x4.dot_i16x8_s(
    i16x8.narrow_i32x4_u(quartersOf(price), quartersOf(amount)),
    i16x8(10000, 1, 10000, 1, 10000, 1, 10000, 1),
  );
  const wholes = v128.shuffle<i32>(parts, parts, 0, 2, 1, 3);
  return i64x2.add(
    i64x2.extmul_low_i32x4_u(wholes, i32x4.splat(100000000)),
    i64x2.extend_high_i32x4_u(wholes),
  );
}

/** A level that is too long for one vector, or at another scale. Answers the position of the quote that ends it. */
function longLevel(at: usize, out: usize, decimals: u32): usize {
  at = readDecimal(at, decimals);
  if (at == 0 || load<u32>(at) << 8 != 0x222c2200) {
    forgive();
    return 0;
  }
  store<u64>(out, value);
  at = readDecimal(at + 3, decimals);
  if (at == 0 || load<u8>(at) != 0x22) {
    forgive();
    return 0;
  }
  store<u64>(out, value, 8);
  return at;
}

/**
 * Reads a side from just behind its `[` and keeps the first `depth` levels that have an amount. Answers the position
 * from which the side's closing `]` may come: exactly there when the side was read to its end, later when it was not.
 */
@inline
export function readCompactSide(start: usize, out: usize, depth: u32, decimals: u32, bids: bool): usize {
  kept = 0;
  if (load<u8>(start) == 0x5d) return start;
  if (load<u16>(start) != LEVEL_OPENS) return 0;
  let at = start + 2;
  let write = out;
  const full = out + (<usize>depth << 4);
  let worst: u64 = bids ? u64.MAX_VALUE : 0;
  let strange = i8x16.splat(0);
  let disorder = false;
  while (true) {
    // `97234.11000000","2.42179435"`: the quotes of 32 bytes say where both numbers end.
    const first = v128.load(at);
    const quote = i8x16.splat(0x22);
    const quotes =
      <u32>i8x16.bitmask(i8x16.eq(first, quote)) | (<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 16), quote)) << 16);
    const priceLength = ctz<u32>(quotes);
    const later = quotes & (quotes - 1);
    const last = later & (later - 1);
    let closing = at + ctz<u32>(last);
    const amountAt = at + priceLength + 3;
    const amountLength = <u32>(closing - amountAt);
    const second = v128.load(amountAt);
    const point = i8x16.splat(0x2e);
    const pricePoint = ctz<u32>(<u32>i8x16.bitmask(i8x16.eq(first, point)) | (1 << priceLength));
    const amountPoint = ctz<u32>(<u32>i8x16.bitmask(i8x16.eq(second, point)) | (1 << amountLength));
    let written: u64;
    let counts: bool;
    const short = (fits(pricePoint, priceLength) | fits(amountPoint, amountLength)) >= 0;
    if (short & (last != 0) & (decimals == 8) & (<u32>load<u16>(amountAt - 2) == NEXT_AMOUNT)) {
      const price = aligned(first, pricePoint, priceLength);
      const amount = aligned(second, amountPoint, amountLength);
      strange = v128.or(strange, i8x16.gt_u(i8x16.max_u(price, amount), i8x16.splat(9)));
      const level = levelOf(price, amount);
      v128.store(write, level);
      written = i64x2.extract_lane(level, 0);
      counts = i64x2.extract_lane(level, 1) != 0;
    } else {
      closing = longLevel(at, write, decimals);
      if (closing == 0) return 0;
      written = load<u64>(write);
      counts = load<u64>(write, 8) != 0;
    }
    disorder = disorder | (counts & (bids ? written >= worst : written <= worst));
    worst = counts ? written : worst;
    write += counts ? 16 : 0;
    const next = load<u32>(closing, 1);
    if (write == full) {
      if ((next & 0xffff) != SIDE_CLOSES && (next & 0xffff) != LEVEL_CLOSES) return 0;
      at = closing + 2;
      break;
    }
    if (next == NEXT_LEVEL) {
      at = closing + 5;
      continue;
    }
    if ((next & 0xffff) != SIDE_CLOSES) return 0;
    at = closing + 2;
    break;
  }
  if (disorder || v128.any_true(strange)) return 0;
  kept = <u32>(write - out) >> 4;
  return at;
}

/**
 * The first colon at or behind `at`, 0 when there is none before `end`. No colon between two places of valid JSON
 * means that no key stands between them, so that both belong to the same object.
 */
@inline
export function nextColon(start: usize, end: usize): usize {
  const colon = i8x16.splat(0x3a);
  let at = start;
  while (at < end) {
    const a = i8x16.eq(v128.load(at), colon);
    const b = i8x16.eq(v128.load(at, 16), colon);
    const c = i8x16.eq(v128.load(at, 32), colon);
    const d = i8x16.eq(v128.load(at, 48), colon);
    if (v128.any_true(v128.or(v128.or(a, b), v128.or(c, d)))) {
      const low = <u64>(<u32>i8x16.bitmask(a)) | ((<u64>(<u32>i8x16.bitmask(b))) << 16);
      const high = <u64>(<u32>i8x16.bitmask(c)) | ((<u64>(<u32>i8x16.bitmask(d))) << 16);
      // The guard behind the frame holds no colon, so a hit is always inside it.
      return at + <usize>ctz<u64>(low | (high << 32));
    }
    at += 64;
  }
  return 0;
}

/** Length of a plain name up to its closing quote; 0 when it is empty, longer than 64 bytes or holds an escape. */
@inline
export function compactNameLength(at: usize): u32 {
  let length: u32 = 0;
  while (length < 64) {
    const text = v128.load(at + length);
    const special = v128.or(
      v128.or(i8x16.eq(text, i8x16.splat(0x22)), i8x16.eq(text, i8x16.splat(0x5c))),
      i8x16.lt_u(text, i8x16.splat(0x20)),
    );
    if (v128.any_true(special)) {
      length += ctz<u32>(<u32>i8x16.bitmask(special));
      return length <= 64 && load<u8>(at + length) == 0x22 ? length : 0;
    }
    length += 16;
  }
  return 0;
}
