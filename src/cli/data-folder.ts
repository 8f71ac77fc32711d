import { join } from 'node:path';
import { TapeworksError } from '../protocols/errors/index.ts';
import { embeddedPostgresUrl } from '../servers/postgres.ts';
import { embeddedRedisUrl } from '../servers/redis.ts';
import type { OptionSpec } from './command.ts';

export const DATA_FOLDER = '.tapeworks';

export const DATA_OPTION = {
  type: 'string',
  value: 'FOLDER',
  default: DATA_FOLDER,
  about: 'data folder of the embedded servers',
  offers: 'folder',
} as const satisfies OptionSpec;

/** The database that a command works on: the one named, else DATABASE_URL's, else the embedded one while it runs. */
export function databaseUrl(folder: string, named?: string): string {
  const url = named ?? process.env['DATABASE_URL'] ?? embeddedPostgresUrl(join(folder, 'postgres'));
  if (url !== undefined && url !== '') return url;
  const text = `DATABASE_URL is not set and no embedded Postgres runs in ${folder}; \`tapeworks up\` starts one`;
  throw new TapeworksError('TW_SERVER_UNREACHABLE', text);
}

/** The Redis that a command works on: REDIS_URL's, else the embedded one of the data folder. */
export function redisUrl(folder: string): string {
  const url = process.env['REDIS_URL'] ?? embeddedRedisUrl(join(folder, 'redis'));
  if (url !== undefined && url !== '') return url;
  const text = `REDIS_URL is not set and there is no embedded Redis in ${folder}; \`tapeworks up\` starts one`;
  throw new TapeworksError('TW_SERVER_UNREACHABLE', text);
}
