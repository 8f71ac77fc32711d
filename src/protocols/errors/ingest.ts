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
} as const satisfies Record<string, ErrorEntry>;
