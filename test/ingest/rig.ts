import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { IngestPlane, type IngestPlaneOptions } from '../../src/actors/kernel-ingest/plane.ts';
import { migrate, readMigrations } from '../../src/actors/sink/migrate.ts';
import { type DeadLetter, parseDeadLetter } from '../../src/protocols/dead-letter.ts';
import { appendArguments, type Envelope, EventProducer } from '../../src/protocols/event-producer.ts';
import type { LaneCounts } from '../../src/protocols/ingest-snapshot.ts';
import type { KernelIngestSettings, SpillSettings } from '../../src/protocols/topology.ts';
import { wallClockNs } from '../../src/protocols/wall-clock.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { type EmbeddedRedis, startRedis } from '../../src/servers/redis.ts';
import { readerSettings, sinkSettings, spillSettings } from './settings.ts';

export type PlaneMore = Partial<IngestPlaneOptions> & {
  reader?: Partial<KernelIngestSettings>;
  spillMore?: Partial<SpillSettings>;
  stopMs?: number;
};

export const NO_POSTGRES = 'postgres://nobody@127.0.0.1:1/none';

/** Real servers for one test file, emptied before each test, and an ingest plane over them on request. */
export class IngestRig {
  folder = '';
  postgres!: EmbeddedPostgres;
  redis!: EmbeddedRedis;
  client!: Redis;
  database!: pg.Client;
  readonly producer = new EventProducer({ source: 'unit', connectionId: 'unit-1', now: wallClockNs });

  /** Call it in the body of a test file. */
  constructor() {
    beforeAll(() => this.#open());
    afterAll(() => this.#close());
    beforeEach(() => this.#empty());
  }

  async #open(): Promise<void> {
    this.folder = mkdtempSync(join(tmpdir(), 'tapeworks-plane-'));
    chmodSync(this.folder, 0o755);
    this.postgres = await startPostgres({ folder: join(this.folder, 'postgres') });
    this.redis = await startRedis({ folder: join(this.folder, 'redis'), cache: '.tapeworks/cache' });
    this.client = new Redis(this.redis.url, { protocol: 2 });
    this.client.on('error', () => undefined);
    this.database = new pg.Client({ connectionString: this.postgres.url });
    await this.database.connect();
    await migrate(this.database, readMigrations());
  }

  async #close(): Promise<void> {
    this.client?.disconnect();
    await this.database?.end();
    await this.redis?.stop();
    await this.postgres?.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #empty(): Promise<void> {
    await this.client.flushall();
    await this.database.query('TRUNCATE events');
    rmSync(this.spillFolder, { recursive: true, force: true });
  }

  /** Kills Redis and starts it again where it was. */
  async killRedis(): Promise<void> {
    this.redis.process.signal('SIGKILL');
    await this.redis.process.whenEnded();
    const { port } = new URL(this.redis.url);
    const folder = join(this.folder, 'redis');
    this.redis = await startRedis({ folder, cache: '.tapeworks/cache', port: Number(port) });
  }

  get spillFolder(): string {
    return join(this.folder, 'spill');
  }

  trade(payload: Record<string, unknown> = { price: '1.5' }, symbol = 'BTC-USD'): Envelope {
    return this.producer.event({ eventType: 'trade', symbol, tsEvent: wallClockNs(), payload });
  }

  trades(count: number): readonly Envelope[] {
    return Array.from({ length: count }, () => this.trade());
  }

  async send(...envelopes: readonly Envelope[]): Promise<void> {
    for (const envelope of envelopes) await this.client.xadd(...appendArguments('events', envelope));
  }

  async withPlane(more: PlaneMore, work: (plane: IngestPlane) => Promise<void>): Promise<void> {
    const { reader, spillMore, stopMs, ...options } = more;
    const plane = await IngestPlane.start({
      redisUrl: this.redis.url,
      postgresUrl: this.postgres.url,
      readers: [readerSettings('events', { readBlockMs: 100, ...reader })],
      sink: sinkSettings({ batchTimeMs: 5, breaker: { failures: 1, probeMinMs: 50, probeMaxMs: 100 } }),
      spill: spillSettings(this.spillFolder, spillMore),
      ...options,
    });
    try {
      await work(plane);
    } finally {
      await plane.stop(stopMs);
    }
  }

  async rows<R extends pg.QueryResultRow>(sql: string): Promise<R[]> {
    return (await this.database.query<R>(sql)).rows;
  }

  async storedCount(): Promise<number> {
    return (await this.rows<{ n: number }>('SELECT count(*)::int AS n FROM events'))[0]!.n;
  }

  async letters(): Promise<DeadLetter[]> {
    return (await this.client.xrangeBuffer('events:dlq', '-', '+')).map(([, fields]) => parseDeadLetter(fields)!);
  }
}

export async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 25_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

export const counts = (plane: IngestPlane): LaneCounts => plane.snapshot().lanes[0]!.counts;

/** What a command prints. */
export async function printed(run: () => Promise<number>): Promise<{
  code: number;
  text: string;
  lines: Record<string, unknown>[];
}> {
  const write = process.stdout.write;
  let text = '';
  process.stdout.write = ((chunk: string) => {
    text += chunk;
    return true;
  }) as typeof process.stdout.write;
  try {
    const code = await run();
    const lines = text.split('\n').filter((line) => line.startsWith('{'));
    return { code, text, lines: lines.map((line) => JSON.parse(line)) };
  } finally {
    process.stdout.write = write;
  }
}
