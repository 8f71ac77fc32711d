import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { RedisStream } from '../../src/actors/kernel-ingest/redis-stream.ts';
import { QUARANTINE } from '../../src/actors/spill/damage-notes.ts';
import { spillFolder } from '../../src/actors/spill/yard.ts';
import type { StreamFacts } from '../../src/protocols/ingest-snapshot.ts';
import { uuidToUlid } from '../../src/protocols/ulid.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { type EmbeddedRedis, startRedis } from '../../src/servers/redis.ts';
import { SOURCE } from '../ingest/load.ts';
import type { Random } from '../ingest/random.ts';
import { KernelProcess } from './kernel.ts';
import { Oracle } from './oracle.ts';
import { Producer } from './producer.ts';

export const STREAMS = ['events:0', 'events:1'] as const;
const DRAIN_MS = 120_000;

/** A backend may have ended by itself since it was listed. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

/** Real servers, a producer with a journal, a kernel to kill, and the judge. */
export class World {
  readonly folder: string;
  readonly spillFolder: string;
  /** The stream of the dead letters. */
  readonly deadLetters: string;
  postgres: EmbeddedPostgres;
  redis: EmbeddedRedis;
  readonly producer: Producer;
  readonly kernel: KernelProcess;
  readonly oracle: Oracle;
  client: Redis;

  private constructor(
    folder: string,
    postgres: EmbeddedPostgres,
    redis: EmbeddedRedis,
    random: Random,
    deadLetters: string,
  ) {
    this.deadLetters = deadLetters;
    this.folder = folder;
    this.spillFolder = join(folder, 'spill');
    this.postgres = postgres;
    this.redis = redis;
    this.client = this.#connect();
    this.producer = new Producer(redis.url, STREAMS, random);
    const base = { redisUrl: redis.url, postgresUrl: postgres.url, spillFolder: this.spillFolder, streams: STREAMS };
    this.kernel = new KernelProcess(base, folder);
    this.oracle = new Oracle(this);
  }

  static async open(random: Random, deadLetters = 'dlq'): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'tapeworks-chaos-'));
    chmodSync(folder, 0o755);
    const postgres = await startPostgres({ folder: join(folder, 'postgres') });
    const redis = await startRedis({ folder: join(folder, 'redis'), cache: '.tapeworks/cache' });
    return new World(folder, postgres, redis, random, deadLetters);
  }

  #connect(): Redis {
    const client = new Redis(this.redis.url, { protocol: 2 });
    client.on('error', () => undefined);
    return client;
  }

  async close(): Promise<void> {
    await this.producer.pause();
    this.producer.close();
    if (this.kernel.running) await this.kernel.kill();
    this.client.disconnect();
    await this.redis.stop();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Brings back what a fault left out because it did not come to its end. */
  async recover(): Promise<void> {
    if (!this.redis.process.running) await this.restartRedis();
    this.redis.process.signal('SIGCONT');
    if (!this.postgres.process.running) await this.restartPostgres();
    signalAll(this.postgresPids(), 'SIGCONT');
    await this.producer.pause();
    if (!this.kernel.running) await this.kernel.start();
    await this.drained();
  }

  /** Starts a stopped server where it was, so that everyone finds it again. */
  async restartPostgres(): Promise<void> {
    this.postgres = await startPostgres({
      folder: join(this.folder, 'postgres'),
      port: Number(new URL(this.postgres.url).port),
    });
  }

  async restartRedis(): Promise<void> {
    this.redis = await startRedis({
      folder: join(this.folder, 'redis'),
      cache: '.tapeworks/cache',
      port: Number(new URL(this.redis.url).port),
    });
  }

  /** Postgres and all its backends, as processes to freeze. */
  postgresPids(): readonly number[] {
    const parent = this.postgres.process.pid;
    const children = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .filter((name) => {
        try {
          const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
          return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent;
        } catch {
          return false;
        }
      })
      .map(Number);
    return [parent, ...children];
  }

  async connect(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: this.postgres.url });
    await client.connect();
    return client;
  }

  async query<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    const client = await this.connect();
    try {
      return (await client.query<R>(sql)).rows;
    } finally {
      await client.end();
    }
  }

  spilledFiles(): readonly string[] {
    return STREAMS.flatMap((stream) => {
      const folder = spillFolder(this.spillFolder, stream);
      if (!existsSync(folder)) return [];
      return readdirSync(folder)
        .filter((name) => /\.(open|seg)$/.test(name))
        .map((name) => join(folder, name));
    });
  }

  /** Notes of damage whose records are still to be looked for in Redis. */
  #openDamage(): number {
    return STREAMS.reduce((sum, stream) => {
      const folder = join(spillFolder(this.spillFolder, stream), QUARANTINE);
      return (
        sum + (existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.pending.json')).length : 0)
      );
    }, 0);
  }

  async until(what: string, condition: () => boolean | Promise<boolean>, withinMs = DRAIN_MS): Promise<void> {
    const deadline = performance.now() + withinMs;
    while (!(await condition())) {
      if (performance.now() > deadline)
        throw new Error(`not within ${withinMs} ms: ${what}\n${this.kernel.log.slice(-3_000)}`);
      await sleep(20);
    }
  }

  /** What Redis knows of each stream; throws where a group is missing. */
  async facts(): Promise<readonly StreamFacts[]> {
    const found: StreamFacts[] = [];
    for (const stream of STREAMS) {
      const commands = new RedisStream({
        ...{ url: this.redis.url, stream, group: 'kernel', consumer: 'judge', deadLetterStream: this.deadLetters },
        ...{ blockMs: 100, connectTimeoutMs: 3_000 },
      });
      try {
        await commands.ready();
        found.push(await commands.facts());
      } finally {
        commands.close();
      }
    }
    return found;
  }

  async hasGroups(): Promise<boolean> {
    const groups = await Promise.all(
      STREAMS.map((stream) => this.client.xinfo('GROUPS', stream).catch(() => []) as Promise<unknown[]>),
    );
    return groups.every((found) => found.length > 0);
  }

  /** Everything that is still on its way. What cannot be told counts as something. */
  async pending(): Promise<number> {
    const facts = await this.facts().catch(() => undefined);
    if (facts === undefined) return 1;
    const waiting = facts.reduce((sum, { pending, lag = 1 }) => sum + pending + lag, 0);
    return waiting + this.spilledFiles().length + this.#openDamage();
  }

  /** Waits until nothing is on its way any more. */
  async drained(): Promise<void> {
    await this.until('everything drained', async () => (await this.pending()) === 0);
  }

  /** How many of the producer's events are stored. */
  async storedCount(): Promise<number> {
    const [found] = await this.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM events WHERE source = '${SOURCE}'`,
    ).catch(() => []);
    return found?.n ?? 0;
  }

  async storedIds(): Promise<ReadonlySet<string>> {
    return new Set(
      (await this.query<{ id: string }>(`SELECT id FROM events WHERE source = '${SOURCE}'`)).map(({ id }) =>
        uuidToUlid(id),
      ),
    );
  }
}
