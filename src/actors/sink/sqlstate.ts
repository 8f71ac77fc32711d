/**
 * What a failed write calls for.
 *
 * - `outage`: the server is gone, going, full or silent. Try once more, then spill.
 * - `contention`: another transaction was in the way. Wait a little, try again.
 * - `schema`: the tables are not what we expect. No row is to blame: turn red and spill.
 * - `data`: a row is to blame. Find it.
 */
export type FailureClass = 'outage' | 'contention' | 'schema' | 'data';

export interface WriteFailure {
  readonly class: FailureClass;
  /** The server did not answer in time: whether it committed is unknown. */
  readonly timedOut: boolean;
  readonly reason: string;
}

/** Thrown by the writer when its own deadline passes. */
export class WriteTimeout extends Error {
  override readonly name = 'WriteTimeout';
}

const CONTENTION = new Set(['40001', '40P01', '55P03']);
const DATA = new Set(['23502', '23514', '54000', '54001']);

export function classifyFailure(error: unknown): WriteFailure {
  const { code, message } = error as { code?: string; message?: string };
  const state = typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
  const reason = state === undefined ? String(message ?? error) : `SQLSTATE ${state}: ${message}`;
  return { class: classOf(state), timedOut: error instanceof WriteTimeout || state === '57014', reason };
}

function classOf(state: string | undefined): FailureClass {
  if (state === undefined) return 'outage';
  if (CONTENTION.has(state)) return 'contention';
  if (state.startsWith('22') || DATA.has(state)) return 'data';
  if (state.startsWith('42') || state.startsWith('3F')) return 'schema';
  return 'outage';
}

export const UNIQUE_VIOLATION = '23505';
