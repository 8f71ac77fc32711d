import type { EventRow, PlainPart } from '../../protocols/ingest.ts';
import { ulidMilliseconds, writeUlidBytes } from '../../protocols/ulid.ts';

// Rows in COPY's binary form. Payload and meta are copied from the bytes that came in: jsonb takes its text after one
// version byte, so nothing is escaped and nothing is serialized again.
//
//   "PGCOPY\n\377\r\n\0" | flags u32 | extension u32
//   row:  fields u16 | (length u32 | bytes) x 11
//   end:  -1 u16

export const COLUMNS =
  'id, part_day, ts_event, ts_collector, ts_kernel, event_type, source, symbol, connection_id, payload, meta';
const COLUMN_COUNT = 11;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
const TRAILER = Buffer.from([0xff, 0xff]);
const JSONB_VERSION = 1;
const DAY_MS = 86_400_000;
/** Postgres counts days from 2000-01-01, which is day 10,957 since 1970. */
const DAYS_1970_TO_2000 = 10_957;
/** Everything of a row but its texts: field count, 11 lengths, uuid, date, 3 times, 2 jsonb versions, `{}`. */
const FIXED_BYTES = 2 + COLUMN_COUNT * 4 + 16 + 4 + 3 * 8 + 2 + 2;
/** The longest that UTF-8 makes of one UTF-16 unit. */
const UTF8_MAX = 3;

/** The bytes of a COPY of these rows, in parts. Rows that were made while they were read are handed on, not copied. */
export function copyParts(rows: readonly EventRow[]): Buffer[] {
  const parts: Buffer[] = [SIGNATURE];
  for (let at = 0; at < rows.length; ) {
    const { plain } = rows[at]!;
    const next = plain === undefined ? endOfDecoded(rows, at) : endOfPlain(rows, at, plain);
    parts.push(
      plain === undefined
        ? encodeRows(rows, at, next)
        : plain.copy.subarray(plain.copyStart, rows[next - 1]!.plain!.copyEnd),
    );
    at = next;
  }
  parts.push(TRAILER);
  return parts;
}

function endOfDecoded(rows: readonly EventRow[], from: number): number {
  let at = from + 1;
  while (at < rows.length && rows[at]!.plain === undefined) at++;
  return at;
}

/** Where the rows end whose bytes follow one another. */
function endOfPlain(rows: readonly EventRow[], from: number, first: PlainPart): number {
  let at = from + 1;
  let last = first;
  for (; at < rows.length; at++) {
    const { plain } = rows[at]!;
    if (plain === undefined || plain.copy !== first.copy || plain.copyStart !== last.copyEnd) break;
    last = plain;
  }
  return at;
}

function encodeRows(rows: readonly EventRow[], from: number, to: number): Buffer {
  let size = 0;
  for (let at = from; at < to; at++) {
    const { event } = rows[at]!;
    const texts = event.eventType.length + event.source.length + event.symbol.length + event.connection.length;
    size += FIXED_BYTES + texts * UTF8_MAX + event.payloadEnd - event.payloadStart + event.metaEnd - event.metaStart;
  }
  const target = Buffer.allocUnsafe(size);
  let end = 0;
  for (let at = from; at < to; at++) end = writeRow(target, end, rows[at]!);
  return target.subarray(0, end);
}

function writeRow(target: Buffer, start: number, { event, tsKernel }: EventRow): number {
  let at = target.writeInt16BE(COLUMN_COUNT, start);
  at = target.writeInt32BE(16, at);
  writeUlidBytes(event.id, target, at);
  at = target.writeInt32BE(4, at + 16);
  at = target.writeInt32BE(Math.floor(ulidMilliseconds(event.id) / DAY_MS) - DAYS_1970_TO_2000, at);
  at = writeTime(target, at, event.tsEvent);
  at = writeTime(target, at, event.tsCollector);
  at = writeTime(target, at, tsKernel);
  at = writeText(target, at, event.eventType);
  at = writeText(target, at, event.source);
  at = writeText(target, at, event.symbol);
  at = writeText(target, at, event.connection);
  at = writeJson(target, at, event.raw, event.payloadStart, event.payloadEnd);
  if (event.metaEnd === event.metaStart) return target.writeInt32BE(-1, at);
  return writeJson(target, at, event.raw, event.metaStart, event.metaEnd);
}

function writeTime(target: Buffer, at: number, value: bigint): number {
  return target.writeBigInt64BE(value, target.writeInt32BE(8, at));
}

function writeText(target: Buffer, at: number, text: string): number {
  const length = target.write(text, at + 4, 'utf8');
  target.writeInt32BE(length, at);
  return at + 4 + length;
}

function writeJson(target: Buffer, at: number, raw: Buffer, start: number, end: number): number {
  const length = end === start ? 2 : end - start;
  target.writeInt32BE(length + 1, at);
  target[at + 4] = JSONB_VERSION;
  if (end === start) target.write('{}', at + 5, 'latin1');
  else raw.copy(target, at + 5, start, end);
  return at + 5 + length;
}
