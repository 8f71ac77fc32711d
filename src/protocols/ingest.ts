import type { DeadLetter, Refusal } from './dead-letter.ts';
import type { Accepted, EventType, StoredType } from './envelope.ts';

// Words of the ingest plane.
//
//   entry    what Redis delivers: an id and fields
//   row      an entry that was decoded and accepted
//   lane     the way of one stream (or shard) through reader, sink and spill; order is kept within it
//   settled  a row whose fate is durable: stored, spilled or dead-lettered. Only then is its entry acknowledged.

export interface EventRow {
  readonly event: Accepted;
  readonly entryId: string;
  /** Nanoseconds since 1970 when the kernel first read it. */
  readonly tsKernel: bigint;
  readonly deliveries: number;
  /** For a row that was made while its entry was read: what can be had without decoding its event. */
  readonly plain?: PlainPart;
}

/** A data event that is only stored: no heartbeat, no status, nothing that asks. */
export interface PlainPart {
  readonly raw: Buffer;
  readonly bytes: number;
  readonly eventType: EventType;
  /** Undefined where too many have been seen to tell them apart. */
  readonly sender: Sender | undefined;
  /** Its row in COPY's binary form, from `copyStart` to `copyEnd` in bytes that it shares with its neighbours. */
  readonly copy: Buffer;
  readonly copyStart: number;
  readonly copyEnd: number;
}

export interface Sender {
  readonly source: string;
  readonly connection: string;
}

export interface EventBatch {
  readonly rows: readonly EventRow[];
  readonly bytes: number;
}

/** A row that Postgres refuses, and why. */
export interface RefusedRow {
  readonly row: EventRow;
  readonly refusal: Refusal;
}

/** What became of rows that a reader handed on. Their entries may now be acknowledged. */
export interface Settlement {
  readonly stored: readonly EventRow[];
  /** How many of `stored` had been stored before: redelivered, or sent twice. */
  readonly duplicates: number;
  readonly spilled: readonly EventRow[];
  readonly refused: readonly RefusedRow[];
  /** Given up under extreme pressure, because the operator chose so for their event types. */
  readonly dropped: readonly EventRow[];
}

export const NOTHING_SETTLED: Settlement = { stored: [], duplicates: 0, spilled: [], refused: [], dropped: [] };

export function rowBytes(row: EventRow): number {
  return row.plain?.bytes ?? row.event.raw.length;
}

/** The envelope's bytes as they came in. */
export function rawOf(row: EventRow): Buffer {
  return row.plain?.raw ?? row.event.raw;
}

export function typeOf(row: EventRow): StoredType {
  return row.plain?.eventType ?? row.event.eventType;
}

/** A spilled record that cannot be stored: its entry was acknowledged long ago, so only its dead letter is to be written. */
export interface Unstorable {
  readonly entryId: string;
  readonly deliveries: number;
  readonly raw: Buffer;
  readonly refusal: Refusal;
}

export function deadLetterOf(stream: string, { row, refusal }: RefusedRow): DeadLetter {
  const { entryId, deliveries } = row;
  return { ...refusal, stage: 'sql', stream, entryId, deliveries, raw: rawOf(row) };
}

/** Why a lane is not green, in words that an operator can act on. */
export interface LaneHealth {
  readonly state: 'green' | 'yellow' | 'red';
  readonly reasons: readonly string[];
}
