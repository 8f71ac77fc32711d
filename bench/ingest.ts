import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { IngestPlane } from '../src/actors/kernel-ingest/plane.ts';
import { wallClockNs } from '../src/actors/kernel-ingest/reader.ts';
import { COLUMNS, encodeCopy } from '../src/actors/sink/copy-rows.ts';
import { EventWriter } from '../src/actors/sink/event-writer.ts';
import { diskFs } from '../src/actors/spill/file-system.ts';
import { SpillStore } from '../src/actors/spill/spill-store.ts';
import { decodeEnvelope, isRefusal } from '../src/protocols/envelope.ts';
import { appendArguments, type Envelope, streamFor } from '../src/protocols/event-producer.ts';
import type { EventRow } from '../src/protocols/ingest.ts';
import { ulidToUuid } from '../src/protocols/ulid.ts';
import { startPostgres } from '../src/servers/postgres.ts';
import { startRedis } from '../src/servers/redis.ts';
import { EventLoad } from '../test/ingest/load.ts';
import { Random } from '../test/ingest/random.ts';
import { readerSettings, sinkSettings, spillSettings } from '../test/ingest/settings.ts';
import { type Bench, type BenchOptions, median, quantile, ROUNDS } from './harness.ts';

// npm run bench -- ingest
//
// drain       a backlog in Redis, from the first read to the last acknowledgement, all of it in Postgres. The reference is
//             raw COPY of the same rows into the same table with the same commits, by a program that does nothing else.
//             Both are timed in 15 equal parts, and the two take turns; the figure is the median over parts.
// latency     from before XADD to the commit being visible to another connection, at 5,000 events/s.
// replay      spilled segments back into Postgres.

const DRAIN_EVENTS = Number(process.env['BENCH_EVENTS'] ?? 300_000);
const DRAIN_ROUNDS = 2;
const SHARD_EVENTS = 100_000;
const LATENCY_SECONDS = 8;
const LATENCY_RATE = 5_000;
const REPLAY_EVENTS = 60_000;

interface Servers {
  readonly folder: string;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly redis: Redis;
  readonly client: pg.Client;
}

function events(count: number, seed: number, connections = 4): { stream: number; envelope: Envelope }[] {
  const loads = Array.from(
    { length: connections },
    (_, n) => new EventLoad(new Random(seed + n), `connection-${n}`, wallClockNs),
  );
  return Array.from({ length: count }, (_, at) => ({
    stream: at % connections,
    envelope: loads[at % connections]!.next(),
  }));
}

async function append(
  redis: Redis,
  streams: readonly string[],
  made: readonly { stream: number; envelope: Envelope }[],
): Promise<void> {
  for (let at = 0; at < made.length; at += 2_000) {
    const pipeline = redis.pipeline();
    for (const { stream, envelope } of made.slice(at, at + 2_000)) {
      pipeline.xadd(...appendArguments(streamFor(streams, `connection-${stream}`), envelope));
    }
    await pipeline.exec();
  }
}

function rowsOf(made: readonly { envelope: Envelope }[]): EventRow[] {
  return made.map(({ envelope }, at) => {
    const event = decodeEnvelope(envelope.bytes);
    if (isRefusal(event)) throw new Error(event.reason);
    return { event, entryId: `${at + 1}-0`, tsKernel: wallClockNs(), deliveries: 1 };
  });
}

/** Events a second in each of `windows` equal parts of a backlog, while one plane drains it. */
async function drain(
  servers: Servers,
  streams: readonly string[],
  count: number,
  windows: number,
): Promise<{ rates: number[]; commits: number; seconds: number }> {
  const plane = await IngestPlane.start({
    redisUrl: servers.redisUrl,
    postgresUrl: servers.postgresUrl,
    readers: streams.map((stream) => readerSettings(stream)),
    sink: sinkSettings({ connections: streams.length }),
    spill: spillSettings(join(servers.folder, 'spill')),
  });
  const acked = () => plane.snapshot().lanes.reduce((sum, lane) => sum + lane.counts.acked, 0);
  const rates: number[] = [];
  const started = performance.now();
  let from = started;
  let done = 0;
  while (done < count) {
    await sleep(1);
    const now = acked();
    if (now - done < count / windows && now < count) continue;
    rates.push((now - done) / ((performance.now() - from) / 1_000));
    from = performance.now();
    done = now;
  }
  const seconds = (performance.now() - started) / 1_000;
  const commits = plane.snapshot().lanes.reduce((sum, lane) => sum + lane.counts.commits, 0);
  await plane.stop();
  return { rates, commits, seconds };
}

/** Raw COPY, in as many commits as the plane made. The rows are ready beforehand; only the writing is timed. */
async function rawCopy(
  client: pg.Client,
  rows: readonly EventRow[],
  commits: number,
  windows: number,
): Promise<number[]> {
  const rates: number[] = [];
  const perWindow = Math.ceil(rows.length / windows);
  const size = Math.ceil(rows.length / commits);
  for (let window = 0; window < rows.length; window += perWindow) {
    const part = rows.slice(window, window + perWindow);
    const buffers: Buffer[] = [];
    for (let at = 0; at < part.length; at += size) buffers.push(encodeCopy(part.slice(at, at + size)));
    const started = performance.now();
    for (const bytes of buffers) {
      await new Promise<void>((resolve, reject) => {
        const stream = client.query(copyFrom(`COPY events (${COLUMNS}) FROM STDIN (FORMAT binary)`));
        stream.once('error', reject).once('finish', () => resolve());
        stream.end(bytes);
      });
    }
    rates.push(part.length / ((performance.now() - started) / 1_000));
  }
  return rates;
}

async function emptied({ client, redis }: Servers): Promise<void> {
  await client.query('TRUNCATE events');
  await client.query('CHECKPOINT');
  await redis.flushall();
}

async function measureDrain(servers: Servers, options: BenchOptions): Promise<void> {
  const ours: number[] = [];
  const reference: number[] = [];
  for (let round = 0; round < DRAIN_ROUNDS; round++) {
    await emptied(servers);
    await append(servers.redis, ['events'], events(DRAIN_EVENTS, 1 + round));
    const drained = await drain(servers, ['events'], DRAIN_EVENTS, ROUNDS);
    ours.push(...drained.rates);
    await emptied(servers);
    reference.push(
      ...(await rawCopy(servers.client, rowsOf(events(DRAIN_EVENTS, 100 + round)), drained.commits, ROUNDS)),
    );
  }
  options.report('drain', median(ours), 'events/s', { value: median(reference), name: 'raw COPY' });
}

async function measureShards(servers: Servers, options: BenchOptions): Promise<void> {
  for (const shards of [1, 2, 4]) {
    await emptied(servers);
    const streams = Array.from({ length: shards }, (_, n) => `events-${n}`);
    await append(servers.redis, streams, events(SHARD_EVENTS, 50, 16));
    const { seconds } = await drain(servers, streams, SHARD_EVENTS, ROUNDS);
    options.report(`drain_${shards}_shards`, SHARD_EVENTS / seconds, 'events/s');
  }
}

async function measureLatency(servers: Servers, options: BenchOptions): Promise<void> {
  await emptied(servers);
  let committed = 0;
  let seen = 0;
  let lastKernel = 0n;
  const sent = new Map<string, number>();
  const latencies: number[] = [];
  const plane = await IngestPlane.start({
    redisUrl: servers.redisUrl,
    postgresUrl: servers.postgresUrl,
    readers: [readerSettings('events')],
    sink: sinkSettings({ batchTimeMs: 5 }),
    spill: spillSettings(join(servers.folder, 'spill')),
    reached(point) {
      if (point === 'after-commit') committed++;
    },
  });
  let watching = true;
  // Another connection sees what is committed: each id it finds for the first time has become visible by now.
  const watch = (async () => {
    while (watching) {
      if (committed === seen) {
        await sleep(1);
        continue;
      }
      seen = committed;
      const { rows } = await servers.client.query<{ id: string }>('SELECT id FROM events WHERE ts_kernel > $1', [
        lastKernel,
      ]);
      const now = performance.now();
      lastKernel = wallClockNs() - 1_000_000_000n;
      for (const { id } of rows) {
        const at = sent.get(id);
        if (at !== undefined) latencies.push(now - at);
        sent.delete(id);
      }
    }
  })();
  const load = new EventLoad(new Random(7), 'connection-0', wallClockNs);
  const started = performance.now();
  for (let count = 0; count < LATENCY_RATE * LATENCY_SECONDS; ) {
    const due = Math.floor(((performance.now() - started) / 1_000) * LATENCY_RATE);
    const pipeline = servers.redis.pipeline();
    for (; count < due; count++) {
      const envelope = load.next();
      sent.set(ulidToUuid(envelope.id), performance.now());
      pipeline.xadd(...appendArguments('events', envelope));
    }
    await pipeline.exec();
    await sleep(2);
  }
  while (sent.size > 0 && performance.now() - started < (LATENCY_SECONDS + 20) * 1_000) {
    committed++;
    await sleep(20);
  }
  watching = false;
  await watch;
  await plane.stop();
  options.report('commit_latency_p50', quantile(latencies, 0.5), 'ms');
  options.report('commit_latency_p99', quantile(latencies, 0.99), 'ms');
}

async function measureReplay(servers: Servers, options: BenchOptions): Promise<void> {
  const rates: number[] = [];
  for (let round = 0; round < 3; round++) {
    await emptied(servers);
    const folder = join(servers.folder, `replay-${round}`);
    const spill = await SpillStore.open({
      ...{ folder, fs: diskFs, segmentBytes: 16 << 20, segmentAgeMs: 60_000, bytesMax: 2 ** 40, freeBytesMin: 0 },
      nowSeconds: () => 0,
      reached: () => undefined,
    });
    const rows = rowsOf(events(REPLAY_EVENTS, 300 + round));
    for (let at = 0; at < rows.length; at += 2_000) {
      await spill.append(rows.slice(at, at + 2_000).map(({ event, ...row }) => ({ ...row, envelope: event.raw })));
    }
    const store = new EventWriter({
      ...{ url: servers.postgresUrl, connectTimeoutMs: 3_000, settings: sinkSettings() },
      reached: () => undefined,
      warn: () => undefined,
    });
    await store.prepare();
    const started = performance.now();
    for (;;) {
      const chunk = await spill.nextChunk(2_000);
      if (chunk === undefined) break;
      const replayed = chunk.records.flatMap(({ envelope, ...record }) => {
        const event = decodeEnvelope(envelope);
        return isRefusal(event) ? [] : [{ ...record, event }];
      });
      await store.write(replayed);
      await spill.commit(chunk);
    }
    rates.push(REPLAY_EVENTS / ((performance.now() - started) / 1_000));
    await store.close();
  }
  options.report('replay', median(rates), 'events/s');
}

async function withServers(work: (servers: Servers) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeworks-bench-'));
  chmodSync(folder, 0o755);
  const postgres = await startPostgres({ folder: join(folder, 'postgres') });
  const redisServer = await startRedis({ folder: join(folder, 'redis'), cache: '.tapeworks/cache' });
  const client = new pg.Client({ connectionString: postgres.url });
  await client.connect();
  const redis = new Redis(redisServer.url, { protocol: 2 });
  const writer = new EventWriter({
    ...{ url: postgres.url, connectTimeoutMs: 3_000, settings: sinkSettings() },
    reached: () => undefined,
    warn: () => undefined,
  });
  try {
    await writer.prepare();
    await work({ folder, postgresUrl: postgres.url, redisUrl: redisServer.url, redis, client });
  } finally {
    await writer.close();
    redis.disconnect();
    await client.end();
    await redisServer.stop();
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

export const bench: Bench = {
  summary: 'Redis to Postgres: drain of a backlog beside raw COPY, commit latency, replay, shards',
  run: (options) =>
    withServers(async (servers) => {
      const wanted = (process.env['BENCH_ONLY'] ?? 'drain,shards,latency,replay').split(',');
      if (wanted.includes('drain')) await measureDrain(servers, options);
      if (wanted.includes('shards')) await measureShards(servers, options);
      if (wanted.includes('latency')) await measureLatency(servers, options);
      if (wanted.includes('replay')) await measureReplay(servers, options);
      options.report('rss', process.memoryUsage().rss / 1024 / 1024, 'MiB');
    }),
};
