import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { RedisStream } from '../../src/actors/kernel-ingest/redis-stream.ts';
import { QUARANTINE } from '../../src/actors/spill/damage-notes.ts';
import { spillFolder } from '../../src/actors/spill/yard.ts';
import { parseDeadLetter } from '../../src/protocols/dead-letter.ts';
import { ledgerOf } from '../../src/protocols/ingest-snapshot.ts';
import { uuidToUlid } from '../../src/protocols/ulid.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { type EmbeddedRedis, startRedis } from '../../src/servers/redis.ts';
import type { Random } from '../ingest/random.ts';
import { KernelProcess } from './kernel.ts';
import { canonical, digest, Producer } from './producer.ts';

export const STREAMS = ['events:0', 'events:1'] as const;
const DRAIN_MS = 120_000;

/** What the oracle finds wrong; all 0 when nothing acknowledged was lost, doubled, invented or spoiled. */
export interface Verdict {
  readonly missing: number;
  readonly duplicate: number;
  readonly spurious: number;
  readonly corrupt: number;
  readonly dlq_gap: number;
  readonly balance: number;
  readonly pending: number;
}

export const FLAWLESS: Verdict = {
  missing: 0,
  duplicate: 0,
  spurious: 0,
  corrupt: 0,
  dlq_gap: 0,
  balance: 0,
  pending: 0,
};

/** Real servers, a producer with a journal, a kernel to kill, and the judge. */
export class World {
  readonly folder: string;
  readonly spillFolder: string;
  postgres: EmbeddedPostgres;
  redis: EmbeddedRedis;
  readonly producer: Producer;
  readonly kernel: KernelProcess;
  client: Redis;
  /** Entries that only a group of Redis itself forgot are counted anew after a flush. */
  balanced = true;

  private constructor(folder: string, postgres: EmbeddedPostgres, redis: EmbeddedRedis, random: Random) {
    this.folder = folder;
    this.spillFolder = join(folder, 'spill');
    this.postgres = postgres;
    this.redis = redis;
    this.client = this.#connect();
    this.producer = new Producer(redis.url, STREAMS, random);
    const base = { redisUrl: redis.url, postgresUrl: postgres.url, spillFolder: this.spillFolder, streams: STREAMS };
    this.kernel = new KernelProcess(base, folder);
  }

  static async open(random: Random): Promise<World> {
    const folder = mkdtempSync(join(tmpdir(), 'tapeworks-chaos-'));
    chmodSync(folder, 0o755);
    const postgres = await startPostgres({ folder: join(folder, 'postgres') });
    const redis = await startRedis({ folder: join(folder, 'redis'), cache: '.tapeworks/cache' });
    return new World(folder, postgres, redis, random);
  }

  #connect(): Redis {
    const client = new Redis(this.redis.url, { protocol: 2 });
    client.on('error', () => undefined);
    return client;
  }

  async close(): Promise<void> {
    await this.producer.stop();
    this.producer.close();
    if (this.kernel.running) await this.kernel.kill();
    this.client.disconnect();
    await this.redis.stop();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
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

  async query<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    const client = new pg.Client({ connectionString: this.postgres.url });
    await client.connect();
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

  async #facts() {
    const found = [];
    for (const stream of STREAMS) {
      const commands = new RedisStream({
        ...{ url: this.redis.url, stream, group: 'kernel', consumer: 'judge', deadLetterStream: 'dlq' },
        ...{ blockMs: 100, connectTimeoutMs: 3_000 },
      });
      try {
        await commands.ensureGroup();
        found.push(await commands.facts());
      } finally {
        commands.close();
      }
    }
    return found;
  }

  async #pending(): Promise<number> {
    const facts = await this.#facts();
    const waiting = facts.reduce((sum, { pending, lag }) => sum + pending + (lag ?? 0), 0);
    return waiting + this.spilledFiles().length + this.#openDamage();
  }

  /** Waits until nothing is on its way any more. */
  async drained(): Promise<void> {
    await this.until('everything drained', async () => (await this.#pending()) === 0);
  }

  async storedIds(): Promise<ReadonlySet<string>> {
    return new Set((await this.query<{ id: string }>('SELECT id FROM events')).map(({ id }) => uuidToUlid(id)));
  }

  async judge(): Promise<Verdict> {
    const rows = await this.query<{ id: string; payload: unknown }>('SELECT id, payload FROM events');
    const { good, bad } = this.producer;
    const stored = new Map(rows.map(({ id, payload }) => [uuidToUlid(id), payload]));
    const missing = [...good].filter(([id, record]) => record.acked && !stored.has(id));
    const spurious = [...stored.keys()].filter((id) => !good.has(id));
    const corrupt = [...stored].filter(
      ([id, payload]) => good.has(id) && good.get(id)!.payload !== digest(canonical(payload)),
    );
    const letters = await this.#letters();
    const gaps = bad.filter(({ stream, entryId, code }) => letters.get(`${stream}/${entryId}`) !== code);
    const facts = await this.#facts();
    const balance = facts.reduce((sum, found) => {
      const ledger = ledgerOf({ facts: found, spill: { records: 0, bytes: 0, segments: 0 } });
      return sum + Math.abs(ledger?.balance ?? 0);
    }, 0);
    return {
      missing: missing.length,
      duplicate: rows.length - stored.size,
      spurious: spurious.length,
      corrupt: corrupt.length,
      dlq_gap: gaps.length,
      balance: this.balanced ? balance : 0,
      pending: await this.#pending(),
    };
  }

  async #letters(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    let from = '-';
    for (;;) {
      const entries = await this.client.xrangeBuffer('dlq', from, '+', 'COUNT', 1_000);
      if (entries.length === 0) return found;
      for (const [, fields] of entries) {
        const letter = parseDeadLetter(fields);
        if (letter !== undefined) found.set(`${letter.stream}/${letter.entryId}`, letter.code);
      }
      from = `(${entries.at(-1)![0].toString()}`;
    }
  }
}
