/** How a histogram divides nanoseconds. A value belongs to the first bucket whose bound is not below it. */
export interface Buckets {
  /** Upper bounds in nanoseconds, rising; what is above the last is counted there too, unless it is Infinity. */
  readonly boundsNs: readonly number[];
  bucketOf(ns: number): number;
}

/** 16 bounds from 100 ns to 100 ms, those of the order book, and a last bucket for what is slower. */
export const BOOK_BUCKETS: Buckets = fixedBuckets(
  [100, 500, 1e3, 5e3, 10e3, 25e3, 50e3, 100e3, 250e3, 500e3, 1e6, 5e6, 10e6, 25e6, 50e6, 100e6].concat(Infinity),
);

function fixedBuckets(boundsNs: readonly number[]): Buckets {
  return {
    boundsNs,
    bucketOf(ns) {
      let low = 0;
      let high = boundsNs.length - 1;
      while (low < high) {
        const middle = (low + high) >> 1;
        if (ns <= boundsNs[middle]!) high = middle;
        else low = middle + 1;
      }
      return low;
    },
  };
}

const PARTS = 8;
const DOUBLINGS = 28;

/**
 * Eight equal parts to each doubling, from 1 ns to 2.1 s, for percentiles: a bound is at most an eighth above the value.
 * 8, 9, ... 15, 16, 18, ... 30, 32, 36 ... ns. Finding the bucket is a count of leading zeros and a shift.
 */
export const FINE_BUCKETS: Buckets = {
  boundsNs: Array.from({ length: PARTS * (DOUBLINGS + 1) }, (_, index) => {
    if (index < PARTS) return index;
    const doubling = Math.floor(index / PARTS) - 1;
    return (PARTS + (index % PARTS) + 1) * 2 ** doubling - 1;
  }),
  bucketOf(ns) {
    const whole = ns < 0x7fff_ffff ? Math.ceil(ns) : 0x7fff_ffff;
    if (whole < PARTS) return Math.max(whole, 0);
    const doubling = 31 - Math.clz32(whole) - 3;
    return PARTS * (doubling + 1) + ((whole >>> doubling) & (PARTS - 1));
  },
};
