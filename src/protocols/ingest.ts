import type { DeadLetter, Refusal } from './dead-letter.ts';
import type { Accepted } from './envelope.ts';

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
  return row.event.raw.length;
}

export function batchOf(rows: readonly EventRow[]): EventBatch {
  return { rows, bytes: rows.reduce((sum, row) => sum + rowBytes(row), 0) };
}

/** A spilled record that cannot be stored: its entry was acknowledged long ago, so only its dead letter is to be written. */
export interface Unstorable {
  readonly entryId: string;
  readonly deliveries: number;
  readonly raw: Buffer;
  readonly refusal: Refusal;
}

export function deadLetterOf(stream: string, { row, refusal }: RefusedRow): DeadLetter {
  const { entryId, deliveries, event } = row;
  return { ...refusal, stage: 'sql', stream, entryId, deliveries, raw: event.raw };
}

/** Why a lane is not green, in words that an operator can act on. */
export interface LaneHealth {
  readonly state: 'green' | 'yellow' | 'red';
  readonly reasons: readonly string[];
}
