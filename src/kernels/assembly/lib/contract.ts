// What the decode kernel and its callers agree on. Plain constants only: this file is compiled both by asc and by tsc.

// What a decode call answers: above zero what the frame was, below zero why it was refused.
export const BOOK_SNAPSHOT = 1; // the book record holds a whole book
export const BOOK_DELTA = 2; // the delta rows say which levels changed
export const TRADES = 3; // the trade records hold one or more trades
export const CONTROL = 4; // well formed, but not data: acks, pings, errors, notices; for the JSON path
export const BOOK_SENT = 5; // like BOOK_SNAPSHOT, and the book is in its slot already

export const REFUSED_JSON = -1; // not JSON, or cut off
export const REFUSED_SHAPE = -2; // JSON, but a field that the venue always sends is missing or of another kind
export const REFUSED_DECIMAL = -3; // a price, amount or id that is not a plain unsigned decimal
export const REFUSED_OVERFLOW = -4; // more than 64 bits hold at this scale
export const REFUSED_PRECISION = -5; // digits other than zero beyond the scale's places
export const REFUSED_ORDER = -6; // a snapshot whose kept levels are not strictly best first
export const REFUSED_ROUTE = -7; // a stream, channel or symbol that nobody registered
export const REFUSED_ESCAPE = -8; // a key or a value that is read is spelled with a backslash escape
export const REFUSED_DEPTH = -9; // nested deeper than NESTING_MAX
export const REFUSED_FIELDS = -10; // an object that is read has more than FIELDS_MAX keys
export const REFUSED_CAPACITY = -11; // more levels, deltas or trades in one frame than there is room for
export const REFUSED_SIZE = -12; // the frame is longer than the kernel's frame buffer

export const NESTING_MAX = 64;
export const FIELDS_MAX = 64;

// Offsets in the head that each call fills in.
export const HEAD_ROUTE = 0; // u32
export const HEAD_COUNT = 4; // u32: deltas or trades
export const HEAD_NAME_OFFSET = 8; // u32: where in the frame the stream, channel or symbol name stands
export const HEAD_NAME_LENGTH = 12; // u32
export const HEAD_FAILED_AT = 16; // u32: where in the frame a refusal was noticed
export const HEAD_SEQUENCE = 24; // f64, exact below 2^53: the frame's last sequence, for comparing without BigInt
export const HEAD_FRAME = 32; // u32, the caller's to say: where the frame lies
export const HEAD_BYTES = 64;

/** Room for what one read of a socket brings. */
export const LANDING_BYTES = 65536;

// One delta: what one frame says about one symbol's levels.
export const DELTA_ROUTE = 0; // u32
export const DELTA_FLAGS = 4; // u32
export const DELTA_FIRST = 8; // u32: index of its first level
export const DELTA_LEVELS = 12; // u32
export const DELTA_CHECKSUM = 16; // u32, where DELTA_HAS_CHECKSUM
export const DELTA_FIRST_SEQUENCE = 24; // u64
export const DELTA_LAST_SEQUENCE = 32; // u64
export const DELTA_TIME_US = 40; // u64: the venue's event time, 0 when it gives none
export const DELTA_BYTES = 48;
export const DELTA_IS_SNAPSHOT = 1;
export const DELTA_HAS_CHECKSUM = 2;

// One changed level: price, amount (0 deletes), side, and how many decimal places each was written with.
export const CHANGE_PRICE = 0; // u64
export const CHANGE_AMOUNT = 8; // u64
export const CHANGE_SIDE = 16; // u8
export const CHANGE_PRICE_PLACES = 17; // u8
export const CHANGE_AMOUNT_PLACES = 18; // u8
export const CHANGE_BYTES = 24;
export const SIDE_BID = 0;
export const SIDE_ASK = 1;

// What applying a delta, or copying the top of an incremental book, answers.
export const APPLIED = 0;
export const APPLY_CHECKSUM_DIFFERS = -20;
export const APPLY_THIN = -21; // levels that were let go are missing near the top: only a new snapshot helps
export const APPLY_NO_BOOK = -22; // no book was opened for that route
