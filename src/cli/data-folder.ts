// Which servers and folders a command works on when nobody says: those that the configuration in this folder names.
import { join } from 'node:path';
import { TapeworksError } from '../protocols/errors/index.ts';
import { embeddedPostgresUrl } from '../servers/postgres.ts';
import { embeddedRedisUrl } from '../servers/redis.ts';
import type { OptionSpec } from './command.ts';
import { CONFIG_FOLDER, usualConfiguration } from './configuration.ts';
import { placesOf } from './preflight.ts';
import { serverUrl } from './server-url.ts';

const DATA_FOLDER = '.tapeworks';

export const DATA_OPTION = {
  type: 'string',
  value: 'FOLDER',
  about: `data folder, whose embedded servers are asked (that of ${CONFIG_FOLDER}/kernel.yaml, else ${DATA_FOLDER})`,
  offers: 'folder',
} as const satisfies OptionSpec;

export const DATABASE_OPTION = {
  type: 'string',
  value: 'URL',
  about: `where the bars are stored (DATABASE_URL, else what ${CONFIG_FOLDER}/kernel.yaml names)`,
} as const satisfies OptionSpec;

/** The folder given, else that of the configuration. */
async function dataFolder(given: string | undefined, configuration?: string): Promise<string> {
  if (given !== undefined) return given;
  const config = await usualConfiguration(configuration);
  return config === undefined ? DATA_FOLDER : config.kernel.data;
}

/** The spill of the data folder given, else that of the configuration. */
export async function spillFolder(given: string | undefined): Promise<string> {
  const config = given === undefined ? await usualConfiguration() : undefined;
  return config === undefined ? join(given ?? DATA_FOLDER, 'spill') : placesOf(config).spill;
}

/** The database named, else the one of DATABASE_URL or kernel.yaml, else the embedded one while it runs. */
export async function databaseUrl(data: string | undefined, named?: string, configuration?: string): Promise<string> {
  const folder = await dataFolder(data, configuration);
  const url =
    named ?? (await ownServer('DATABASE_URL', data, configuration)) ?? embeddedPostgresUrl(join(folder, 'postgres'));
  if (url !== undefined && url !== '') return url;
  const text = `DATABASE_URL is not set and no embedded Postgres runs in ${folder}; \`tapeworks up\` starts one`;
  throw new TapeworksError('TW_SERVER_UNREACHABLE', text);
}

/** The Redis of REDIS_URL or kernel.yaml, else the embedded one of the data folder. */
export async function redisUrl(data: string | undefined): Promise<string> {
  const folder = await dataFolder(data);
  const url = (await ownServer('REDIS_URL', data)) ?? embeddedRedisUrl(join(folder, 'redis'));
  if (url !== undefined) return url;
  const text = `REDIS_URL is not set and there is no embedded Redis in ${folder}; \`tapeworks up\` starts one`;
  throw new TapeworksError('TW_SERVER_UNREACHABLE', text);
}

/** A data folder that is named means its embedded servers, whatever the configuration says of others. */
async function ownServer(variable: 'DATABASE_URL' | 'REDIS_URL', data: string | undefined, configuration?: string) {
  const config = data === undefined ? await usualConfiguration(configuration) : undefined;
  const { postgres, redis } = config?.kernel.servers ?? { postgres: EMBEDDED, redis: EMBEDDED };
  return serverUrl(variable, variable === 'DATABASE_URL' ? postgres : redis);
}

const EMBEDDED = { url: 'embedded' } as const;
