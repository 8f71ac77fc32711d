import type { ErrorEntry } from './index.ts';

export const COMMAND_ERRORS = {
  TW_UNKNOWN_COMMAND: {
    means: 'The command line names a command or an option that does not exist.',
    remedy: 'Run `tapeworks help` for the list.',
  },
  TW_START_FAILED: {
    means: 'Not everything that the configuration asks for came up.',
    remedy: 'The message names the actor and why; mend that and start again. Nothing was left running.',
  },
  TW_CHILD_FAILED: {
    means: 'A process that belongs to the program, such as the simulated venues, did not start.',
    remedy: 'The message has its last words; a port in use is the usual cause.',
  },
  TW_BAD_USAGE: {
    means: 'A command was called with arguments that do not fit it.',
    remedy: 'Run `tapeworks help COMMAND` for its arguments and examples.',
  },
  TW_ALREADY_RUNNING: {
    means: 'Another tapeworks works on the same data folder.',
    remedy:
      'See it with `tapeworks status`, or stop it; for a second one set other ports and another `data` in kernel.yaml.',
  },
  TW_DATA_OF_OTHER_VENUES: {
    means: 'The data folder holds what simulated venues made, and the start is for real ones, or the other way round.',
    remedy:
      'Name another data folder, and database, in kernel.yaml for these; or forget what is there with --reset, which leaves servers of your own as they are.',
  },
  TW_UNEXPECTED: {
    means: 'A command met something that it has no word for: a defect of the program.',
    remedy: 'Report it with the lines above.',
  },
  TW_SERVER_UNREACHABLE: {
    means: 'The Postgres or Redis that a command works on is not named, or does not answer.',
    remedy:
      'Start tapeworks, whose embedded servers --data finds, or set DATABASE_URL or REDIS_URL to a server that runs.',
  },
  TW_GRPC_UNREACHABLE: {
    means: 'No gRPC server answers at the address.',
    remedy: 'Check that tapeworks is up; --grpc names its gRPC address, and --ca the authority of its certificate.',
  },
  TW_TOKEN_REFUSED: {
    means: 'The running system wants a token, and got none or a wrong one.',
    remedy: 'Put the content of the file that auth.tokenFile in kernel.yaml names into TAPEWORKS_TOKEN.',
  },
  TW_SERVER_REFUSED: {
    means: 'The Postgres or Redis that a command works on answered, and refused what was asked of it.',
    remedy: 'The message has its words, such as rights or a missing table; `tapeworks doctor` looks at the settings.',
  },
  TW_FILE_UNREADABLE: {
    means: 'A file that the command line or the configuration names is not there, or cannot be read.',
    remedy: 'Check its path, which counts from the folder that the command runs in, and its rights.',
  },
} as const satisfies Record<string, ErrorEntry>;
