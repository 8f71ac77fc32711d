// Offsets of everything the bars kernel keeps in its memory. Nothing here computes.
//
// A trade record (64 bytes, written by the decode kernels; protocols/trade-layout.ts is its other half):
//
//   0        4        8                16               24               32        40       48        56        64
//   | symbol | flags  | time_us        | price          | amount         | first_id| last_id| sequence| received_ns|
//
// A bar entry (128 bytes, two cache lines). The second line is written once, when the bar opens. `before` is the symbol's running total as it stood before the bar's first trade, so that a bar's sums
// are the difference of two totals, and a longer interval costs nothing per trade:
//
//   0      8      16     24      32      40         48   52      56               64       80      96       112     128
//   | high | low  | close| last  | open  | first_id | n  | marks | before.count   | volume | quote | volume | quote  |
//   |      |      |      | id    |      |          |    |       |                | sold   | sold  | bought | bought |
//
export const TRADE_BYTES: u32 = 64;
export const TRADE_SYMBOL: usize = 0;
export const TRADE_FLAGS: usize = 4;
export const TRADE_TIME: usize = 8;
export const TRADE_PRICE: usize = 16;
export const TRADE_AMOUNT: usize = 24;
export const TRADE_FIRST_ID: usize = 32;
export const TRADE_LAST_ID: usize = 40;
export const TRADE_SEQUENCE: usize = 48;
export const FLAG_TAKER_BUY: u32 = 1;
/** No trade, but a mark in the feed: trades may be missing from here on. Its price is 0. */
export const FLAG_LOSS: u32 = 2;
/** Fetched from the venue, ascending, with nothing left out between it and the one before. */
export const FLAG_FETCHED: u32 = 4;
/** Fetched beside what was missing: counts only where it is certain that it was never seen. */
export const FLAG_OFFERED: u32 = 8;

export const ENTRY_BYTES: u32 = 128;
export const E_HIGH: usize = 0;
export const E_LOW: usize = 8;
export const E_CLOSE: usize = 16;
export const E_LAST_ID: usize = 24;
export const E_OPEN: usize = 32;
export const E_FIRST_ID: usize = 40;
export const E_WINDOW: usize = 48;
/** Low 24 bits: amendments since the close. High 8 bits: flags. */
export const E_MARKS: usize = 52;
export const E_COUNT: usize = 56;
export const E_SUMS: usize = 64;
export const MARK_WAS_GAP: u32 = 1 << 24;
export const MARK_REVISIONS: u32 = (1 << 24) - 1;

/**
 * Running totals: count, then volume and quote of what takers sold and of what they bought, 128 bits each, in the same order as in
 * an entry. A trade changes those of its side alone; records say volume and quote of both, then of what was bought.
 */
export const TOTALS_BYTES: usize = 72;
export const SIDE_BYTES: usize = 32;

// A symbol's state lies in four places, so that what trades touch stays close together however many symbols there are:
//
//   head   256 bytes, four cache lines   1 the open base bar | 2 the totals | 3 what opens the next bar | 4 the base interval
//   body   a line of its own, then one for each longer interval
//   aside  holes and recent ids
//   rings  the recent bars, a column an interval
//
// A trade in order touches the first two lines of the head and nothing else; one that opens a base bar also the other two and
// the base ring. 2,000 heads are 512 KB: they stay in the second level of the cache.
export const HEAD_BYTES: u32 = 256;
/** The sequence that may take the short path; NEVER while anything about the ids is in doubt. */
export const S_FAST_SEQUENCE: usize = 0;
export const S_BASE_OPEN: usize = 8;
export const S_LAST_TIME: usize = 16;
/** The open base bar, as far as trades change it: newer than its entry in the ring until `settle` copies it there. */
export const S_HIGH: usize = 24;
export const S_LOW: usize = 32;
export const S_CLOSE: usize = 40;
export const S_LAST_ID: usize = 48;
export const S_COUNT: usize = 56;
export const S_SUMS: usize = 64;
/**
 * Base bars that closed since the intervals which they feed were last brought up to date: their highest and lowest
 * price, and until when (the earliest end of those intervals' newest windows) closing bars may be left here.
 */
export const S_PENDING_HIGH: usize = 128;
export const S_PENDING_LOW: usize = 136;
export const S_PENDING_UNTIL: usize = 144;
export const S_VERSION: usize = 156;
export const S_FLAGS: usize = 160;
export const S_BODY: usize = 164;
export const S_VENUE: usize = 168;
export const S_HOLES: usize = 172;
/** The next sequence; while the short path is open, that path's is newer until `settle` copies it here. */
export const S_EXPECTED: usize = 176;
export const S_SINCE: usize = 184;
export const S_BASE_STATE: usize = 192;
/** The base interval's newest bar, 0 before the first: its state's I_TOP. */
export const S_TOP: usize = 220;

export const B_GLOBAL: usize = 0;
/** Where the symbol stands among the heads; its rings stand at the same place in their columns. */
export const B_INDEX: usize = 4;
export const B_SUSPECT_FROM: usize = 8;
export const B_DEEP_FROM: usize = 16;
export const B_DEEP_TO: usize = 24;
export const B_DEEP_MASK: usize = 32;
/** Per reader: version in its last committed snapshot, version in the one in flight. */
export const B_READERS: usize = 40;
/** The latest stamp of a trade that another one with an earlier stamp followed. */
export const B_LATEST: usize = 56;

export const SYMBOL_DENSE: u32 = 1;
export const SYMBOL_HAS_TRADED: u32 = 2;
export const SYMBOL_SUSPECT: u32 = 4;

export const NEVER: u64 = u64.MAX_VALUE;

// An interval's state fills one cache line: that of the base the head's last, that of the k-th the body's k-th.
export const INTERVAL_BYTES: u32 = 64;
export const I_END: usize = 0;
export const I_RING: usize = 8;
export const I_HEAD: usize = 12;
export const I_COUNT: usize = 16;
/** Windows before this one are no longer the kernel's to change. */
export const I_FLOOR: usize = 20;
export const I_QUIET_REVISIONS: usize = 24;
export const I_TOP: usize = 28;
/** Per reader: committed, in flight, rewound to. */
export const I_READERS: usize = 32;
export const READER_BYTES: usize = 12;
export const READER_COMMITTED: usize = 0;
/** What a reader that nobody reads has committed: everything. */
export const DETACHED: u32 = u32.MAX_VALUE;
export const READER_IN_FLIGHT: usize = 4;
export const READER_REWOUND: usize = 8;
/** Close of the last bar that left the ring: the price of quiet windows before the oldest entry. 0: none yet. */
export const I_FLOOR_CLOSE: usize = 56;
export const READERS: u32 = 2;

// A hole: sequences first..last are missing, and their times lie between the times of the trades on either side. Of a
// coarse one some have been seen, nobody knows which: two holes became one for want of room, or a trade came so late that
// it might be a duplicate.
export const HOLES_MAX: u32 = 64;
export const HOLE_BYTES: u32 = 40;
export const H_FIRST: usize = 0;
export const H_LAST: usize = 8;
export const H_FROM: usize = 16;
export const H_TO: usize = 24;
export const H_COARSE: usize = 32;

// A symbol's aside: its holes, ascending, then the RECENT_IDS largest sequences seen where ids are not dense.
export const RECENT_IDS: u32 = 128;
export const A_RECENT: usize = 2560;
export const ASIDE_BYTES: u32 = 3584;

// A bar record as snapshots hand it out (160 bytes; protocols/kline-layout.ts is its other half).
export const RECORD_BYTES: u32 = 160;
export const R_SYMBOL: usize = 0;
export const R_INTERVAL: usize = 4;
export const R_QUALITY: usize = 5;
export const R_CLOSED: usize = 6;
export const R_VENUE: usize = 7;
export const R_REVISION: usize = 8;
export const R_WINDOW: usize = 12;
export const R_OPEN_US: usize = 16;
export const R_CLOSE_US: usize = 24;
export const R_OPEN: usize = 32;
export const R_HIGH: usize = 40;
export const R_LOW: usize = 48;
export const R_CLOSE: usize = 56;
export const R_FIRST_ID: usize = 64;
export const R_LAST_ID: usize = 72;
export const R_COUNT: usize = 80;
export const R_SUMS: usize = 88;
/** The next sequence the symbol expects: where a restart goes on reading. */
export const R_NEXT_SEQUENCE: usize = 152;

export const QUALITY_COMPLETE: u8 = 0;
export const QUALITY_PARTIAL_FIRST: u8 = 1;
export const QUALITY_QUIET: u8 = 2;
export const QUALITY_GAP: u8 = 3;
export const QUALITY_REPAIRED: u8 = 4;

// Counters, one u64 each.
export const C_APPLIED: usize = 0;
export const C_DUPLICATE: usize = 8;
export const C_LATE: usize = 16;
export const C_UNKNOWN_SYMBOL: usize = 24;
export const C_MALFORMED: usize = 32;
export const C_HOLES: usize = 40;
export const C_HOLES_MERGED: usize = 48;
export const C_REFUSED_FILL: usize = 56;
export const C_BEYOND: usize = 64;
export const C_EVICTED_UNREAD: usize = 72;
export const C_LOST_UNSAVED: usize = 80;
/** Changes whenever a hole, a doubt or a deep span comes or goes: the cue to look for trouble. */
export const C_TROUBLE_VERSION: usize = 88;
export const C_LOST_UNHEARD: usize = 96;
export const COUNTERS_BYTES: i32 = 104;
