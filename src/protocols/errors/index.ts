import { COMMAND_ERRORS } from './command.ts';
import { CONFIG_ERRORS } from './config.ts';
import { CONSOLE_ERRORS } from './console.ts';
import { DOCTOR_ERRORS } from './doctor.ts';
import { INGEST_ERRORS } from './ingest.ts';
import { KLINE_ERRORS } from './kline.ts';
import { RUNTIME_ERRORS } from './runtime.ts';
import { VENUE_ERRORS } from './venue.ts';

/** One row of the error table: what the code means, and what the reader should do about it. */
export interface ErrorEntry {
  readonly means: string;
  readonly remedy: string;
}

/** Every coded error of the program, by area. `docs/errors.md` is made from this table. */
export const ERROR_TABLE = {
  runtime: RUNTIME_ERRORS,
  config: CONFIG_ERRORS,
  venue: VENUE_ERRORS,
  ingest: INGEST_ERRORS,
  kline: KLINE_ERRORS,
  console: CONSOLE_ERRORS,
  command: COMMAND_ERRORS,
  doctor: DOCTOR_ERRORS,
} as const;

const ALL_ERRORS = {
  ...RUNTIME_ERRORS,
  ...CONFIG_ERRORS,
  ...VENUE_ERRORS,
  ...INGEST_ERRORS,
  ...KLINE_ERRORS,
  ...CONSOLE_ERRORS,
  ...COMMAND_ERRORS,
  ...DOCTOR_ERRORS,
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ALL_ERRORS;

/** What to do about an error with this code. */
export function remedyFor(code: ErrorCode): string {
  return ALL_ERRORS[code].remedy;
}

/** An error with a code from the table. `message` says what happened and where; `remedy` says what to do. */
export class TapeworksError extends Error {
  override readonly name = 'TapeworksError';
  readonly code: ErrorCode;
  readonly remedy: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: ErrorCode, message: string, details: Record<string, unknown> = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.remedy = remedyFor(code);
    this.details = details;
  }
}

/** Asserts what must hold by construction; a failure is a defect of the program, never of its input. */
export function invariant(condition: unknown, what: string, details: Record<string, unknown> = {}): asserts condition {
  if (!condition) throw new TapeworksError('TW_INVARIANT', `invariant broken: ${what}`, details);
}

/** What was thrown, as an Error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(`threw ${typeof thrown}: ${String(thrown).slice(0, 200)}`);
}
