import { CHILD_VARIABLE } from '../program/child-process.ts';
import type { ErrorCode, TapeworksError } from '../protocols/errors/index.ts';
import { EXIT } from './command.ts';

/** Codes that do not simply mean "failed" to a script. */
const EXIT_OF: Partial<Record<ErrorCode, number>> = {
  TW_UNKNOWN_COMMAND: EXIT.usage,
  TW_BAD_USAGE: EXIT.usage,
  TW_CONTROL_UNREACHABLE: EXIT.unavailable,
  TW_CONSOLE_UNREACHABLE: EXIT.unavailable,
  TW_SERVER_UNREACHABLE: EXIT.unavailable,
};

/** Why something failed, in the words of the cause; some libraries leave the message empty. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message !== '' ? error.message : (code ?? error.name);
}

/** Says what went wrong and what to do, for people on stderr or for programs on stdout; the answer is the exit code. */
export function reportError(error: TapeworksError, json: boolean): number {
  const { code, message, remedy } = error;
  // What a command of ours says to the command that started it is read there as last words, not as a first result.
  const isChild = process.env[CHILD_VARIABLE] !== undefined;
  if (json && !isChild) process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message, remedy } })}\n`);
  else process.stderr.write(`${code}: ${message}\n  ${remedy}\n`);
  return EXIT_OF[code] ?? EXIT.failed;
}
