// The usual form of a side of a book, `[["97234.11000000","2.42179435"],["97232.14","0.7"],...]` without white space,
// read a level at a time. Whatever does not look exactly like that is left to the strict reader: these functions answer
// 0 for it and decide nothing else.

import { digitsOf, eightsOf, fixedPointOf, quartersOf, readDecimal, value } from './numbers';
import { forgive } from './state';

const LEVEL_OPENS: u32 = 0x225b; //        ["
const NEXT_AMOUNT: u32 = 0x222c; //        ,"
const NEXT_LEVEL: u32 = 0x225b2c5d; //     ],["
const SIDE_CLOSES: u32 = 0x5d5d; //        ]]
const LEVEL_CLOSES: u32 = 0x2c5d; //       ],

/** How many levels the last side kept. */
export let kept: u32 = 0;

const MARKS = memory.data(32, 16);
v128.store(MARKS, i8x16.splat(0x22)); // "
v128.store(MARKS, i8x16.splat(0x2e), 16); // .

/**
 * For a number of `length` characters whose point stands at `point` (none: point == length), the swizzle that puts its
 * digits so that the whole part ends in lane 7 and the fraction begins in lane 8:
 *
 *     97234.11"   ->   0 0 0 9 7 2 3 4 | 1 1 0 0 0 0 0 0
 *
 * A number that does not fit (no digit before or behind the point, more than eight on a side) has the character behind
 * it among its digits, which is none, so that the check of the digits fails.
 */
const PLACEMENTS = memory.data(16 * 16 * 16, 16);
for (let length: usize = 0; length < 16; length++)
  for (let point: usize = 0; point < 16; point++) {
    const row = PLACEMENTS + (((length << 4) | point) << 4);
    const rest = length - point;
    const fits = point >= 1 && point <= 8 && point <= length && rest != 1 && rest <= 9;
    for (let lane: usize = 0; lane < 16; lane++) {
      const from = lane < 8 ? lane + point - 8 : lane + point - 7;
      const holds = lane < 8 ? lane + point >= 8 : from < length;
      store<u8>(row + lane, fits ? (holds ? <u8>from : 0x80) : <u8>length);
    }
  }

@inline
function placed(text: v128, point: u32, length: u32): v128 {
  return i8x16.swizzle(digitsOf(text), v128.load(PLACEMENTS + (((length << 4) | point) << 4)));
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
export function readCompactSide(start: usize, out: usize, depth: u32, decimals: u32, bids: bool): usize {
  kept = 0;
  if (load<u8>(start) == 0x5d) return start;
  if (load<u16>(start) != LEVEL_OPENS) return 0;
  const end = decimals == 8 ? shortLevels(start + 2, out, depth, bids) : 0;
  return end != 0 ? end : longLevels(start + 2, out, depth, decimals, bids);
}

/**
 * Levels at 10^-8 with up to 15 characters a number and 28 a level, a vector each. What looks strange (a character that
 * is no digit, a level out of order) is only gathered on the way; then the answer is 0 and `longLevels` looks again.
 */
function shortLevels(start: usize, out: usize, depth: u32, bids: bool): usize {
  let at = start;
  let write = out;
  const full = out + (<usize>depth << 4);
  // Bids fall and asks rise; with its bits flipped a bid rises too.
  const flip: u64 = bids ? u64.MAX_VALUE : 0;
  let worst: u64 = 0;
  let largest = i8x16.splat(0);
  let disorder: u32 = 0;
  let closing: usize = 0;
  let next: u32 = 0;
  while (true) {
    // `97234.11000000","2.42179435"`: the quotes and points of 32 bytes say where both numbers and their parts end.
    const text = v128.load(at);
    const more = v128.load(at, 16);
    const quote = v128.load(MARKS);
    const quotes = <u32>i8x16.bitmask(i8x16.eq(text, quote)) | (<u32>i8x16.bitmask(i8x16.eq(more, quote)) << 16);
    const point = v128.load(MARKS, 16);
    const points = <u32>i8x16.bitmask(i8x16.eq(text, point)) | (<u32>i8x16.bitmask(i8x16.eq(more, point)) << 16);
    const later = quotes & (quotes - 1);
    const last = later & (later - 1);
    const length = ctz<u32>(quotes);
    const amountAt = at + length + 3;
    const amountLength = ctz<u32>(last) - length - 3;
    // Both lengths at most 15, and no lower bits of a negative one.
    if (last == 0 || (length | amountLength) > 15 || <u32>load<u16>(amountAt - 2) != NEXT_AMOUNT) return 0;
    const pricePoint = ctz<u32>(points | (quotes & (0 - quotes)));
    const amountPoint = ctz<u32>((points & (0 - (later & (0 - later)))) | (last & (0 - last))) - length - 3;
    const price = placed(text, pricePoint, length);
    const amount = placed(v128.load(amountAt), amountPoint, amountLength);
    largest = i8x16.max_u(largest, i8x16.max_u(price, amount));
    const level = fixedPointOf(eightsOf(quartersOf(price), quartersOf(amount)));
    v128.store(write, level);
    const key = <u64>i64x2.extract_lane(level, 0) ^ flip;
    const counts = i64x2.extract_lane(level, 1) != 0;
    disorder |= <u32>(counts & (key <= worst));
    worst = counts ? key : worst;
    write += (<usize>counts) << 4;
    closing = amountAt + amountLength;
    next = load<u32>(closing, 1);
    if (write == full || next != NEXT_LEVEL) break;
    at = closing + 5;
  }
  if (disorder != 0 || v128.any_true(i8x16.gt_u(largest, i8x16.splat(9)))) return 0;
  return finishSide(closing, next, write - out, depth);
}

/** The same for numbers of any length and scale, one at a time. */
function longLevels(start: usize, out: usize, depth: u32, decimals: u32, bids: bool): usize {
  const flip: u64 = bids ? u64.MAX_VALUE : 0;
  let worst: u64 = 0;
  let at = start;
  let write = out;
  const full = out + (<usize>depth << 4);
  while (true) {
    const closing = longLevel(at, write, decimals);
    if (closing == 0) return 0;
    if (load<u64>(write, 8) != 0) {
      const key = load<u64>(write) ^ flip;
      if (key <= worst) return 0;
      worst = key;
      write += 16;
    }
    const next = load<u32>(closing, 1);
    if (write == full || next != NEXT_LEVEL) return finishSide(closing, next, write - out, depth);
    at = closing + 5;
  }
}

/** `next` are the four bytes behind the quote that closes the last level: `]]` or, when the side is full, `],`. */
@inline
function finishSide(closing: usize, next: u32, bytes: usize, depth: u32): usize {
  kept = <u32>bytes >> 4;
  const pair = next & 0xffff;
  return pair == SIDE_CLOSES || (pair == LEVEL_CLOSES && kept == depth) ? closing + 2 : 0;
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
