import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { IngestPoint } from '../../src/actors/kernel-ingest/plane.ts';
import { Random, runSeed } from '../ingest/random.ts';
import { FLAWLESS, STREAMS, World } from './world.ts';

const LONG = process.env['TAPEWORKS_LONG'] === '1';
const TIMES = LONG ? 10 : 1;
const RATE = LONG ? 5_000 : 1_500;
const seed = runSeed();
const random = new Random(seed);
const label = `TAPEWORKS_SEED=${seed}`;

let world: World;
beforeAll(async () => {
  process.stdout.write(`chaos: ${label}\n`);
  world = await World.open(random);
  await world.kernel.start();
  world.producer.start(RATE);
  await sleep(300);
});
afterAll(() => world?.close());

/** Ends a scenario: the fault is over, everything drains, and the oracle judges. Then the load goes on. */
async function settleAndJudge(): Promise<void> {
  await world.producer.stop();
  if (!world.kernel.running) await world.kernel.start();
  await world.drained();
  expect(await world.judge(), label).toEqual(FLAWLESS);
  world.producer.start(RATE);
}

/** Runs a life of the kernel that ends itself at a named point. */
async function killedAt(point: IngestPoint, hits: number): Promise<void> {
  if (world.kernel.running) await world.kernel.kill();
  await world.kernel.start({ killAt: { point, hits } });
  await world.until(`the kernel reached ${point}`, () => !world.kernel.running, 60_000);
  expect((await world.kernel.ended()).signal, world.kernel.log).toBe('SIGKILL');
}

async function withoutPostgres(work: () => Promise<void>): Promise<void> {
  world.postgres.process.signal('SIGQUIT');
  await world.postgres.process.whenEnded();
  await work();
  await world.restartPostgres();
}

const spilledSome = (files = 1) => world.until('something is spilled', () => world.spilledFiles().length >= files);
const scenario = (name: string, work: () => Promise<void>) =>
  it(name, { timeout: 600_000 }, async () => {
    for (let time = 0; time < TIMES; time++) await work();
    await settleAndJudge();
  });

describe('nothing acknowledged is lost, doubled, invented or spoiled when', () => {
  scenario('the kernel is killed at random', async () => {
    for (let kill = 0; kill < 3; kill++) {
      await sleep(random.between(50, 500));
      await world.kernel.kill();
      await world.kernel.start();
    }
  });

  for (const point of ['after-read', 'before-commit', 'after-commit', 'before-ack', 'after-ack'] as const) {
    scenario(`the kernel is killed ${point.replace('-', ' ')}`, () => killedAt(point, random.between(1, 4)));
  }

  for (const point of ['spill-mid-write', 'spill-before-sync', 'spill-after-sync'] as const) {
    scenario(`the kernel is killed at ${point}`, () => withoutPostgres(() => killedAt(point, random.between(1, 4))));
  }

  for (const point of ['mid-replay', 'replay-before-unlink', 'replay-after-unlink'] as const) {
    scenario(`the kernel is killed at ${point}`, async () => {
      if (!world.kernel.running) await world.kernel.start();
      await withoutPostgres(() => spilledSome());
      await killedAt(point, 1);
    });
  }

  scenario('Postgres is stopped', async () => {
    if (!world.kernel.running) await world.kernel.start();
    await withoutPostgres(async () => {
      await spilledSome();
      await sleep(500);
    });
  });

  scenario('Postgres is frozen', async () => {
    const pids = world.postgresPids();
    for (const pid of pids) process.kill(pid, 'SIGSTOP');
    await spilledSome();
    for (const pid of pids) process.kill(pid, 'SIGCONT');
  });

  scenario('its backends are terminated while they commit', async () => {
    for (let time = 0; time < 20; time++) {
      await world.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'tapeworks-sink'",
      );
      await sleep(random.between(5, 60));
    }
  });

  scenario('Redis is killed', async () => {
    world.redis.process.signal('SIGKILL');
    await world.redis.process.whenEnded();
    await sleep(300);
    await world.restartRedis();
  });

  scenario('Redis is frozen', async () => {
    world.redis.process.signal('SIGSTOP');
    await sleep(2_500);
    world.redis.process.signal('SIGCONT');
  });

  scenario('the consumer group is destroyed', async () => {
    await sleep(200);
    world.balanced = false;
    for (const stream of STREAMS) await world.client.xgroup('DESTROY', stream, 'kernel');
  });

  scenario('Redis is flushed, and the producer sends again what it has not seen stored', async () => {
    await world.producer.stop();
    await world.client.flushall();
    // The kernel may hold what it had read; give it the time to store that or to give it up.
    await world.until('the group is back', async () => (await world.client.exists(...STREAMS)) === STREAMS.length);
    const stored = await world.storedIds();
    await world.producer.resend((id) => stored.has(id));
    await world.client.del(...STREAMS.map((stream) => `${stream}:ledger`));
    world.producer.start(RATE);
  });

  scenario('another consumer dies with entries of its own', async () => {
    await world.until('it was given some', async () => {
      const given = await world.client.xreadgroup('GROUP', 'kernel', 'dead', 'COUNT', 300, 'STREAMS', STREAMS[0], '>');
      return given !== null;
    });
  });

  scenario('the spill reaches its quota while Postgres is out', async () => {
    await world.kernel.kill();
    await withoutPostgres(async () => {
      await world.kernel.start({ spill: { maxBytes: 64 * 1024 } });
      await world.until('a lane is blocked', () => world.kernel.notes()?.health.state === 'red');
      await sleep(300);
    });
  });

  scenario('the disk of the spill is full', async () => {
    await world.kernel.kill();
    await onSmallDisk(async (folder) => {
      await withoutPostgres(async () => {
        await world.kernel.start({ spillFolder: folder });
        await world.until('a lane is blocked', () => world.kernel.notes()?.health.state === 'red');
        await sleep(300);
      });
      await world.producer.stop();
      await world.drained();
      await world.until('the small disk is drained', () =>
        (world.kernel.notes()?.lanes ?? []).every(({ spill }) => spill.records === 0),
      );
      await world.kernel.kill();
    });
  });

  scenario('segments are damaged on the disk', async () => {
    if (!world.kernel.running) await world.kernel.start();
    await withoutPostgres(async () => {
      await spilledSome(2);
      await sleep(500);
      await world.kernel.kill();
      for (const path of world.spilledFiles()) damage(path);
    });
    await world.kernel.start();
    await world.until('what was lost is found again in Redis', () => world.kernel.total('spillRecovered') > 0);
  });

  it('and the faults above were really met', () => {
    const met = Object.fromEntries(
      (
        ['redelivered', 'spilled', 'replayed', 'tornTails', 'claimed', 'groupRecreations', 'spillRecovered'] as const
      ).map((count) => [count, world.kernel.total(count) > 0]),
    );
    const conflicts = world.kernel.total('duplicates') + world.kernel.total('replayDuplicates') > 0;
    expect({ ...met, conflicts }, label).toEqual({
      ...{ redelivered: true, spilled: true, replayed: true, tornTails: true, claimed: true },
      ...{ groupRecreations: true, spillRecovered: true, conflicts: true },
    });
  });
});

describe('SIGTERM under load', () => {
  it(`ends within 10 s, leaves nothing pending that was read, stores nothing twice, ${LONG ? 10 : 2} times`, {
    timeout: 300_000,
  }, async () => {
    for (let time = 0; time < (LONG ? 10 : 2); time++) {
      if (!world.kernel.running) await world.kernel.start();
      await sleep(random.between(100, 600));
      const asked = performance.now();
      world.kernel.signal('SIGTERM');
      expect(await world.kernel.ended(), world.kernel.log).toEqual({ code: 0, signal: null });
      expect(performance.now() - asked).toBeLessThan(10_000);
      for (const stream of STREAMS) expect((await world.client.xpending(stream, 'kernel'))[0]).toBe(0);
    }
    await settleAndJudge();
  });
});

/** Flips bytes in the middle of a segment, past its header. */
function damage(path: string): void {
  const { size } = statSync(path);
  const file = openSync(path, 'r+');
  const at = 32 + random.below(Math.max(1, size - 64));
  const bytes = Buffer.alloc(8);
  readSync(file, bytes, 0, 8, at);
  writeSync(
    file,
    bytes.map((byte) => byte ^ 0xff),
    0,
    8,
    at,
  );
  closeSync(file);
}

/** A file system of 2 MiB where we may mount one; else a quota stands in for it. */
async function onSmallDisk(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = join(world.folder, `small-${random.below(1e9)}`);
  mkdirSync(folder);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status === 0;
  if (!mounted)
    process.stdout.write('chaos: no small file system can be mounted here; the quota scenario stands for it\n');
  try {
    if (mounted) await work(folder);
  } finally {
    if (mounted) spawnSync('umount', [folder]);
  }
}
