import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { IngestPoint } from '../../src/actors/kernel-ingest/plane.ts';
import type { Random } from '../ingest/random.ts';
import { DAMAGES, type DamageKind } from './damage.ts';
import { STREAMS, signalAll, type World } from './world.ts';

/** One thing that goes wrong while the load runs. The kernel runs when it begins; it may be dead when it ends. */
export interface Fault {
  readonly name: string;
  /** Why events of a connection may be stored out of order here; without it the order is judged too. */
  readonly reorders?: string;
  bring(world: World, random: Random): Promise<void>;
}

const TERMINATIONS = process.env['TAPEWORKS_LONG'] === '1' ? 10 : 3;
const LIVE_POINTS = ['after-read', 'before-commit', 'after-commit', 'before-ack', 'after-ack'] as const;
const SPILL_POINTS = ['spill-mid-write', 'spill-before-sync', 'spill-after-sync'] as const;
const REPLAY_POINTS = ['mid-replay', 'replay-before-unlink', 'replay-after-unlink'] as const;

const STRIKES = 10;
const STRIKE = `SELECT count(pg_terminate_backend(pid))::int AS n FROM pg_stat_activity
  WHERE application_name = 'tapeworks-sink' AND state <> 'idle'`;

/** Runs a life of the kernel that ends itself at a named point. */
async function killedAt(world: World, point: IngestPoint, hits: number): Promise<void> {
  await world.kernel.kill();
  await world.kernel.start({ killAt: { point, hits } });
  await world.until(`the kernel reached ${point}`, () => !world.kernel.running, 60_000);
  expect((await world.kernel.ended()).signal, world.kernel.log).toBe('SIGKILL');
}

async function withoutPostgres(world: World, work: () => Promise<void>): Promise<void> {
  world.postgres.process.signal('SIGQUIT');
  await world.postgres.process.whenEnded();
  await work();
  await world.restartPostgres();
}

const spilledSome = (world: World, files = 1) =>
  world.until('something is spilled', () => world.spilledFiles().length >= files);

const laneBlocked = (world: World) =>
  world.until('a lane is blocked', () => world.kernel.notes()?.health.state === 'red');

const kernelFaults: readonly Fault[] = [
  {
    name: 'kernel killed at random',
    async bring(world, random) {
      for (let kill = 0; kill < 3; kill++) {
        await sleep(random.between(50, 500));
        await world.kernel.kill();
        await world.kernel.start();
      }
    },
  },
  ...LIVE_POINTS.map((point) => ({
    name: `kernel killed ${point}`,
    bring: (world: World, random: Random) => killedAt(world, point, random.between(1, 4)),
  })),
  ...SPILL_POINTS.map((point) => ({
    name: `kernel killed ${point}`,
    bring: (world: World, random: Random) => withoutPostgres(world, () => killedAt(world, point, random.between(1, 4))),
  })),
  ...REPLAY_POINTS.map((point) => ({
    name: `kernel killed ${point}`,
    async bring(world: World) {
      await withoutPostgres(world, () => spilledSome(world));
      await killedAt(world, point, 1);
    },
  })),
];

const postgresFaults: readonly Fault[] = [
  {
    name: 'Postgres stopped',
    bring: (world, random) =>
      withoutPostgres(world, async () => {
        await spilledSome(world);
        await sleep(random.between(200, 800));
      }),
  },
  {
    name: 'Postgres frozen',
    async bring(world) {
      const pids = world.postgresPids();
      signalAll(pids, 'SIGSTOP');
      await spilledSome(world);
      signalAll(pids, 'SIGCONT');
    },
  },
  {
    name: 'Postgres backends terminated while they commit',
    async bring(world, random) {
      const striker = await world.connect();
      let struck = 0;
      try {
        await world.until('backends were struck at work', async () => {
          const { rows } = await striker.query<{ n: number }>(STRIKE);
          struck += rows[0]!.n;
          await sleep(random.between(0, 15));
          return struck >= STRIKES;
        });
      } finally {
        await striker.end();
      }
    },
  },
];

const redisFaults: readonly Fault[] = [
  {
    name: 'Redis killed',
    async bring(world, random) {
      world.redis.process.signal('SIGKILL');
      await world.redis.process.whenEnded();
      await sleep(random.between(100, 500));
      await world.restartRedis();
    },
  },
  {
    name: 'Redis frozen',
    async bring(world) {
      world.redis.process.signal('SIGSTOP');
      await sleep(2_500);
      world.redis.process.signal('SIGCONT');
    },
  },
  {
    name: 'consumer group destroyed',
    async bring(world, random) {
      await sleep(random.between(100, 400));
      for (const stream of STREAMS) await world.client.xgroup('DESTROY', stream, 'kernel');
      await world.until('the groups are made again', () => world.hasGroups());
    },
  },
  {
    name: 'Redis flushed, and the producer sends again what it has not seen stored',
    async bring(world, random) {
      await sleep(random.between(100, 400));
      await world.producer.pause();
      await world.client.flushall();
      await world.until('the groups are made again', () => world.hasGroups());
      // What the kernel had read before the flush it stores, or has stored; all else is gone.
      await world.until('the kernel holds nothing', () =>
        (world.kernel.notes()?.lanes ?? []).every(({ inFlight, facts }) => inFlight === 0 && facts?.added === 0),
      );
      const stored = await world.storedIds();
      await world.producer.resend((id) => stored.has(id));
      world.producer.resume();
    },
  },
  {
    name: 'other consumers dead with entries of their own',
    reorders: 'the entries of the dead come late',
    async bring(world) {
      let given = 0;
      await world.until('they were given some', async () => {
        const who = `dead-${given % 2}`;
        const answer = await world.client.xreadgroup('GROUP', 'kernel', who, 'COUNT', 20, 'STREAMS', STREAMS[0], '>');
        if (answer !== null) given++;
        return given >= 10;
      });
      await world.until('the kernel has claimed them', () => world.kernel.lastLife('claimed') >= 20);
    },
  },
];

const diskFaults: readonly Fault[] = [
  {
    name: 'spill at its quota while Postgres is out',
    async bring(world) {
      await world.kernel.kill();
      await withoutPostgres(world, async () => {
        await world.kernel.start({ spill: { maxBytes: 64 * 1024 } });
        await laneBlocked(world);
        await sleep(300);
      });
      // The next fault wants a spill that takes more.
      await world.kernel.kill();
      await world.kernel.start();
    },
  },
  {
    name: 'spill disk full while Postgres is out',
    async bring(world, random) {
      await world.kernel.kill();
      await onSmallDisk(world, random, async (folder) => {
        await withoutPostgres(world, async () => {
          await world.kernel.start({ spillFolder: folder });
          await laneBlocked(world);
          await sleep(300);
        });
        await world.producer.pause();
        await world.until('the small disk is drained', () =>
          (world.kernel.notes()?.lanes ?? []).every(({ spill, mode }) => spill.records === 0 && mode === 'flowing'),
        );
        await world.kernel.kill();
      });
      await world.kernel.start();
      world.producer.resume();
    },
  },
];

const damageFaults: readonly Fault[] = (Object.keys(DAMAGES) as DamageKind[]).map((kind) => ({
  name: `spill segments ${kind}`,
  ...(DAMAGES[kind].loses ? { reorders: 'what was lost is fetched from Redis after newer events' } : {}),
  async bring(world, random) {
    await withoutPostgres(world, async () => {
      await spilledSome(world, 6);
      await world.kernel.kill();
      const lost = await DAMAGES[kind].inflict(world.spilledFiles(), random);
      await world.kernel.start();
      expect(world.kernel.lastLife('spillLost'), `records lost by ${kind} segments`).toBe(lost);
    });
    if (!DAMAGES[kind].loses) return;
    // The search begins when the spill is empty, which on a slow machine takes a pause of the load.
    await world.producer.pause();
    await world.until('what was lost is found again in Redis', () => world.kernel.lastLife('spillRecovered') > 0);
  },
}));

const everythingAtOnce: Fault = {
  name: 'Postgres stopped, Redis killed and the kernel killed at once',
  async bring(world, random) {
    world.postgres.process.signal('SIGQUIT');
    world.redis.process.signal('SIGKILL');
    await Promise.all([world.postgres.process.whenEnded(), world.redis.process.whenEnded()]);
    await sleep(random.between(0, 200));
    await world.kernel.kill();
    await world.kernel.start();
    await sleep(random.between(0, 500));
    await world.restartRedis();
    await spilledSome(world);
    await world.kernel.kill();
    await world.restartPostgres();
  },
};

/** Ends the kernel by SIGTERM, which must take less than 10 s and go well. */
async function toldToEnd(world: World): Promise<void> {
  const asked = performance.now();
  world.kernel.signal('SIGTERM');
  expect(await world.kernel.ended(), world.kernel.log).toEqual({ code: 0, signal: null });
  expect(performance.now() - asked, 'milliseconds to its end').toBeLessThan(10_000);
}

const endFaults: readonly Fault[] = [
  {
    name: `kernel told to end, ${TERMINATIONS} times in a row`,
    async bring(world, random) {
      for (let time = 0; time < TERMINATIONS; time++) {
        if (!world.kernel.running) await world.kernel.start();
        await sleep(random.between(100, 600));
        await toldToEnd(world);
        for (const stream of STREAMS)
          expect((await world.client.xpending(stream, 'kernel'))[0], `pending in ${stream}`).toBe(0);
      }
    },
  },
  {
    name: 'kernel told to end while Postgres is frozen',
    async bring(world) {
      const pids = world.postgresPids();
      signalAll(pids, 'SIGSTOP');
      await sleep(100);
      await toldToEnd(world);
      signalAll(pids, 'SIGCONT');
    },
  },
  {
    name: 'kernel told to end while Redis is frozen',
    async bring(world) {
      world.redis.process.signal('SIGSTOP');
      await sleep(100);
      await toldToEnd(world);
      world.redis.process.signal('SIGCONT');
    },
  },
];

export const FAULTS: readonly Fault[] = [
  ...[...kernelFaults, ...postgresFaults, ...redisFaults, ...diskFaults, ...damageFaults],
  ...[everythingAtOnce, ...endFaults],
];

/** A file system of 2 MiB where we may mount one; else the quota alone stands for a full disk, and it says so. */
async function onSmallDisk(world: World, random: Random, work: (folder: string) => Promise<void>): Promise<void> {
  const folder = join(world.folder, `small-${random.below(1e9)}`);
  mkdirSync(folder);
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', folder]).status !== 0) {
    process.stdout.write('chaos: no small file system can be mounted here; the quota stands for a full disk\n');
    return;
  }
  try {
    await work(folder);
  } finally {
    spawnSync('umount', [folder]);
  }
}
