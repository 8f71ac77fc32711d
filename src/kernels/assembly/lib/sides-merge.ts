// Two sorted sides become one, best price first, the larger amount first at the same price, the earlier venue first when
// both are equal. Side `a` belongs to earlier venues. Everything in the loop is a select, not a branch: which venue has
// the next level is a coin toss, and a wrong guess costs more than the whole step.

export const BOOK_LEVEL_BYTES: usize = 16;
export const LEVEL_BYTES: usize = 24;

@inline
function put(out: usize, level: usize, venue: u64): void {
  v128.store(out, v128.load(level));
  store<u64>(out, venue, 16);
}

/**
 * `flip` is all ones for bids, whose flipped prices rise like those of asks. Where `tagged`, the levels of `a` are a
 * merged side and carry their venue; else they are a book's and belong to `aVenue`. Answers how many levels it wrote.
 */
@inline
function merge(
  a: usize, aCount: u32, tagged: bool, aVenue: u64, b: usize, bCount: u32, bVenue: u64, out: usize, depth: u32, flip: u64,
): u32 {
  const aStep = tagged ? LEVEL_BYTES : BOOK_LEVEL_BYTES;
  const aEnd = a + <usize>aCount * aStep;
  const bEnd = b + <usize>bCount * BOOK_LEVEL_BYTES;
  const full = out + <usize>depth * LEVEL_BYTES;
  let write = out;
  while ((write < full) & (a < aEnd) & (b < bEnd)) {
    const aPrice = load<u64>(a) ^ flip;
    const bPrice = load<u64>(b) ^ flip;
    const first = (aPrice < bPrice) | ((aPrice == bPrice) & (load<u64>(a, 8) >= load<u64>(b, 8)));
    const own = tagged ? load<u64>(a, 16) : aVenue;
    put(write, select<usize>(a, b, first), select<u64>(own, bVenue, first));
    a += select<usize>(aStep, 0, first);
    b += select<usize>(0, BOOK_LEVEL_BYTES, first);
    write += LEVEL_BYTES;
  }
  for (; (write < full) & (a < aEnd); a += aStep, write += LEVEL_BYTES) put(write, a, tagged ? load<u64>(a, 16) : aVenue);
  for (; (write < full) & (b < bEnd); b += BOOK_LEVEL_BYTES, write += LEVEL_BYTES) put(write, b, bVenue);
  return <u32>((write - out) / LEVEL_BYTES);
}

export function mergeBooks(
  a: usize, aCount: u32, aVenue: u32, b: usize, bCount: u32, bVenue: u32, out: usize, depth: u32, flip: u64,
): u32 {
  return merge(a, aCount, false, aVenue, b, bCount, bVenue, out, depth, flip);
}

export function mergeBookInto(
  merged: usize, mergedCount: u32, b: usize, bCount: u32, bVenue: u32, out: usize, depth: u32, flip: u64,
): u32 {
  return merge(merged, mergedCount, true, 0, b, bCount, bVenue, out, depth, flip);
}
