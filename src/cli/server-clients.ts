// Connections of commands to Postgres and Redis. A server that is frozen is given up, not waited for: who asks has no time.
import { Redis } from 'ioredis';
import pg from 'pg';
import { TapeworksError } from '../protocols/errors/index.ts';
import { within } from '../supervision/deadline.ts';
import { reasonOf } from './failure.ts';

const CONNECT_MS = 5_000;
const ANSWER_MS = 30_000;

export async function connectPostgres(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    ...{ connectionString: url, options: '-c timezone=UTC' },
    ...{ connectionTimeoutMillis: CONNECT_MS, query_timeout: ANSWER_MS },
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    throw keptOut('Postgres', error);
  }
  return client;
}

function keptOut(server: string, cause: unknown): TapeworksError {
  return new TapeworksError('TW_SERVER_UNREACHABLE', `${server} does not let us in: ${reasonOf(cause)}`, {}, { cause });
}

/** Lets go of a server that may not answer any more. */
export async function leavePostgres(client: pg.Client): Promise<void> {
  await within(
    CONNECT_MS,
    client.end().catch(() => undefined),
  );
}

export async function connectRedis(url: string): Promise<Redis> {
  const redis = new Redis(url, {
    ...{ protocol: 2, lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null },
    ...{ connectTimeout: CONNECT_MS, commandTimeout: CONNECT_MS },
  });
  // What went wrong comes as an event; the promise only says that the connection is closed.
  let cause: unknown;
  redis.on('error', (error) => {
    cause = error;
  });
  try {
    await redis.connect();
    return redis;
  } catch (error) {
    redis.disconnect();
    throw keptOut('Redis', cause ?? error);
  }
}
