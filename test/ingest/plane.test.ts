import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { renderIngestMetrics } from '../../src/actors/kernel-ingest/metrics.ts';
import { migrate, readMigrations } from '../../src/actors/sink/migrate.ts';
import { command as dlq } from '../../src/cli/dlq.ts';
import { command as spill } from '../../src/cli/spill.ts';
import { ledgerOf } from '../../src/protocols/ingest-snapshot.ts';
import { wallClockNs } from '../../src/protocols/wall-clock.ts';
import { counts, IngestRig, NO_POSTGRES, type PlaneMore, printed, until } from './rig.ts';
import { sinkSettings } from './settings.ts';

const rig = new IngestRig();
const quote = () =>
  rig.producer.event({ eventType: 'quote', symbol: 'BTC-USD', tsEvent: wallClockNs(), payload: { bid: '1' } });

describe('an accepted message', () => {
  it('is stored with its connection, nanoseconds and payload', async () => {
    const sent = rig.trade({ price: '64000.10', note: 'tab\t and "quotes" and \\ and ü' });
    await rig.withPlane({}, async (plane) => {
      await rig.send(sent);
      await until('it is acknowledged', () => counts(plane).acked === 1);
    });
    const [row] = await rig.rows<Record<string, unknown>>(
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
    const sent = rig.trade();
    await rig.withPlane({}, async (plane) => {
      await rig.send(sent, rig.trade(), sent);
      await until('all are acknowledged', () => counts(plane).acked === 3);
      await until(
        'the ledger is read',
        () => plane.snapshot().lanes[0]!.facts?.added === 3 && plane.snapshot().lanes[0]!.facts?.pending === 0,
      );
      expect(ledgerOf(plane.snapshot().lanes[0]!)).toMatchObject({ added: 3, stored: 3, pending: 0, balance: 0 });
      expect(await renderIngestMetrics(plane.snapshot())).toMatch(/kernel_redis_ack_total\{stream="events"\} 3/);
    });
    expect(await rig.rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 2 }]);
  });

  it('that asks something is answered, in the same step that acknowledges it', async () => {
    const asked = rig.producer.control('ping');
    await rig.withPlane({}, async (plane) => {
      await rig.send(asked, rig.producer.heartbeat({ queue: 3 }));
      await until('both are acknowledged', () => counts(plane).acked === 2);
      expect(plane.snapshot().lanes[0]!.modules.find(({ connection }) => connection === 'unit-1')).toMatchObject({
        source: 'unit',
        status: '{"queue":3}',
      });
    });
    const [[, fields]] = (await rig.client.xrange('events:replies', '-', '+')) as [[string, string[]]];
    expect(JSON.parse(fields[1]!)).toMatchObject({ type: 'ack', data: { re: asked.id, op: 'ping', ok: true } });
  });
});

describe('a row that only Postgres can refuse', () => {
  const refusals = {
    'a check': [
      "ALTER TABLE events ADD CONSTRAINT only_here CHECK (payload->>'price' <> 'cursed')",
      'ALTER TABLE events DROP CONSTRAINT only_here',
    ],
    'a trigger': [
      `CREATE FUNCTION only_here() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.payload->>'price' = 'cursed' THEN RAISE 'not here'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER only_here BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION only_here()`,
      'DROP FUNCTION only_here CASCADE',
    ],
    'a reference': [
      `CREATE TABLE only_here (symbol text PRIMARY KEY); INSERT INTO only_here VALUES ('BTC-USD');
      ALTER TABLE events ADD CONSTRAINT only_here FOREIGN KEY (symbol) REFERENCES only_here`,
      'DROP TABLE only_here CASCADE',
    ],
  } as const;
  it.each(Object.entries(refusals))('by %s is dead-lettered alone, and its neighbours are stored', async (_, sql) => {
    await rig.database.query(sql[0]);
    try {
      await rig.send(
        ...Array.from({ length: 20 }, () => rig.trade()),
        rig.trade({ price: 'cursed' }, 'NONE-USD'),
        ...Array.from({ length: 20 }, () => rig.trade()),
      );
      await rig.withPlane({}, (plane) => until('all are acknowledged', () => counts(plane).acked === 41));
    } finally {
      await rig.database.query(sql[1]);
    }
    expect(await rig.rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 40 }]);
    expect(await rig.letters()).toMatchObject([{ stage: 'sql', code: 'refused_by_postgres', stream: 'events' }]);
  });
});

describe('a partition that cannot be made because someone reads', () => {
  it('holds up no row', async () => {
    const reader = new pg.Client({ connectionString: rig.postgres.url });
    await reader.connect();
    const [{ name }] = (await rig.rows(
      "SELECT 'events_' || to_char(now() AT TIME ZONE 'utc', 'YYYYMMDD') AS name",
    )) as [{ name: string }];
    await rig.database.query(`DROP TABLE IF EXISTS ${name}`);
    await reader.query('BEGIN');
    await reader.query('SELECT count(*) FROM events');
    try {
      await rig.send(...rig.trades(3));
      await rig.withPlane({ sink: sinkSettings({ batchTimeMs: 5, lockTimeoutMs: 50 }) }, (plane) =>
        until('all are acknowledged', () => counts(plane).acked === 3),
      );
      expect(await rig.rows('SELECT count(*)::int AS n FROM events_default')).toEqual([{ n: 3 }]);
    } finally {
      await reader.end();
    }
    await rig.withPlane({}, async () => undefined);
    expect(await rig.rows(`SELECT count(*)::int AS n FROM ${name}`)).toEqual([{ n: 3 }]);
  });
});

describe('a dead-letter stream that cannot be written', () => {
  it('turns health red with the reason until it can', async () => {
    await rig.client.set('events:dlq', 'in the way');
    await rig.client.xadd('events', '*', 'envelope', 'nonsense');
    await rig.withPlane({}, async (plane) => {
      const health = () => plane.snapshot().lanes[0]!.health;
      await until('it is told', () => health().reasons.some((reason) => reason.includes('WRONGTYPE')));
      expect(health().state).toBe('red');
      await rig.client.del('events:dlq');
      await until('it is acknowledged', () => counts(plane).acked === 1);
      expect(health().reasons.join()).not.toContain('WRONGTYPE');
    });
    expect(await rig.letters()).toMatchObject([{ code: 'not_json' }]);
  });
});

describe('an entry that ends the kernel again and again', () => {
  it('is condemned only after it was alone twice', async () => {
    await rig.send(rig.trade(), rig.trade());
    await rig.client.xgroup('CREATE', 'events', 'kernel', '0');
    // What a kernel leaves behind that was ended 20 times with these entries, and twice with the first of them alone.
    for (let time = 0; time < 20; time++)
      await rig.client.xreadgroup('GROUP', 'kernel', 'kernel-1', 'STREAMS', 'events', time === 0 ? '>' : '0');
    const [[first]] = (await rig.client.xrange('events', '-', '+')) as [[string, string[]]];
    await rig.client.hset('events:poison', first, 2);
    await rig.withPlane({}, (plane) => until('both are acknowledged', () => counts(plane).acked === 2));
    expect(await rig.letters()).toMatchObject([{ code: 'poison', entryId: first, deliveries: 21 }]);
    expect(await rig.rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 1 }]);
    expect(await rig.client.hgetall('events:poison')).toEqual({});
  });
});

describe('under extreme pressure', () => {
  it('only the types that the operator named are dropped, counted and acknowledged', async () => {
    await rig.send(...Array.from({ length: 60 }, (_, n) => (n % 2 === 0 ? rig.trade() : quote())));
    const more: PlaneMore = {
      postgresUrl: NO_POSTGRES,
      reader: { inFlightMessages: 10, readCount: 5, whenFullByType: { quote: 'drop-newest' } },
      spillMore: { maxBytes: 100 },
      // Nothing can be made durable here, so there is nothing to wait for.
      stopMs: 100,
    };
    const warnings: string[] = [];
    await rig.withPlane({ ...more, warn: (text) => warnings.push(text) }, async (plane) => {
      await until('quotes are dropped', () => counts(plane).dropped > 0);
      expect(plane.health.state).toBe('red');
      expect(warnings.at(-1)).toMatch(/^events: reading has stopped, the spill refuses: TW_SPILL_FULL: /);
      expect(counts(plane)).toMatchObject({ stored: 0, spilled: 0 });
    });
    const dropped = Number(await rig.client.hget('events:ledger', 'dropped'));
    await rig.withPlane({}, async (plane) => {
      await until(
        'the rest is stored',
        async () => (await rig.rows<{ n: number }>('SELECT count(*)::int AS n FROM events'))[0]!.n === 60 - dropped,
      );
      expect(counts(plane).dropped).toBe(0);
    });
    expect(await rig.rows("SELECT count(*)::int AS n FROM events WHERE event_type = 'trade'")).toEqual([{ n: 30 }]);
  });
});

describe('trimming', () => {
  it('takes what is stored and old, and keeps what is not stored', async () => {
    await rig.send(...Array.from({ length: 300 }, () => rig.trade()));
    await rig.withPlane({ reader: { trimAfterMs: 0, trimEveryMs: 10 } }, async (plane) => {
      await until('stored entries are trimmed', () => counts(plane).trimmedByKernel >= 100);
    });
    await rig.client.del('events');
    await rig.send(...Array.from({ length: 300 }, () => rig.trade()));
    await rig.client.xgroup('CREATE', 'events', 'slow', '0');
    await rig.withPlane({ reader: { trimAfterMs: 0, trimEveryMs: 10 } }, async (plane) => {
      await until('all are acknowledged', () => counts(plane).acked === 300);
      await sleep(1_500);
    });
    expect(await rig.client.xlen('events')).toBe(300);
  });
});

describe('migrations', () => {
  it('may start twice at once, and refuse a file that was changed', async () => {
    const own = mkdtempSync(join(rig.folder, 'migrations-'));
    writeFileSync(join(own, '0900_once.sql'), 'CREATE TABLE made_once (n int);');
    const files = readMigrations(pathToFileURL(`${own}/`));
    const two = [
      new pg.Client({ connectionString: rig.postgres.url }),
      new pg.Client({ connectionString: rig.postgres.url }),
    ];
    await Promise.all(two.map((one) => one.connect()));
    const applied = await Promise.all(two.map((one) => migrate(one, files)));
    expect(applied.flat()).toEqual(['0900_once.sql']);
    const changed = [{ ...files[0]!, checksum: 'another' }];
    await expect(migrate(two[0]!, changed)).rejects.toMatchObject({ code: 'TW_MIGRATION_CHANGED' });
    await Promise.all(two.map((one) => one.end()));
  });
});

describe('the operator', () => {
  it('lists dead letters, corrects one, sends it again, and drops the other', async () => {
    process.env['REDIS_URL'] = rig.redis.url;
    const good = rig.trade();
    const bad = good.bytes.toString().replace(/"ts_event":"\d+"/, '"ts_event":1.5');
    await rig.client.xadd('events', '*', 'envelope', bad);
    await rig.client.xadd('events', '*', 'envelope', 'nonsense');
    await rig.withPlane({}, async (plane) => {
      await until('both are dead letters', () => counts(plane).acked === 2);
      const listed = await printed(() =>
        dlq.run(['list', '--json', '--code', 'bad_ts', '--source', 'unit', '--since', '1h']),
      );
      expect(listed.lines).toMatchObject([{ code: 'bad_ts', path: 'data.ts_event' }]);
      const id = String(listed.lines[0]!['id']);
      expect((await printed(() => dlq.run(['retry', id, '--json']))).lines).toMatchObject([{ outcome: 'refused' }]);
      const corrected = join(rig.folder, 'corrected.json');
      writeFileSync(corrected, good.bytes);
      expect(
        (await printed(() => dlq.run(['retry', id, '--edit', corrected, '--dry-run', '--json']))).lines,
      ).toMatchObject([{ outcome: 'retried' }]);
      expect(counts(plane).read).toBe(2);
      expect((await printed(() => dlq.run(['retry', id, '--edit', corrected, '--json']))).code).toBe(0);
      await until('the corrected one is stored', () => counts(plane).stored === 1);
      expect((await printed(() => dlq.run(['drop', '--all', '--code', 'not_json', '--json']))).lines).toHaveLength(1);
    });
    expect(await rig.client.xlen('events:dlq')).toBe(0);
  });

  it('looks into the spill, is told of damage, and stores it by hand', async () => {
    await rig.send(...Array.from({ length: 50 }, () => rig.trade()));
    await rig.withPlane({ postgresUrl: NO_POSTGRES }, (plane) =>
      until('all are spilled', () => counts(plane).spilled === 50),
    );
    const place = ['--folder', join(rig.folder, 'spill'), '--json'];
    const listed = await printed(() => spill.run(['list', ...place]));
    expect(listed.lines).toMatchObject([{ stream: 'events', state: 'sealed' }]);
    expect(await printed(() => spill.run(['verify', ...place]))).toMatchObject({
      code: 0,
      lines: [{ ok: true, records: 50 }],
    });
    const path = join(rig.folder, 'spill/events', String(listed.lines[0]!['segment']));
    expect((await printed(() => spill.run(['dump', path, '--json']))).lines).toHaveLength(50);
    const byName = ['dump', String(listed.lines[0]!['segment']), ...place];
    expect((await printed(() => spill.run(byName))).lines[0]).toMatchObject({ ordinal: 0, deliveries: 1 });
    const damaged = join(rig.folder, 'damaged');
    cpSync(join(rig.folder, 'spill'), damaged, { recursive: true });
    const copy = path.replace(join(rig.folder, 'spill'), damaged);
    const bytes = readFileSync(copy);
    bytes[200]! ^= 1;
    writeFileSync(copy, bytes);
    expect(await printed(() => spill.run(['verify', '--folder', damaged, '--json']))).toMatchObject({
      code: 1,
      lines: [{ ok: false, records: 49 }],
    });
    // Cut off at the end of a record: only the name tells that there were more.
    writeFileSync(copy, readFileSync(path).subarray(0, 32 + 44 + readFileSync(path).readUInt32BE(36)));
    expect(await printed(() => spill.run(['verify', '--folder', damaged, '--json']))).toMatchObject({
      code: 1,
      lines: [{ ok: false, records: 1, lost: 49 }],
    });
    expect((await printed(() => spill.run(['replay', ...place, '--dry-run']))).lines).toMatchObject([
      { records: 50, dry_run: true },
    ]);
    process.env['DATABASE_URL'] = rig.postgres.url;
    expect((await printed(() => spill.run(['replay', ...place]))).lines).toMatchObject([
      { records: 50, duplicates: 0 },
    ]);
    expect(await rig.rows('SELECT count(*)::int AS n FROM events')).toEqual([{ n: 50 }]);
    delete process.env['DATABASE_URL'];
  });
});

describe('examples/python/producer.py', () => {
  it.skipIf(spawnSync('python3', ['--version']).status !== 0)(
    'sends what the kernel stores, with nothing of ours',
    async () => {
      const sent = spawnSync('python3', ['examples/python/producer.py', '--count', '25'], {
        encoding: 'utf8',
        env: { ...process.env, REDIS_URL: rig.redis.url },
      });
      expect(sent.stderr).toBe('');
      await rig.withPlane({}, (plane) => until('all are stored', () => counts(plane).stored === 25));
      expect(
        await rig.rows(
          "SELECT count(*)::int AS n FROM events WHERE source = 'example' AND connection_id = 'example-1'",
        ),
      ).toEqual([{ n: 25 }]);
    },
  );
});
