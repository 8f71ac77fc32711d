import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import pg from 'pg';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { embeddedPostgresUrl } from '../../servers/postgres.ts';
import { findPostgres } from '../../servers/postgres-binaries.ts';
import { embeddedRedisUrl } from '../../servers/redis.ts';
import { installedRedis } from '../../servers/redis-binaries.ts';
import { reasonOf } from '../failure.ts';
import { connectRedis } from '../server-clients.ts';
import type { Answer, ClockReading, PostgresFacts, RedisFacts } from './judge-servers.ts';

const PATIENCE_MS = 3_000;

export interface ServerPlace {
  /** The data folder. */
  readonly data: string;
  /** The user's own server, where one is named. */
  readonly url: string | undefined;
  /** Whether the program runs here now, with the embedded servers. */
  readonly isRunning: boolean;
}

export async function probeRedis({ data, url, isRunning }: ServerPlace): Promise<Answer<RedisFacts>> {
  const at = url ?? (isRunning ? embeddedRedisUrl(join(data, 'redis')) : undefined);
  if (at === undefined) {
    const canFetch = spawnSync('apt-get', ['--version']).status === 0 && spawnSync('dpkg', ['--version']).status === 0;
    return { state: 'embedded', version: installedRedis(join(data, 'cache'))?.version, canFetch };
  }
  let client: Redis | undefined;
  try {
    client = await connectRedis(at);
    return { state: 'answers', where: whereOf(at), facts: await redisFacts(client) };
  } catch (error) {
    const cause = error instanceof TapeworksError ? error.cause : error;
    return { state: 'silent', where: whereOf(at), reason: reasonOf(cause) };
  } finally {
    client?.disconnect();
  }
}

async function redisFacts(client: Redis): Promise<RedisFacts> {
  const info = await client.info();
  const field = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const names = ['appendonly', 'appendfsync', 'maxmemory-policy', 'maxmemory'] as const;
  const pairs = await client.config('GET', ...names).then(
    (answer) => answer as string[],
    () => undefined,
  );
  const settings = pairs && Object.fromEntries(names.map((name) => [name, pairs[pairs.indexOf(name) + 1] ?? '?']));
  const clock = await readClock(async () => {
    const [seconds, micros] = await client.time();
    return Number(seconds) * 1000 + Number(micros) / 1000;
  });
  const lastWriteStatus = field('aof_last_write_status') || 'ok';
  return { version: field('redis_version'), settings, role: field('role'), lastWriteStatus, clock };
}

export async function probePostgres({ data, url, isRunning }: ServerPlace): Promise<Answer<PostgresFacts>> {
  const at = url ?? (isRunning ? embeddedPostgresUrl(join(data, 'postgres')) : undefined);
  if (at === undefined) {
    return { state: 'embedded', version: findPostgres(undefined, '')?.version, canFetch: false };
  }
  const timeouts = { connectionTimeoutMillis: PATIENCE_MS, query_timeout: PATIENCE_MS };
  const client = new pg.Client({ connectionString: at, application_name: 'tapeworks doctor', ...timeouts });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return { state: 'answers', where: whereOf(at), facts: await postgresFacts(client) };
  } catch (error) {
    return { state: 'silent', where: whereOf(at), reason: reasonOf(error) };
  } finally {
    await client.end().catch(() => undefined);
  }
}

const QUESTION = `
SELECT current_setting('server_version_num')::int AS "versionNumber",
       pg_is_in_recovery() AS "isStandby",
       has_schema_privilege('public', 'CREATE') AS "mayCreate",
       (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS "connectionsUsed",
       (SELECT json_object_agg(name, setting) FROM pg_settings WHERE name = ANY ($1)) AS settings`;
const SETTINGS = [
  ...['fsync', 'full_page_writes', 'synchronous_commit', 'max_connections', 'default_transaction_read_only'],
];

async function postgresFacts(client: pg.Client): Promise<PostgresFacts> {
  const { rows } = await client.query<Omit<PostgresFacts, 'clock'>>(QUESTION, [SETTINGS]);
  const clock = await readClock(async () => {
    const answer = await client.query<{ ms: number }>(
      'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
    );
    return answer.rows[0]!.ms;
  });
  return { ...rows[0]!, clock };
}

/** Never with the password. */
function whereOf(url: string): string {
  if (!URL.canParse(url)) return 'an address that is no URL';
  const { host, pathname } = new URL(url);
  return pathname.length > 1 ? `${host}${pathname}` : host;
}

/** Asks three times and keeps the answer that came soonest: it is the surest. */
async function readClock(ask: () => Promise<number>): Promise<ClockReading> {
  let best: ClockReading | undefined;
  for (let question = 0; question < 3; question++) {
    const before = Date.now();
    const started = performance.now();
    const theirs = await ask();
    const tookMs = performance.now() - started;
    // Date.now() is cut to whole milliseconds.
    const reading = { offsetMs: theirs - (before + tookMs / 2), uncertaintyMs: tookMs / 2 + 1 };
    if (best === undefined || reading.uncertaintyMs < best.uncertaintyMs) best = reading;
  }
  return best!;
}
