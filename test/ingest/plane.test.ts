import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { renderIngestMetrics } from '../../src/actors/kernel-ingest/metrics.ts';
import { IngestPlane, type IngestPlaneOptions } from '../../src/actors/kernel-ingest/plane.ts';
import { wallClockNs } from '../../src/actors/kernel-ingest/reader.ts';
import { migrate, readMigrations } from '../../src/actors/sink/migrate.ts';
import { command as dlq } from '../../src/cli/dlq.ts';
import { command as spill } from '../../src/cli/spill.ts';
import { parseDeadLetter } from '../../src/protocols/dead-letter.ts';
import { appendArguments, type Envelope, EventProducer } from '../../src/protocols/event-producer.ts';
import { ledgerOf } from '../../src/protocols/ingest-snapshot.ts';
import type { KernelIngestSettings, SpillSettings } from '../../src/protocols/topology.ts';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { type EmbeddedRedis, startRedis } from '../../src/servers/redis.ts';
import { readerSettings, sinkSettings, spillSettings } from './settings.ts';

let folder: string;
let postgres: EmbeddedPostgres;
let redis: EmbeddedRedis;
let client: Redis;
let database: pg.Client;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-plane-'));
  chmodSync(folder, 0o755);
  postgres = await startPostgres({ folder: join(folder, 'postgres') });
  redis = await startRedis({ folder: join(folder, 'redis'), cache: '.tapeworks/cache' });
  client = new Redis(redis.url, { protocol: 2 });
  database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
  await migrate(database, readMigrations());
});
afterAll(async () => {
  client?.disconnect();
  await database?.end();
  await redis?.stop();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  await client.flushall();
  await database.query('TRUNCATE events');
  rmSync(join(folder, 'spill'), { recursive: true, force: true });
});

const producer = new EventProducer({ source: 'unit', connectionId: 'unit-1', now: wallClockNs });
const trade = (payload: Record<string, unknown> = { price: '1.5' }, symbol = 'BTC-USD') =>
  producer.event({ eventType: 'trade', symbol, tsEvent: wallClockNs(), payload });
const quote = () =>
  producer.event({ eventType: 'quote', symbol: 'BTC-USD', tsEvent: wallClockNs(), payload: { bid: '1' } });
const send = async (...envelopes: Envelope[]) => {
  for (const envelope of envelopes) await client.xadd(...appendArguments('events', envelope));
};

async function until(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 25_000;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not in time: ${what}`);
    await sleep(20);
  }
}

type More = Partial<IngestPlaneOptions> & {
  reader?: Partial<KernelIngestSettings>;
  spillMore?: Partial<SpillSettings>;
  stopMs?: number;
};

async function withPlane(more: More, work: (plane: IngestPlane) => Promise<void>): Promise<void> {
  const { reader, spillMore, stopMs, ...options } = more;
  const plane = await IngestPlane.start({
    redisUrl: redis.url,
    postgresUrl: postgres.url,
    readers: [readerSettings('events', { readBlockMs: 100, ...reader })],
    sink: sinkSettings({ batchTimeMs: 5, breaker: { failures: 1, probeMinMs: 50, probeMaxMs: 100 } }),
    spill: spillSettings(join(folder, 'spill'), spillMore),
    ...options,
  });
  try {
    await work(plane);
  } finally {
    await plane.stop(stopMs);
  }
}

const counts = (plane: IngestPlane) => plane.snapshot().lanes[0]!.counts;
const rows = async <R extends pg.QueryResultRow>(sql: string) => (await database.query<R>(sql)).rows;
const letters = async () =>
  (await client.xrangeBuffer('events:dlq', '-', '+')).map(([, fields]) => parseDeadLetter(fields)!);

describe('an accepted message', () => {
  it('is stored with its connection, nanoseconds and payload', async () => {
    const sent = trade({ price: '64000.10', note: 'tab\t and "quotes" and \\ and ü' });
    await withPlane({}, async (plane) => {
      await send(sent);
      await until('it is acknowledged', () => counts(plane).acked === 1);
    });
    const [row] = await rows<Record<string, unknown>>(
      'SELECT connection_id, source, symbol, event_type, ts_event::text, ts_kernel > ts_event AS later, payload FROM events',
    );
    expect(row).toMatchObject({
      connection_id: 'unit-1',
      source: 'unit',
      symbol: 'BTC-USD',
      event_type: 'trade',
      later: true,
    });
    expect(row!['payload']).toEqual({ price: '64000.10', note: 'tab\t and "quotes" and \\ and ü' });
    expect(sent.bytes.toString()).toContain(`"ts_event":"${row!['ts_event']}"`);
  });

  it('that is sent twice is stored once, and both entries are accounted for', async () => {
    const sent = trade();
    await withPlane({}, async (plane) => {
      await send(sent, trade(), sent);
      await until('all are acknowledged', () => counts(plane).acked === 3);
      await until(
        'the ledger is read',
        () => plane.snapshot().lanes[0]!.facts?.added === 3 && plane.snapshot().lanes[0]!.facts?.pending === 0,
      );
      expect(ledgerOf(plane.snapshot().lanes[0]!)).toMatchObject({ added: 3, stored: 3, pending: 0, balance: 0 });
      expect(await renderIngestMetrics(plane.snapshot())).toMatch(/kernel_redis_ack_total\{stream="events"\} 3/);
    });
    expect(await rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 2 }]);
  });

  it('that asks something is answered, in the same step that acknowledges it', async () => {
    const asked = producer.control('ping');
    await withPlane({}, async (plane) => {
      await send(asked, producer.heartbeat({ queue: 3 }));
      await until('both are acknowledged', () => counts(plane).acked === 2);
      expect(plane.snapshot().lanes[0]!.modules.find(({ connection }) => connection === 'unit-1')).toMatchObject({
        source: 'unit',
        status: '{"queue":3}',
      });
    });
    const [[, fields]] = (await client.xrange('events:replies', '-', '+')) as [[string, string[]]];
    expect(JSON.parse(fields[1]!)).toMatchObject({ type: 'ack', data: { re: asked.id, op: 'ping', ok: true } });
  });
});

describe('a row that only Postgres can refuse', () => {
  it('is dead-lettered alone, and its neighbours are stored', async () => {
    await database.query("ALTER TABLE events ADD CONSTRAINT only_for_this_test CHECK (payload->>'price' <> 'cursed')");
    try {
      await send(
        ...Array.from({ length: 20 }, () => trade()),
        trade({ price: 'cursed' }),
        ...Array.from({ length: 20 }, () => trade()),
      );
      await withPlane({}, (plane) => until('all are acknowledged', () => counts(plane).acked === 41));
    } finally {
      await database.query('ALTER TABLE events DROP CONSTRAINT only_for_this_test');
    }
    expect(await rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 40 }]);
    expect(await letters()).toMatchObject([{ stage: 'sql', code: 'refused_by_postgres', stream: 'events' }]);
  });
});

describe('an entry that ends the kernel again and again', () => {
  it('is condemned only after it was alone twice', async () => {
    await send(trade(), trade());
    await client.xgroup('CREATE', 'events', 'kernel', '0');
    // What a kernel leaves behind that was ended 20 times with these entries, and twice with the first of them alone.
    for (let time = 0; time < 20; time++)
      await client.xreadgroup('GROUP', 'kernel', 'kernel-1', 'STREAMS', 'events', time === 0 ? '>' : '0');
    const [[first]] = (await client.xrange('events', '-', '+')) as [[string, string[]]];
    await client.hset('events:poison', first, 2);
    await withPlane({}, (plane) => until('both are acknowledged', () => counts(plane).acked === 2));
    expect(await letters()).toMatchObject([{ code: 'poison', entryId: first, deliveries: 21 }]);
    expect(await rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 1 }]);
    expect(await client.hgetall('events:poison')).toEqual({});
  });
});

describe('under extreme pressure', () => {
  it('only the types that the operator named are dropped, counted and acknowledged', async () => {
    await send(...Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? trade() : quote())));
    const more: More = {
      postgresUrl: 'postgres://nobody@127.0.0.1:1/none',
      reader: { inFlightMessages: 10, readCount: 5, whenFullByType: { quote: 'drop-newest' } },
      spillMore: { maxBytes: 100 },
      // Nothing can be made durable here, so there is nothing to wait for.
      stopMs: 100,
    };
    await withPlane(more, async (plane) => {
      await until('quotes are dropped', () => counts(plane).dropped > 0);
      expect(plane.health.state).toBe('red');
      expect(counts(plane)).toMatchObject({ stored: 0, spilled: 0 });
    });
    const dropped = Number(await client.hget('events:ledger', 'dropped'));
    await withPlane({}, async (plane) => {
      await until(
        'the rest is stored',
        async () => (await rows<{ n: number }>('SELECT count(*)::int AS n FROM events'))[0]!.n === 60 - dropped,
      );
      expect(counts(plane).dropped).toBe(0);
    });
    expect(await rows("SELECT count(*)::int AS n FROM events WHERE event_type = 'trade'")).toEqual([{ n: 30 }]);
  });
});

describe('trimming', () => {
  it('takes what is stored and old, and keeps what is not stored', async () => {
    await send(...Array.from({ length: 300 }, () => trade()));
    await withPlane({ reader: { trimAfterMs: 0, trimEveryMs: 10 } }, async (plane) => {
      await until('stored entries are trimmed', () => counts(plane).trimmedByKernel >= 100);
    });
    await client.del('events');
    await send(...Array.from({ length: 300 }, () => trade()));
    await client.xgroup('CREATE', 'events', 'slow', '0');
    await withPlane({ reader: { trimAfterMs: 0, trimEveryMs: 10 } }, async (plane) => {
      await until('all are acknowledged', () => counts(plane).acked === 300);
      await sleep(1_500);
    });
    expect(await client.xlen('events')).toBe(300);
  });
});

describe('migrations', () => {
  it('may start twice at once, and refuse a file that was changed', async () => {
    const own = mkdtempSync(join(folder, 'migrations-'));
    writeFileSync(join(own, '0900_once.sql'), 'CREATE TABLE made_once (n int);');
    const files = readMigrations(pathToFileURL(`${own}/`));
    const two = [new pg.Client({ connectionString: postgres.url }), new pg.Client({ connectionString: postgres.url })];
    await Promise.all(two.map((one) => one.connect()));
    const applied = await Promise.all(two.map((one) => migrate(one, files)));
    expect(applied.flat()).toEqual(['0900_once.sql']);
    const changed = [{ ...files[0]!, checksum: 'another' }];
    await expect(migrate(two[0]!, changed)).rejects.toMatchObject({ code: 'TW_MIGRATION_CHANGED' });
    await Promise.all(two.map((one) => one.end()));
  });
});

describe('the operator', () => {
  /** What a command prints. */
  async function printed(run: () => Promise<number>): Promise<{ code: number; lines: Record<string, unknown>[] }> {
    const write = process.stdout.write;
    let text = '';
    process.stdout.write = ((chunk: string) => {
      text += chunk;
      return true;
    }) as typeof process.stdout.write;
    try {
      const code = await run();
      return {
        code,
        lines: text
          .trim()
          .split('\n')
          .filter((line) => line.startsWith('{'))
          .map((line) => JSON.parse(line)),
      };
    } finally {
      process.stdout.write = write;
    }
  }

  it('lists dead letters, corrects one, sends it again, and drops the other', async () => {
    process.env['REDIS_URL'] = redis.url;
    const good = trade();
    const bad = good.bytes.toString().replace(/"ts_event":"\d+"/, '"ts_event":1.5');
    await client.xadd('events', '*', 'envelope', bad);
    await client.xadd('events', '*', 'envelope', 'nonsense');
    await withPlane({}, async (plane) => {
      await until('both are dead letters', () => counts(plane).acked === 2);
      const listed = await printed(() =>
        dlq.run(['list', '--json', '--code', 'bad_ts', '--source', 'unit', '--since', '1h']),
      );
      expect(listed.lines).toMatchObject([{ code: 'bad_ts', path: 'data.ts_event' }]);
      const id = String(listed.lines[0]!['id']);
      expect((await printed(() => dlq.run(['retry', id, '--json']))).lines).toMatchObject([{ outcome: 'refused' }]);
      const corrected = join(folder, 'corrected.json');
      writeFileSync(corrected, good.bytes);
      expect(
        (await printed(() => dlq.run(['retry', id, '--edit', corrected, '--dry-run', '--json']))).lines,
      ).toMatchObject([{ outcome: 'retried' }]);
      expect(counts(plane).read).toBe(2);
      expect((await printed(() => dlq.run(['retry', id, '--edit', corrected, '--json']))).code).toBe(0);
      await until('the corrected one is stored', () => counts(plane).stored === 1);
      expect((await printed(() => dlq.run(['drop', '--all', '--code', 'not_json', '--json']))).lines).toHaveLength(1);
    });
    expect(await client.xlen('events:dlq')).toBe(0);
  });

  it('looks into the spill, is told of damage, and stores it by hand', async () => {
    await send(...Array.from({ length: 50 }, () => trade()));
    await withPlane({ postgresUrl: 'postgres://nobody@127.0.0.1:1/none' }, (plane) =>
      until('all are spilled', () => counts(plane).spilled === 50),
    );
    const place = ['--folder', join(folder, 'spill'), '--json'];
    const listed = await printed(() => spill.run(['list', ...place]));
    expect(listed.lines).toMatchObject([{ stream: 'events', state: 'sealed' }]);
    expect(await printed(() => spill.run(['verify', ...place]))).toMatchObject({
      code: 0,
      lines: [{ ok: true, records: 50 }],
    });
    const path = join(folder, 'spill/events', String(listed.lines[0]!['segment']));
    expect((await printed(() => spill.run(['dump', path, '--json']))).lines).toHaveLength(50);
    const damaged = join(folder, 'damaged');
    cpSync(join(folder, 'spill'), damaged, { recursive: true });
    const copy = path.replace(join(folder, 'spill'), damaged);
    const bytes = readFileSync(copy);
    bytes[200]! ^= 1;
    writeFileSync(copy, bytes);
    expect(await printed(() => spill.run(['verify', '--folder', damaged, '--json']))).toMatchObject({
      code: 1,
      lines: [{ ok: false, records: 49 }],
    });
    process.env['DATABASE_URL'] = postgres.url;
    expect((await printed(() => spill.run(['replay', ...place, '--dry-run']))).lines).toMatchObject([
      { records: 50, dry_run: true },
    ]);
    expect((await printed(() => spill.run(['replay', ...place]))).lines).toMatchObject([
      { records: 50, duplicates: 0 },
    ]);
    expect(await rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 50 }]);
    delete process.env['DATABASE_URL'];
  });
});

describe('examples/python/producer.py', () => {
  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'sends what the kernel stores, with nothing of ours',
    async () => {
      const sent = spawnSync('python3', ['examples/python/producer.py', '--count', '25'], {
        encoding: 'utf8',
        env: { ...process.env, REDIS_URL: redis.url },
      });
      expect(sent.stderr).toBe('');
      await withPlane({}, (plane) => until('all are stored', () => counts(plane).stored === 25));
      expect(
        await rows("SELECT count(*)::int AS n FROM events WHERE source = 'example' AND connection_id = 'example-1'"),
      ).toEqual([{ n: 25 }]);
    },
  );
});
