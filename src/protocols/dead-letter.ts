// A dead letter is an entry that can never be stored. It is moved, not dropped: its raw bytes and the reason go to the
// dead-letter stream in the same transaction that acknowledges the entry.

/** Where in its journey an entry was refused. */
export type DeadLetterStage = 'entry' | 'bytes' | 'json' | 'envelope' | 'event' | 'spill' | 'sql' | 'poison';

/** Every code, its stage, and what a producer should change. `docs` list this table. */
export const DEAD_LETTER_CODES = {
  no_envelope_field: { stage: 'entry', means: 'The stream entry has no field named `envelope`.' },
  empty: { stage: 'bytes', means: 'The envelope has no bytes, or only white space.' },
  too_big: { stage: 'bytes', means: 'The envelope is larger than the limit (256 KiB unless configured).' },
  byte_order_mark: { stage: 'bytes', means: 'The envelope starts with a byte order mark.' },
  bad_utf8: { stage: 'bytes', means: 'The envelope is not valid UTF-8.' },
  not_json: { stage: 'json', means: 'The envelope is not JSON; the path names the byte.' },
  truncated: { stage: 'json', means: 'The envelope ends in the middle of a value.' },
  trailing_bytes: { stage: 'json', means: 'Something follows the envelope.' },
  too_deep: { stage: 'json', means: 'Objects and arrays are nested deeper than 32.' },
  nul_character: { stage: 'json', means: 'A string holds U+0000, which Postgres cannot store.' },
  lone_surrogate: { stage: 'json', means: 'A string holds half of a surrogate pair.' },
  number_out_of_range: {
    stage: 'json',
    means: 'A number is too large or too small for a double, or has over 400 digits.',
  },
  forbidden_key: { stage: 'json', means: 'An object has the key `__proto__`, `constructor` or `prototype`.' },
  duplicate_key: {
    stage: 'json',
    means: 'A field of envelope, event or meta is given twice, or the entry has two envelopes.',
  },
  not_an_object: { stage: 'envelope', means: 'The envelope is JSON but not an object.' },
  missing_field: { stage: 'envelope', means: 'A required field is not there.' },
  wrong_type: { stage: 'envelope', means: 'A field has the wrong JSON type.' },
  bad_type: { stage: 'envelope', means: '`type` is none of data, heartbeat, control, ack, error.' },
  bad_version: { stage: 'envelope', means: '`version` is not a semantic version.' },
  unsupported_version: { stage: 'envelope', means: '`version` has a major number that this kernel does not speak.' },
  bad_id: { stage: 'envelope', means: '`id` is not a ULID.' },
  bad_ts: { stage: 'envelope', means: 'A time is not a positive whole number of nanoseconds that fits 63 bits.' },
  bad_event_type: {
    stage: 'event',
    means: '`event_type` is none of quote, trade, orderbook, ohlc, heartbeat, status.',
  },
  bad_source: { stage: 'event', means: '`source` is empty, longer than 64 bytes, or has control characters.' },
  bad_symbol: { stage: 'event', means: '`symbol` is empty, longer than 64 bytes, or has control characters.' },
  bad_connection: { stage: 'event', means: '`meta.connection_id` is longer than 128 bytes or has control characters.' },
  bad_control: { stage: 'event', means: 'A control message has no `op`, or one of over 64 bytes.' },
  refused_by_postgres: { stage: 'sql', means: 'Postgres refused exactly this row; the reason has its SQLSTATE.' },
  poison: { stage: 'poison', means: 'The entry ended the kernel twice while it was being handled alone.' },
} as const satisfies Record<string, { readonly stage: DeadLetterStage; readonly means: string }>;

export type DeadLetterCode = keyof typeof DEAD_LETTER_CODES;

/** Why an entry was refused. `path` names the field (`data.ts_event`) or the byte (`byte 17`). */
export interface Refusal {
  readonly code: DeadLetterCode;
  readonly path: string;
  readonly reason: string;
}

/** The fields of an entry in a dead-letter stream, in the order in which they are written. */
export interface DeadLetter extends Refusal {
  readonly stage: DeadLetterStage;
  readonly stream: string;
  /** The id that the refused entry had in its own stream. */
  readonly entryId: string;
  readonly deliveries: number;
  readonly raw: Buffer;
}

/** Longer reasons are cut: they may quote what the producer sent. */
const REASON_MAX = 512;

export function deadLetterFields(letter: DeadLetter): (string | Buffer)[] {
  return [
    ...['stage', letter.stage, 'code', letter.code, 'path', letter.path],
    ...['reason', letter.reason.slice(0, REASON_MAX), 'stream', letter.stream, 'entry_id', letter.entryId],
    ...['deliveries', String(letter.deliveries), 'raw'],
    letter.raw,
  ];
}

/** Reads what deadLetterFields wrote; undefined when the entry is not one of ours. */
export function parseDeadLetter(fields: readonly Buffer[]): DeadLetter | undefined {
  const found = new Map<string, Buffer>();
  for (let at = 0; at + 1 < fields.length; at += 2) found.set(fields[at]!.toString(), fields[at + 1]!);
  const code = found.get('code')?.toString() ?? '';
  const raw = found.get('raw');
  if (!Object.hasOwn(DEAD_LETTER_CODES, code) || raw === undefined) return undefined;
  const text = (name: string) => found.get(name)?.toString() ?? '';
  return {
    stage: DEAD_LETTER_CODES[code as DeadLetterCode].stage,
    code: code as DeadLetterCode,
    path: text('path'),
    reason: text('reason'),
    stream: text('stream'),
    entryId: text('entry_id'),
    deliveries: Number(text('deliveries')) || 0,
    raw,
  };
}
