import { CHILD_VARIABLE } from '../program/child-process.ts';
import { type ErrorCode, TapeworksError } from '../protocols/errors/index.ts';
import { EXIT } from './command.ts';

/** Codes that do not simply mean "failed" to a script. */
const EXIT_OF: Partial<Record<ErrorCode, number>> = {
  TW_UNKNOWN_COMMAND: EXIT.usage,
  TW_BAD_USAGE: EXIT.usage,
  TW_CONTROL_UNREACHABLE: EXIT.unavailable,
  TW_CONSOLE_UNREACHABLE: EXIT.unavailable,
  TW_GRPC_UNREACHABLE: EXIT.unavailable,
  TW_SERVER_UNREACHABLE: EXIT.unavailable,
  TW_UNEXPECTED: EXIT.internal,
};

/** Why something failed, in the words of the cause; some libraries leave the message empty. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as NodeJS.ErrnoException;
  return error.message !== '' ? error.message : (code ?? error.name);
}

/** Failures of the system that have a code and a remedy of ours, wherever they come from. */
const CODE_OF: Readonly<Record<string, ErrorCode>> = {
  ENOSPC: 'TW_DISK_FULL',
  EDQUOT: 'TW_DISK_FULL',
  EROFS: 'TW_FOLDER_READ_ONLY',
  EACCES: 'TW_FOLDER_READ_ONLY',
  EPERM: 'TW_FOLDER_READ_ONLY',
  EADDRINUSE: 'TW_PORT_TAKEN',
  ENOENT: 'TW_FILE_UNREADABLE',
  EISDIR: 'TW_FILE_UNREADABLE',
  ENOTDIR: 'TW_FILE_UNREADABLE',
  ECONNREFUSED: 'TW_SERVER_UNREACHABLE',
  ECONNRESET: 'TW_SERVER_UNREACHABLE',
};

/** What the clients of Postgres and Redis say when an answer does not come, or no more. */
const NO_ANSWER = /^(Query read timeout|Connection terminated|Command timed out|Connection is closed)/;

/** Errors of the servers' own: those of Postgres have an SQLSTATE, those of Redis a name. */
function serverCode(error: unknown): ErrorCode | undefined {
  if (!(error instanceof Error)) return undefined;
  if (NO_ANSWER.test(error.message)) return 'TW_SERVER_UNREACHABLE';
  const isPostgres = 'severity' in error && /^[0-9A-Z]{5}$/.test((error as NodeJS.ErrnoException).code ?? '');
  return isPostgres || error.name === 'ReplyError' ? 'TW_SERVER_REFUSED' : undefined;
}

/** Anything that was thrown, as a coded error. */
export function codedError(error: unknown): TapeworksError {
  if (error instanceof TapeworksError) return error;
  const code = serverCode(error) ?? CODE_OF[(error as NodeJS.ErrnoException | undefined)?.code ?? ''];
  if (code !== undefined) return new TapeworksError(code, reasonOf(error), {}, { cause: error });
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new TapeworksError('TW_UNEXPECTED', text, {}, { cause: error });
}

/**
 * Says what went wrong and what to do, for people on stderr or for programs on stdout; the answer is the exit code.
 * `command` is the one that was called, where the remedy speaks of it.
 */
export function reportError(error: TapeworksError, json: boolean, command = 'COMMAND'): number {
  const { code, message } = error;
  const remedy = error.remedy.replace('help COMMAND', `help ${command}`);
  // What a command of ours says to the command that started it is read there as last words, not as a first result.
  const isChild = process.env[CHILD_VARIABLE] !== undefined;
  if (json && !isChild) process.stdout.write(`${JSON.stringify({ ok: false, error: { code, message, remedy } })}\n`);
  else process.stderr.write(`${code}: ${message}\n  ${remedy}\n`);
  return EXIT_OF[code] ?? EXIT.failed;
}
