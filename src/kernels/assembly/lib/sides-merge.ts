// Two sorted sides become one, best price first, the larger amount first at the same price, the earlier venue first when
// both are equal. Side `a` belongs to earlier venues. Whose level comes next is a coin toss, and a wrong guess of the
// processor costs more than the whole step: so it is a select, not a branch. Only equal prices, which are rare, branch.

export const BOOK_LEVEL_BYTES: usize = 16;
export const LEVEL_BYTES: usize = 24;

/**
 * Eight bytes at a time, as the book was just copied here: a wider load of bytes that are still on their way to memory
 * as two stores would have to wait for both.
 */
@inline
function put(out: usize, level: usize, venue: u64): void {
  store<u64>(out, load<u64>(level));
  store<u64>(out, load<u64>(level, 8), 8);
  store<u64>(out, venue, 16);
}

/**
 * Where `tagged`, the levels of `a` are a merged side and carry their venue; else they are a book's and belong to
 * `aVenue`. Answers how many levels it wrote.
 */
@inline
function merge(
  a: usize, aCount: u32, tagged: bool, aVenue: u64, b: usize, bCount: u32, bVenue: u64, out: usize, depth: u32, bids: bool,
): u32 {
  const aStep = tagged ? LEVEL_BYTES : BOOK_LEVEL_BYTES;
  const aEnd = a + <usize>aCount * aStep;
  const bEnd = b + <usize>bCount * BOOK_LEVEL_BYTES;
  let left = depth;
  let write = out;
  while (true) {
    // A step uses up one level of one side, so that this many need no look at either end.
    let run = min(left, min<u32>(<u32>((aEnd - a) / aStep), <u32>((bEnd - b) / BOOK_LEVEL_BYTES)));
    if (run == 0) break;
    left -= run;
    do {
      const aPrice = load<u64>(a);
      const bPrice = load<u64>(b);
      let first = bids ? aPrice > bPrice : aPrice < bPrice;
      if (aPrice == bPrice) first = load<u64>(a, 8) >= load<u64>(b, 8);
      const own = tagged ? load<u64>(a, 16) : aVenue;
      put(write, select<usize>(a, b, first), select<u64>(own, bVenue, first));
      a += <usize>first * aStep;
      b += BOOK_LEVEL_BYTES - <usize>first * BOOK_LEVEL_BYTES;
      write += LEVEL_BYTES;
    } while (--run != 0);
  }
  for (; left != 0 && a < aEnd; left--, a += aStep, write += LEVEL_BYTES) put(write, a, tagged ? load<u64>(a, 16) : aVenue);
  for (; left != 0 && b < bEnd; left--, b += BOOK_LEVEL_BYTES, write += LEVEL_BYTES) put(write, b, bVenue);
  return depth - left;
}

export function mergeBooks(
  a: usize, aCount: u32, aVenue: u32, b: usize, bCount: u32, bVenue: u32, out: usize, depth: u32, bids: bool,
): u32 {
  return bids
    ? merge(a, aCount, false, aVenue, b, bCount, bVenue, out, depth, true)
    : merge(a, aCount, false, aVenue, b, bCount, bVenue, out, depth, false);
}

export function mergeBookInto(
  merged: usize, mergedCount: u32, b: usize, bCount: u32, bVenue: u32, out: usize, depth: u32, bids: bool,
): u32 {
  return bids
    ? merge(merged, mergedCount, true, 0, b, bCount, bVenue, out, depth, true)
    : merge(merged, mergedCount, true, 0, b, bCount, bVenue, out, depth, false);
}
