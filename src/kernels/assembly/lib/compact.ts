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
let kept: u32 = 0;
/** Of the last book: the levels that its sides kept, and from where the closing `]` of its bids may come. */
export let keptBids: u32 = 0;
export let keptAsks: u32 = 0;
export let bidsEnd: usize = 0;

const MARKS = memory.data(48, 16);
v128.store(MARKS, i8x16.splat(0x22)); // "
v128.store(MARKS, i8x16.splat(0x2e), 16); // .
v128.store(MARKS, i8x16.splat(0x3a), 32); // :

/**
 * For a number of `length` characters whose first point stands at `point` (at `length` or beyond: it has none), the
 * swizzle that puts its digits so that the whole part ends in lane 7 and the fraction begins in lane 8:
 *
 *     97234.11"   ->   0 0 0 9 7 2 3 4 | 1 1 0 0 0 0 0 0
 *
 * A number that does not fit (no digit before or behind the point, more than eight on a side) has the quote behind it
 * in every lane, so that the check of the digits fails. There is a row for every length that 32 bytes can give (-3 to 32:
 * an amount's is what is left behind the price less three), so that nothing needs a check before the look-up; lengths
 * beyond 0..15 are found out at the end.
 */
const PLACEMENTS = memory.data(18432, 16);
const ROW_OF_NOTHING: usize = PLACEMENTS + (3 << 9);
for (let length: i32 = -3; length <= 32; length++)
  for (let point: i32 = 0; point < 32; point++) {
    const row = ROW_OF_NOTHING + (length << 9) + (point << 4);
    const whole = min(point, length);
    const rest = length - whole;
    const fits = whole >= 1 && whole <= 8 && rest != 1 && rest <= 9;
    for (let lane = 0; lane < 16; lane++) {
      const from = lane < 8 ? lane + whole - 8 : lane + whole - 7;
      const holds = lane < 8 ? from >= 0 : from < length;
      store<u8>(row + lane, fits ? (holds ? <u8>from : 0x80) : <u8>(length & 15));
    }
  }

/** Where the row stands for a number that begins `text`; without a point there it counts as one with its point at 16. */
@inline
function rowOf(text: v128, rows: u32): usize {
  const points = <u32>i8x16.bitmask(i8x16.eq(text, v128.load(MARKS, 16)));
  return (rows << 9) + (ctz<u32>(points | 0x10000) << 4);
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
 * Reads both sides of a book from just behind their `[`. Answers what `readCompactSide` answers of the asks, 0 when either side is
 * left to the strict reader.
 */
export function readCompactSides(bids: usize, asks: usize, out: usize, depth: u32, decimals: u32): usize {
  const asksOut = out + ((<usize>depth) << 4);
  if (decimals == 8 && load<u16>(bids) == LEVEL_OPENS && load<u16>(asks) == LEVEL_OPENS) {
    const end = shortSides(bids + 2, asks + 2, out, asksOut, depth);
    if (end != 0) return end;
  }
  bidsEnd = readCompactSide(bids, out, depth, decimals, true);
  keptBids = kept;
  const end: usize = bidsEnd == 0 ? 0 : readCompactSide(asks, asksOut, depth, decimals, false);
  keptAsks = kept;
  return end;
}

/**
 * Reads a side from just behind its `[` and keeps the first `depth` levels that have an amount. Answers the position
 * from which the side's closing `]` may come: exactly there when the side was read to its end, later when it was not.
 */
function readCompactSide(start: usize, out: usize, depth: u32, decimals: u32, bids: bool): usize {
  kept = 0;
  if (load<u8>(start) == 0x5d) return start;
  if (load<u16>(start) != LEVEL_OPENS) return 0;
  const end = decimals != 8 ? 0 : bids ? shortBids(start + 2, out, depth) : shortAsks(start + 2, out, depth);
  return end != 0 ? end : longLevels(start + 2, out, depth, decimals, bids);
}

function shortBids(start: usize, out: usize, depth: u32): usize {
  return shortLevels(start, out, depth, true);
}

function shortAsks(start: usize, out: usize, depth: u32): usize {
  return shortLevels(start, out, depth, false);
}

/** The quotes among the 32 bytes that begin a level, such as `97234.11000000","2.42179435"`, say where both numbers end. */
@inline
function quotesOf(at: usize, text: v128): u32 {
  const quote = v128.load(MARKS);
  return <u32>i8x16.bitmask(i8x16.eq(text, quote)) | (<u32>i8x16.bitmask(i8x16.eq(v128.load(at, 16), quote)) << 16);
}

/** Where the third quote stands: it closes the amount. */
@inline
function endOf(quotes: u32): u32 {
  const later = quotes & (quotes - 1);
  return ctz<u32>(later & (later - 1));
}

@inline
function priceDigits(text: v128, length: u32): v128 {
  return i8x16.swizzle(digitsOf(text), v128.load(rowOf(text, length), ROW_OF_NOTHING));
}

/** `rest` is what stands behind the price: three characters more than the amount has. */
@inline
function amountDigits(text: v128, rest: u32): v128 {
  return i8x16.swizzle(digitsOf(text), v128.load(rowOf(text, rest), PLACEMENTS));
}

/**
 * Levels at 10^-8 with up to 15 characters a number and 31 a level, a vector each. What looks strange (another
 * character than a digit, a level out of order, an amount of zero) is only gathered on the way; then the answer is 0 and
 * `longLevels` looks again. Prices and amounts here are below 2^63, so signed comparisons serve.
 */
@inline
function shortLevels(start: usize, out: usize, depth: u32, bids: bool): usize {
  let at = start;
  let write = out;
  let left = depth;
  let previous = bids ? i64x2.splat(i64.MAX_VALUE) : i64x2.splat(0);
  let ordered = i64x2.splat(-1);
  let zero = i64x2.splat(0);
  let largest = i64x2.splat(0);
  let lengths: u32 = 0;
  let between: u32 = 0;
  let closing: usize = 0;
  let next: u32 = 0;
  while (true) {
    const text = v128.load(at);
    const quotes = quotesOf(at, text);
    const length = ctz<u32>(quotes);
    const end = endOf(quotes);
    const rest = end - length;
    const middle = at + length;
    closing = at + end;
    next = load<u32>(closing, 1);
    lengths |= length | (rest - 3);
    between |= <u32>load<u16>(middle, 1) ^ NEXT_AMOUNT;
    const price = priceDigits(text, length);
    const amount = amountDigits(v128.load(middle, 3), rest);
    largest = i8x16.max_u(largest, i8x16.max_u(price, amount));
    const level = fixedPointOf(eightsOf(quartersOf(price), quartersOf(amount)));
    v128.store(write, level);
    ordered = v128.and(ordered, bids ? i64x2.gt_s(previous, level) : i64x2.gt_s(level, previous));
    zero = v128.or(zero, i64x2.eq(level, i64x2.splat(0)));
    previous = level;
    write += 16;
    at = closing + 5;
    if ((--left == 0) | (next != NEXT_LEVEL)) break;
  }
  if (isStrange(largest, lengths, between, ordered, zero)) return 0;
  return finishSide(closing, next, write - out, depth);
}

@inline
function isStrange(largest: v128, lengths: u32, between: u32, ordered: v128, zero: v128): bool {
  const isOdd = v128.any_true(i8x16.gt_u(largest, i8x16.splat(9))) || lengths > 15 || between != 0;
  return isOdd || i64x2.extract_lane(ordered, 0) == 0 || i64x2.extract_lane(zero, 1) != 0;
}

/**
 * A level of the bids and one of the asks at a time: where the next level begins is known only when this one has been searched, and
 * while the processor waits for the one side it reads the other. Both must end together, full or not; else the answer is 0.
 */
function shortSides(bids: usize, asks: usize, bidsOut: usize, asksOut: usize, depth: u32): usize {
  const asksAhead = asksOut - bidsOut;
  let bid = bids;
  let ask = asks;
  let write = bidsOut;
  let left = depth;
  let lastBid = i64x2.splat(i64.MAX_VALUE);
  let lastAsk = i64x2.splat(0);
  let ordered = i64x2.splat(-1);
  let zero = i64x2.splat(0);
  let largest = i64x2.splat(0);
  let lengths: u32 = 0;
  let between: u32 = 0;
  let bidNext: u32 = 0;
  let askNext: u32 = 0;
  while (true) {
    const bidText = v128.load(bid);
    const askText = v128.load(ask);
    const bidQuotes = quotesOf(bid, bidText);
    const askQuotes = quotesOf(ask, askText);
    const bidLength = ctz<u32>(bidQuotes);
    const askLength = ctz<u32>(askQuotes);
    const bidEnd = endOf(bidQuotes);
    const askEnd = endOf(askQuotes);
    const bidRest = bidEnd - bidLength;
    const askRest = askEnd - askLength;
    const bidMiddle = bid + bidLength;
    const askMiddle = ask + askLength;
    bidNext = load<u32>(bid + bidEnd, 1);
    askNext = load<u32>(ask + askEnd, 1);
    bid += bidEnd + 5;
    ask += askEnd + 5;
    lengths |= bidLength | (bidRest - 3) | askLength | (askRest - 3);
    between |= (<u32>load<u16>(bidMiddle, 1) ^ NEXT_AMOUNT) | (<u32>load<u16>(askMiddle, 1) ^ NEXT_AMOUNT);
    const bidPrice = priceDigits(bidText, bidLength);
    const bidAmount = amountDigits(v128.load(bidMiddle, 3), bidRest);
    const askPrice = priceDigits(askText, askLength);
    const askAmount = amountDigits(v128.load(askMiddle, 3), askRest);
    largest = i8x16.max_u(largest, i8x16.max_u(i8x16.max_u(bidPrice, bidAmount), i8x16.max_u(askPrice, askAmount)));
    const bidLevel = fixedPointOf(eightsOf(quartersOf(bidPrice), quartersOf(bidAmount)));
    const askLevel = fixedPointOf(eightsOf(quartersOf(askPrice), quartersOf(askAmount)));
    v128.store(write, bidLevel);
    v128.store(write + asksAhead, askLevel);
    ordered = v128.and(ordered, v128.and(i64x2.gt_s(lastBid, bidLevel), i64x2.gt_s(askLevel, lastAsk)));
    zero = v128.or(zero, v128.or(i64x2.eq(bidLevel, i64x2.splat(0)), i64x2.eq(askLevel, i64x2.splat(0))));
    lastBid = bidLevel;
    lastAsk = askLevel;
    write += 16;
    if ((--left == 0) | (bidNext != NEXT_LEVEL) | (askNext != NEXT_LEVEL)) break;
  }
  if (isStrange(largest, lengths, between, ordered, zero)) return 0;
  bidsEnd = finishSide(bid - 5, bidNext, write - bidsOut, depth);
  keptBids = keptAsks = <u32>(write - bidsOut) >> 4;
  return bidsEnd == 0 ? 0 : finishSide(ask - 5, askNext, write - bidsOut, depth);
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

@inline
function colons(at: usize, offset: usize): u64 {
  const colon = v128.load(MARKS, 32);
  const a = <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at + offset), colon)));
  const b = <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at + offset, 16), colon)));
  const c = <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at + offset, 32), colon)));
  const d = <u64>(<u32>i8x16.bitmask(i8x16.eq(v128.load(at + offset, 48), colon)));
  return a | (b << 16) | (c << 32) | (d << 48);
}

@inline
function colonAmong64(at: usize, colon: v128): v128 {
  const low = v128.or(i8x16.eq(v128.load(at), colon), i8x16.eq(v128.load(at, 16), colon));
  return v128.or(low, v128.or(i8x16.eq(v128.load(at, 32), colon), i8x16.eq(v128.load(at, 48), colon)));
}

/**
 * The first colon at or behind `start`, 0 when there is none before `end`. No colon between two places of valid JSON
 * means that no key stands between them, so that both belong to the same object.
 */
export function nextColon(start: usize, end: usize): usize {
  const colon = v128.load(MARKS, 32);
  let at = start;
  while (at < end) {
    if (i8x16.bitmask(v128.or(colonAmong64(at, colon), colonAmong64(at + 64, colon))) != 0) {
      // The guard behind the frame holds no colon, so a hit is always inside it.
      const first = colons(at, 0);
      return at + <usize>(first != 0 ? ctz<u64>(first) : 64 + ctz<u64>(colons(at, 64)));
    }
    at += 128;
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
