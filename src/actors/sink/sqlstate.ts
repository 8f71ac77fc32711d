import { TapeworksError } from '../../protocols/errors/index.ts';

/**
 * What a failed write calls for.
 *
 * - `outage`: the server is gone, going, full or silent. Try once more, then spill.
 * - `contention`: another transaction was in the way. Wait a little, try again.
 * - `schema`: the tables, or our rights on them, are not what we expect. No row is to blame: turn red and spill.
 * - `data`: a row is to blame. Find it.
 */
export type FailureClass = 'outage' | 'contention' | 'schema' | 'data';

export interface WriteFailure {
  readonly class: FailureClass;
  /** The server did not answer in time: whether it committed is unknown. */
  readonly timedOut: boolean;
  readonly reason: string;
}

/** Why a lane is not flowing: the server is out, or it is there and does not take what we write. */
export type Fault = 'outage' | 'schema';

export const faultOf = (failure: WriteFailure): Fault => (failure.class === 'schema' ? 'schema' : 'outage');

/** Thrown by the writer when its own deadline passes. */
export class WriteTimeout extends Error {
  override readonly name = 'WriteTimeout';
}

/** Tables, columns or rights that are not there (42), a schema (3F), a database (3D), a password or role (28). */
const NOT_OURS = /^(42|3F|3D|28)/;
const CONTENTION = new Set(['40001', '40P01', '55P03']);
/** A value (22), a constraint (23), what a trigger raises (P0), a row that is too large (54000, 54001). */
const DATA = /^(22|23|P0|5400[01])/;

export function classifyFailure(error: unknown): WriteFailure {
  const { code, message } = error as { code?: string; message?: string };
  const state = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
  // Our own refusals are about the tables, such as a migration that was changed.
  const isOurs = error instanceof TapeworksError;
  const told = state === undefined ? String(message ?? error) : `SQLSTATE ${state}: ${message}`;
  const reason = isOurs ? `${code}: ${message}` : told;
  const failure = isOurs ? 'schema' : classOf(state);
  return { class: failure, timedOut: error instanceof WriteTimeout || state === '57014', reason };
}

function classOf(state: string | undefined): FailureClass {
  if (state === undefined) return 'outage';
  if (CONTENTION.has(state)) return 'contention';
  if (DATA.test(state)) return 'data';
  if (NOT_OURS.test(state)) return 'schema';
  return 'outage';
}

export const UNIQUE_VIOLATION = '23505';
export const DUPLICATE_TABLE = '42P07';
