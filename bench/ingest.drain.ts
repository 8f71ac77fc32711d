import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { COLUMNS, copyParts } from '../src/actors/sink/copy-rows.ts';
import type { EventRow } from '../src/protocols/ingest.ts';
import { readerSettings, sinkSettings, spillSettings } from '../test/ingest/settings.ts';
import { type BenchOptions, median, ROUNDS } from './harness.ts';
import { append, emptied, makeEvents, rowsOf, type Servers } from './ingest.servers.ts';
import type { Drained, KernelJob, KernelNote } from './ingest-worker.ts';

const DRAIN_EVENTS = 300_000;
const DRAIN_TURNS = 2;
const SHARD_EVENTS = 100_000;
const SHARD_TURNS = 3;

/** A kernel process with the program's defaults over these streams. */
export function startKernel(servers: Servers, streams: readonly string[], drain?: KernelJob['drain']): ChildProcess {
  const job: KernelJob = {
    redisUrl: servers.redisUrl,
    postgresUrl: servers.postgresUrl,
    readers: streams.map((stream) => readerSettings(stream)),
    sink: sinkSettings({ connections: streams.length }),
    spill: spillSettings(join(servers.folder, 'spill')),
    ...(drain !== undefined && { drain }),
  };
  return fork(fileURLToPath(new URL('./ingest-worker.js', import.meta.url)), [JSON.stringify(job)]);
}

async function drain(servers: Servers, streams: readonly string[], events: number): Promise<Drained> {
  const kernel = startKernel(servers, streams, { events, windows: ROUNDS });
  const ended = once(kernel, 'exit');
  const drained = await new Promise<Drained>((resolve, reject) => {
    kernel.on('message', (note: KernelNote) => {
      if (typeof note === 'object') resolve(note);
    });
    kernel.once('exit', (code) => reject(new Error(`the kernel ended with ${code}`)));
  });
  await ended;
  return drained;
}

/** Raw COPY, in as many commits as the plane made. The rows are ready beforehand; only the writing is timed. */
async function rawCopy(client: pg.Client, rows: readonly EventRow[], commits: number): Promise<number[]> {
  const rates: number[] = [];
  const perWindow = Math.ceil(rows.length / ROUNDS);
  const size = Math.ceil(rows.length / commits);
  for (let window = 0; window < rows.length; window += perWindow) {
    const part = rows.slice(window, window + perWindow);
    const buffers: Buffer[] = [];
    for (let at = 0; at < part.length; at += size) {
      buffers.push(Buffer.concat(copyParts(part.slice(at, at + size))));
    }
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

async function storedRows({ client }: Servers): Promise<number> {
  return (await client.query<{ n: number }>('SELECT count(*)::int AS n FROM events')).rows[0]!.n;
}

/**
 * A backlog in Redis, from the first read to the last acknowledgement, beside raw COPY of the very same rows into the same
 * table with the same indexes and as many commits, by a program that does nothing else. Both are timed in 15 equal parts
 * and take turns; the figure is the median over parts.
 */
export async function measureDrain(servers: Servers, options: BenchOptions): Promise<void> {
  const ours: number[] = [];
  const reference: number[] = [];
  const used = { kernel: 0, postgres: 0, redis: 0, rss: 0, commits: 0 };
  for (let turn = 0; turn < DRAIN_TURNS; turn++) {
    const made = makeEvents(DRAIN_EVENTS, 1 + turn * 100);
    await emptied(servers);
    await append(servers.redis, ['events'], made);
    const before = servers.used();
    const drained = await drain(servers, ['events'], DRAIN_EVENTS);
    const after = servers.used();
    if ((await storedRows(servers)) !== DRAIN_EVENTS) throw new Error('the drain did not store every event once');
    ours.push(...drained.rates);
    used.kernel += drained.cpuSeconds;
    used.postgres += after.postgres - before.postgres;
    used.redis += after.redis - before.redis;
    used.rss = Math.max(used.rss, drained.rssMiB);
    used.commits += drained.commits;
    await emptied(servers);
    reference.push(...(await rawCopy(servers.client, rowsOf(made), drained.commits)));
  }
  options.report('drain', median(ours), 'events/s', { value: median(reference), name: 'raw COPY' });
  const events = DRAIN_EVENTS * DRAIN_TURNS;
  options.report('drain_rows_a_commit', events / used.commits, 'rows');
  for (const part of ['kernel', 'postgres', 'redis'] as const) {
    options.report(`drain_cpu_${part}`, (used[part] / events) * 1e6, 'us/event');
  }
  options.report('rss', used.rss, 'MiB');
}

/** One kernel process over 1, 2 and 4 streams, each with a connection to Postgres of its own. */
export async function measureShards(servers: Servers, options: BenchOptions): Promise<void> {
  for (const shards of [1, 2, 4]) {
    const rates: number[] = [];
    const streams = Array.from({ length: shards }, (_, n) => `events-${n}`);
    for (let turn = 0; turn < SHARD_TURNS; turn++) {
      await emptied(servers);
      await append(servers.redis, streams, makeEvents(SHARD_EVENTS, 50 + turn * 100, 16));
      rates.push(SHARD_EVENTS / (await drain(servers, streams, SHARD_EVENTS)).seconds);
    }
    options.report(`drain_${shards}_shards`, median(rates), 'events/s');
  }
}
