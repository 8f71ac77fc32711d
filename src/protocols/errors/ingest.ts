import type { ErrorEntry } from './index.ts';

export const INGEST_ERRORS = {
  TW_POSTGRES_UNAVAILABLE: {
    means: 'No Postgres server binary can be run here, so nothing can be stored.',
    remedy: 'Set DATABASE_URL to a Postgres of your own, or reinstall with the optional dependencies.',
  },
  TW_POSTGRES_DATA_VERSION: {
    means: 'The embedded data folder was written by another major version of Postgres, or its password file is gone.',
    remedy: 'Move the folder aside and start again, or start with --reset to erase it.',
  },
  TW_REDIS_UNAVAILABLE: {
    means: 'No Redis server can be had here. Order books and K-lines run, ingest is down.',
    remedy: 'Set REDIS_URL to a Redis 7.0 or newer, or install redis-server.',
  },
  TW_SERVER_START_FAILED: {
    means: 'An embedded server was started and ended, or did not answer in time.',
    remedy: 'Read the end of its log in the message; free the port or the disk it names, then start again.',
  },
  TW_SERVER_IN_USE: {
    means: 'The data folder of an embedded server belongs to another running process.',
    remedy: 'Stop that process, or give this one a data folder of its own.',
  },
  TW_NO_DEAD_LETTER: {
    means: 'No dead letter has the given id.',
    remedy: 'List them with `tapeworks dlq list`; --box names another dead-letter stream.',
  },
  TW_MIGRATION_CHANGED: {
    means: 'A migration file differs from the one that was applied to this database.',
    remedy: 'Run the release that matches the database; a change to the tables needs a new migration file.',
  },
  TW_SPILL_FULL: {
    means: 'The spill has reached its quota or its disk is full. Reading from Redis stops; nothing is acknowledged.',
    remedy: 'Bring Postgres back, or give the spill more room: spill.maxBytes, or space on its disk.',
  },
  TW_SPILL_BROKEN: {
    means: 'The spill folder cannot be written. Reading from Redis stops; nothing is acknowledged.',
    remedy: 'Check the disk and the permissions of the spill folder named in the message.',
  },
  TW_SPILL_DAMAGED: {
    means: 'Segments were damaged on the disk. What Redis still had was fetched again; the message says what is gone.',
    remedy: 'Look with `tapeworks spill verify`, then acknowledge with `tapeworks spill verify --acknowledge`.',
  },
  TW_SPILL_UNSTORABLE: {
    means: 'A spilled record cannot be stored by hand: this version does not accept it, or Postgres refuses it.',
    remedy: 'Start the kernel: it makes a dead letter of that record and stores the others. Nothing was erased.',
  },
  TW_SPILL_IN_USE: {
    means: 'The spill folder belongs to another running kernel.',
    remedy: 'Stop that kernel, or give this one a spill folder of its own.',
  },
} as const satisfies Record<string, ErrorEntry>;
