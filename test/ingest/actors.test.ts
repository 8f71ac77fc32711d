import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KernelIngestArgs, LanePosting } from '../../src/actors/kernel-ingest/actor.ts';
import type { SinkArgs } from '../../src/actors/sink/actor.ts';
import type { SpillCommand } from '../../src/actors/spill/actor.ts';
import { appendArguments } from '../../src/protocols/event-producer.ts';
import { wallClockNs } from '../../src/protocols/wall-clock.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { type EmbeddedRedis, startRedis } from '../../src/servers/redis.ts';
import type { Behaviour } from '../../src/supervision/actor.ts';
import { flatten } from '../../src/supervision/inspect.ts';
import { loopThread } from '../../src/supervision/remote/loop-thread-child.ts';
import { threadedActor } from '../../src/supervision/remote/threaded-actor.ts';
import { actor } from '../../src/supervision/spec.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import { ActorSystem } from '../../src/supervision/system.ts';
import { EventLoad } from './load.ts';
import { Random } from './random.ts';
import { readerSettings, sinkSettings, spillSettings } from './settings.ts';

let folder: string;
let postgres: EmbeddedPostgres;
let redis: EmbeddedRedis;
let client: Redis;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-actors-'));
  chmodSync(folder, 0o755);
  postgres = await startPostgres({ folder: join(folder, 'postgres') });
  redis = await startRedis({ folder: join(folder, 'redis'), cache: '.tapeworks/cache' });
  client = new Redis(redis.url, { protocol: 2 });
});
afterAll(async () => {
  client?.disconnect();
  await redis?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const collecting = <M>(to: M[]): Behaviour<M, undefined> => ({
  init: () => undefined,
  receive(_, message) {
    to.push(message);
    return undefined;
  },
});

async function stored(): Promise<number> {
  const pool = new pg.Client({ connectionString: postgres.url });
  await pool.connect();
  try {
    const { rows } = await pool.query<{ n: number }>('SELECT count(*)::int AS n FROM events');
    return rows[0]!.n;
  } catch {
    return 0;
  } finally {
    await pool.end();
  }
}

async function until(what: string, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 25_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

describe('the ingest actors on a loop thread', () => {
  it('store what is sent, over a restart of the sink, and stop in order', { timeout: 60_000 }, async () => {
    const statuses: LanePosting[] = [];
    const board = actor<LanePosting, undefined>({ id: 'board', behaviour: collecting(statuses) });
    const thread = loopThread({ id: 'ingest-thread' });
    const place = (kind: string) => new URL(`../../src/actors/${kind}/actor.js`, import.meta.url);
    const urls = { redisUrl: redis.url, postgresUrl: postgres.url, connectTimeoutMs: 3_000 };
    const spill = threadedActor<SpillCommand>({
      ...{ id: 'spill', thread, module: place('spill'), exportName: 'spill' },
      args: () => ({ settings: spillSettings(join(folder, 'spill')) }),
    });
    const sink = threadedActor<never>({
      ...{ id: 'sink', thread, module: place('sink'), exportName: 'sink' },
      args: (): SinkArgs => ({ settings: sinkSettings(), ...urls }),
    });
    const reader = threadedActor<never>({
      ...{ id: 'stream-events', thread, module: place('kernel-ingest'), exportName: 'kernelIngest' },
      args: (): KernelIngestArgs => ({
        ...{ settings: readerSettings('events', { readBlockMs: 200 }), redisUrl: redis.url, connectTimeoutMs: 3_000 },
        drainMs: 4_000,
        statusTo: board.ref,
      }),
    });
    const ingest = supervisor({ id: 'ingest', strategy: 'rest_for_one', children: [spill, sink, reader] });
    const system = new ActorSystem({ children: [board, thread, ingest], strategy: 'one_for_one' });
    await system.start();
    const load = new EventLoad(new Random(3), 'connection-0', wallClockNs);
    const send = async (count: number) => {
      const pipeline = client.pipeline();
      for (let n = 0; n < count; n++) pipeline.xadd(...appendArguments('events', load.next()));
      await pipeline.exec();
    };
    await send(500);
    await until('500 stored', async () => (await stored()) === 500);
    system.restart('/ingest/sink');
    await send(500);
    await until('1,000 stored', async () => (await stored()) === 1_000);
    const reading = () => flatten(system.tree()).find(({ path }) => path === '/ingest/stream-events');
    await until('the reader has taken the new sink', async () => reading()?.incarnation === 2);
    await until('a status came', async () => statuses.some((status) => status.lane.counts.acked > 0));
    expect(statuses.at(-1)).toMatchObject({
      path: '/ingest/stream-events',
      lane: { stream: 'events', health: { state: 'green' } },
    });
    expect(
      await system.ask<SpillCommand, { acknowledged: number }>(
        spill.ref,
        (replyTo) => ({ kind: 'acknowledge-damage', replyTo }),
        5_000,
      ),
    ).toEqual({
      acknowledged: 0,
    });
    await send(200);
    await system.stop();
    expect((await client.xpending('events', 'kernel'))[0]).toBe(0);
  });
});
