// What the envelope kernel and its callers agree on. Plain constants only: this file is compiled both by asc and by tsc.

// What `advance` answers.
export const REPLY_MORE = 0; // every whole entry is read; the rest has not arrived
export const REPLY_WHOLE = 1; // the last entry is read
export const REPLY_NOTHING = 2; // no entry came in time
export const REPLY_STRANGE = 3; // an error, or no answer to XREADGROUP for one stream: for a general parser
export const REPLY_ROOM = 4; // the table of entries is full: take them out, then go on

// One entry: places in the input, and what became of it.
export const ENTRY_ID = 0; // u32: where its id stands
export const ENTRY_ID_END = 4; // u32
export const ENTRY_BODY = 8; // u32: the envelope's bytes; for ENTRY_OTHER where the list of its fields starts
export const ENTRY_BODY_END = 12; // u32
export const ENTRY_COPY_END = 16; // u32: where its row ends in the output; it starts where the last one ended
export const ENTRY_KIND = 20; // u8
export const ENTRY_TYPE = 21; // u8: index into PLAIN_TYPES
export const ENTRY_SENDER = 22; // u16: which source and connection, or SENDER_UNKNOWN
export const ENTRY_BYTES = 24;

export const ENTRY_ROW = 1; // a plain event; its row is in the output
export const ENTRY_ENVELOPE = 2; // an envelope that is not plain, perhaps not even good: for the full decoder
export const ENTRY_OTHER = 3; // deleted, or with other fields than the envelope

export const SENDER_UNKNOWN = 0xffff;
export const SENDERS_MAX = 255;
