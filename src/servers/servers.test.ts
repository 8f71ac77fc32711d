import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { provideRedis } from './index.ts';
import { startPostgres } from './postgres.ts';
import { linkLibraries } from './postgres-binaries.ts';
import { redisAnswers, startRedis } from './redis.ts';
import { installedRedis } from './redis-binaries.ts';
import { claimFolder } from './server-process.ts';
import { foldersClosedTo } from './unprivileged.ts';

const cache = '.tapeworks/cache';
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-servers-'));
  chmodSync(folder, 0o755);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function rowsOf(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('embedded Postgres', () => {
  it('keeps its data between runs, refuses strangers, and starts empty after a reset', async () => {
    const place = { folder: join(folder, 'postgres') };
    const first = await startPostgres(place);
    await rowsOf(first.url, 'CREATE TABLE kept (n int)');
    await expect(rowsOf(first.url.replace(/:[^:@]+@/, ':wrong@'), 'SELECT 1')).rejects.toThrow(/password/);
    await first.stop();
    const second = await startPostgres(place);
    expect(await rowsOf(second.url, 'SELECT count(*)::int AS n FROM kept')).toEqual([{ n: 0 }]);
    await second.stop();
    const third = await startPostgres({ ...place, reset: true });
    expect(await rowsOf(third.url, "SELECT to_regclass('kept') AS found")).toEqual([{ found: null }]);
    await third.stop();
  });

  it('makes the library links that the skipped install script would have made', () => {
    const native = join(folder, 'package/native/lib');
    mkdirSync(native, { recursive: true });
    writeFileSync(join(native, 'libx.so.1.2'), 'library');
    writeFileSync(
      join(folder, 'package/native/pg-symlinks.json'),
      JSON.stringify([{ source: 'native/lib/libx.so.1.2', target: 'native/lib/libx.so' }]),
    );
    linkLibraries(join(folder, 'package'));
    linkLibraries(join(folder, 'package'));
    expect(readFileSync(join(native, 'libx.so'), 'utf8')).toBe('library');
  });
});

describe('a folder that another account cannot enter', () => {
  it('is found by walking up from the data', () => {
    const closed = join(folder, 'closed');
    mkdirSync(join(closed, 'data'), { recursive: true });
    chmodSync(closed, 0o700);
    const stranger = { name: 'stranger', uid: 4_000_001, gid: 4_000_001 };
    expect(foldersClosedTo(join(closed, 'data'), stranger)).toEqual([closed]);
    chmodSync(closed, 0o755);
    expect(foldersClosedTo(join(closed, 'data'), stranger)).toEqual([]);
  });
});

describe('embedded Redis', () => {
  it('keeps acknowledged writes when it is killed', async () => {
    const place = { folder: join(folder, 'redis'), cache };
    const first = await startRedis(place);
    const client = new Redis(first.url, { protocol: 2 });
    client.on('error', () => undefined);
    await client.xadd('s', '*', 'f', 'kept');
    first.process.signal('SIGKILL');
    await first.process.whenEnded();
    client.disconnect();
    const second = await startRedis(place);
    const again = new Redis(second.url, { protocol: 2 });
    expect(await again.xlen('s')).toBe(1);
    expect(await again.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction']);
    again.disconnect();
    await second.stop();
  });

  it('is known not to be ready while it reads back its log, without waiting for it', async () => {
    const place = { folder: join(folder, 'loading'), cache };
    const first = await startRedis(place);
    const client = new Redis(first.url, { protocol: 2 });
    const pipeline = client.pipeline();
    for (let n = 0; n < 20_000; n++) pipeline.set(`key:${n}`, n);
    await pipeline.exec();
    client.disconnect();
    await first.stop();
    const { command, env } = installedRedis(cache)!;
    // Half a millisecond a key: ten seconds of reading, in which it answers that it is loading.
    const slow = spawn(command, [join(place.folder, 'redis.conf'), '--key-load-delay', '500'], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    try {
      for await (const text of slow.stdout.setEncoding('utf8')) if (String(text).includes('Server initialized')) break;
      expect(await redisAnswers(first.url)).toBe(false);
    } finally {
      slow.kill('SIGKILL');
    }
  });

  it('stops an orphan whose owner died, and refuses a folder whose owner lives', async () => {
    const place = { name: 'sleeper', folder: join(folder, 'sleeper') };
    mkdirSync(place.folder, { recursive: true });
    const orphan = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
    const note = join(folder, 'sleeper.owner.json');
    const ended = once(orphan, 'exit');
    writeFileSync(
      note,
      JSON.stringify({ owner: { pid: orphan.pid, started: 'long ago' }, server: { pid: orphan.pid, started: '' } }),
    );
    await claimFolder(place);
    await ended;
    writeFileSync(note, JSON.stringify({ owner: { pid: process.ppid, started: '' } }));
    await expect(claimFolder(place)).rejects.toMatchObject({ code: 'TW_SERVER_IN_USE' });
  });

  it('is started again where it was when it ends by itself, and not after it was stopped', async () => {
    const told: string[] = [];
    const data = join(folder, 'kept');
    mkdirSync(data);
    cpSync(cache, join(data, 'cache'), { recursive: true });
    const answer = await provideRedis({ folder: data, env: {}, warn: (text) => told.push(text) });
    if (answer.state === 'down') throw new Error(answer.reason);
    const client = new Redis(answer.url, { protocol: 2, maxRetriesPerRequest: null });
    client.on('error', () => undefined);
    await client.xadd('s', '*', 'f', 'kept');
    const { server } = JSON.parse(readFileSync(join(data, 'redis.owner.json'), 'utf8')) as { server: { pid: number } };
    process.kill(server.pid, 'SIGKILL');
    expect(await client.xlen('s')).toBe(1);
    expect(told).toEqual([expect.stringMatching(/the embedded redis in .* ended by itself/)]);
    client.disconnect();
    await answer.stop();
    expect(existsSync(join(data, 'redis.owner.json'))).toBe(false);
    expect(told).toHaveLength(1);
  });

  it('is reported down with a code and a remedy where none can be had', async () => {
    const path = process.env['PATH'];
    process.env['PATH'] = join(folder, 'nothing');
    try {
      const answer = await provideRedis({ folder: join(folder, 'bare'), env: {} });
      expect(answer).toMatchObject({ state: 'down', code: 'TW_REDIS_UNAVAILABLE' });
      expect(existsSync(join(folder, 'bare/redis'))).toBe(false);
    } finally {
      process.env['PATH'] = path;
    }
  });

  it("is not started where REDIS_URL names the user's own", async () => {
    const answer = await provideRedis({ folder: join(folder, 'own'), env: { REDIS_URL: 'redis://127.0.0.1:1' } });
    expect(answer).toMatchObject({ state: 'up', origin: 'configured', url: 'redis://127.0.0.1:1' });
  });
});
