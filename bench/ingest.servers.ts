import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { EventWriter } from '../src/actors/sink/event-writer.ts';
import { decodeEnvelope, isRefusal } from '../src/protocols/envelope.ts';
import { appendArguments, type Envelope, streamFor } from '../src/protocols/event-producer.ts';
import type { EventRow } from '../src/protocols/ingest.ts';
import { wallClockNs } from '../src/protocols/wall-clock.ts';
import { startPostgres } from '../src/servers/postgres.ts';
import { startRedis } from '../src/servers/redis.ts';
import { EventLoad } from '../test/ingest/load.ts';
import { Random } from '../test/ingest/random.ts';
import { sinkSettings } from '../test/ingest/settings.ts';

/** Servers of the benchmark's own, with the settings that the program starts them with, and what to fill them with. */
export interface Servers {
  readonly folder: string;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly redis: Redis;
  readonly client: pg.Client;
  /** Seconds of processor time that the servers have used so far, all their processes together. */
  used(): { readonly postgres: number; readonly redis: number };
}

export interface Made {
  readonly connection: string;
  readonly envelope: Envelope;
}

export function makeEvents(count: number, seed: number, connections = 4): Made[] {
  const loads = Array.from({ length: connections }, (_, n) => {
    const connection = `connection-${n}`;
    return { connection, load: new EventLoad(new Random(seed + n), connection, wallClockNs) };
  });
  return Array.from({ length: count }, (_, at) => {
    const { connection, load } = loads[at % connections]!;
    return { connection, envelope: load.next() };
  });
}

export function rowsOf(made: readonly Made[]): EventRow[] {
  return made.map(({ envelope }, at) => {
    const event = decodeEnvelope(envelope.bytes);
    if (isRefusal(event)) throw new Error(event.reason);
    return { event, entryId: `${at + 1}-0`, tsKernel: wallClockNs(), deliveries: 1 };
  });
}

/** Appends all, and waits until Redis has finished what that set off. */
export async function append(redis: Redis, streams: readonly string[], made: readonly Made[]): Promise<void> {
  for (let at = 0; at < made.length; at += 2_000) {
    const pipeline = redis.pipeline();
    for (const { connection, envelope } of made.slice(at, at + 2_000)) {
      pipeline.xadd(...appendArguments(streamFor(streams, connection), envelope));
    }
    await pipeline.exec();
  }
  while (/aof_rewrite_(in_progress|scheduled):1/.test(await redis.info('persistence'))) await sleep(50);
}

export async function emptied({ client, redis }: Servers): Promise<void> {
  await client.query('TRUNCATE events');
  await client.query('CHECKPOINT');
  await redis.flushall();
}

export async function withServers(work: (servers: Servers) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeworks-bench-'));
  chmodSync(folder, 0o755);
  const postgres = await startPostgres({ folder: join(folder, 'postgres') });
  const redisServer = await startRedis({ folder: join(folder, 'redis'), cache: '.tapeworks/cache' });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const redis = new Redis(redisServer.url, { protocol: 2 });
  const writer = openWriter(postgres.url);
  const used = () => ({ postgres: cpuSeconds(postgres.process.pid), redis: cpuSeconds(redisServer.process.pid) });
  try {
    await writer.prepare();
    await work({ folder, postgresUrl: postgres.url, redisUrl: redisServer.url, redis, client, used });
  } finally {
    await writer.close();
    redis.disconnect();
    await client.end();
    await redisServer.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function openWriter(url: string): EventWriter {
  return new EventWriter({
    ...{ url, connectTimeoutMs: 3_000, settings: sinkSettings() },
    reached: () => undefined,
    warn: () => undefined,
  });
}

const TICKS_A_SECOND = 100;

/** Of a process and its children, those that have ended included. */
function cpuSeconds(pid: number): number {
  let ticks = 0;
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const fields = statOf(name);
    if (Number(name) === pid) ticks += fields.slice(11, 15).reduce((sum, field) => sum + field, 0);
    else if (fields[1] === pid) ticks += fields[11]! + fields[12]!;
  }
  return ticks / TICKS_A_SECOND;
}

/** The numbers of /proc/PID/stat from the third field on: state, parent ... user, system and the children's time. */
function statOf(pid: string): number[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return [];
  }
}
