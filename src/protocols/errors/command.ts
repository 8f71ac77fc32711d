import type { ErrorEntry } from './index.ts';

export const COMMAND_ERRORS = {
  TW_UNKNOWN_COMMAND: {
    means: 'The command line names a command or an option that does not exist.',
    remedy: 'Run `tapeworks help` for the list.',
  },
  TW_BAD_USAGE: {
    means: 'A command was called with arguments that do not fit it.',
    remedy: 'Run `tapeworks help COMMAND` for its arguments and examples.',
  },
} as const satisfies Record<string, ErrorEntry>;
