import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { IngestPlane } from '../../src/actors/kernel-ingest/plane.ts';
import { SpillYard, spillFolder } from '../../src/actors/spill/yard.ts';
import { command as spill } from '../../src/cli/spill.ts';
import { appendArguments } from '../../src/protocols/event-producer.ts';
import { type Ledger, ledgerOf } from '../../src/protocols/ingest-snapshot.ts';
import { counts, IngestRig, NO_POSTGRES, printed, until } from './rig.ts';
import { spillSettings } from './settings.ts';

const rig = new IngestRig();
const HURRIED = { claimIdleMs: 50, claimEveryMs: 50 } as const;

const ledger = (plane: IngestPlane): Ledger | undefined => ledgerOf(plane.snapshot().lanes[0]!);

async function settled(plane: IngestPlane, added: number): Promise<Ledger> {
  await until(`${added} entries are settled`, () => ledger(plane)?.added === added && ledger(plane)?.pending === 0);
  return ledger(plane)!;
}

/** Spills events and leaves the segments as a stopped kernel does. */
async function spilled(count: number): Promise<void> {
  await rig.send(...rig.trades(count));
  await rig.withPlane({ postgresUrl: NO_POSTGRES }, (plane) =>
    until('all are spilled', () => counts(plane).spilled === count),
  );
}

const segments = () =>
  readdirSync(spillFolder(rig.spillFolder, 'events'))
    .filter((name) => /\.(seg|open)$/.test(name))
    .map((name) => join(spillFolder(rig.spillFolder, 'events'), name));

function cutInHalf(path: string): void {
  const bytes = readFileSync(path);
  writeFileSync(path, bytes.subarray(0, bytes.length >> 1));
}

describe('entries that consumers left behind', () => {
  it('are all taken over, also where several of them died with entries in turn', async () => {
    await rig.send(...rig.trades(40));
    await rig.client.xgroup('CREATE', 'events', 'kernel', '0');
    for (let n = 0; n < 20; n++)
      await rig.client.xreadgroup('GROUP', 'kernel', `dead-${n % 2}`, 'COUNT', 1, 'STREAMS', 'events', '>');
    await rig.withPlane({ reader: HURRIED }, async (plane) => {
      expect(await settled(plane, 40)).toMatchObject({ stored: 40, balance: 0 });
      expect(counts(plane).claimed).toBe(20);
    });
    expect(await rig.storedCount()).toBe(40);
  });

  it('and that were trimmed meanwhile are counted as gone', async () => {
    await rig.send(...rig.trades(10));
    await rig.client.xgroup('CREATE', 'events', 'kernel', '0');
    await rig.client.xreadgroup('GROUP', 'kernel', 'dead', 'COUNT', 4, 'STREAMS', 'events', '>');
    const [[first]] = (await rig.client.xrange('events', '-', '+')) as [[string, string[]]];
    await rig.client.xdel('events', first);
    await rig.withPlane({ reader: HURRIED }, async (plane) => {
      await until('all are settled', () => counts(plane).trimmed === 1 && counts(plane).acked === 9);
    });
    expect(await rig.client.hget('events:ledger', 'trimmed')).toBe('1');
  });
});

describe('a stream that Redis has lost', () => {
  it('is told of, with what had been there, and read on', async () => {
    const warnings: string[] = [];
    await rig.withPlane({ warn: (text) => warnings.push(text) }, async (plane) => {
      await rig.send(...rig.trades(30));
      await settled(plane, 30);
      await rig.client.flushall();
      await rig.send(...rig.trades(4));
      await until('it was seen', () => counts(plane).streamResets === 1);
      const { health } = plane.snapshot().lanes[0]!;
      expect(health.state).not.toBe('green');
      expect(health.reasons.join()).toMatch(/Redis had 30 entries of the stream and has \d+: flushed/);
      await settled(plane, 4);
    });
    expect(warnings.join('\n')).toMatch(/events: Redis had 30 entries .*; 0 had not been read/);
    expect(warnings.join('\n')).toMatch(/events is read again, after \d+ s/);
    expect(await rig.storedCount()).toBe(34);
  });
});

describe('the ledger', () => {
  it('balances after the group was destroyed and every entry came again', async () => {
    await rig.withPlane({}, async (plane) => {
      await rig.send(...rig.trades(50));
      await settled(plane, 50);
      await rig.client.xgroup('DESTROY', 'events', 'kernel');
      await rig.send(...rig.trades(30));
      await until('the group is made again', () => counts(plane).groupRecreations > 0);
      expect(await settled(plane, 80)).toEqual({
        ...{ added: 80, stored: 80, deadLettered: 0, dropped: 0, pending: 0, balance: 0 },
      });
      expect(counts(plane).duplicates).toBe(50);
    });
    expect(await rig.storedCount()).toBe(80);
  });

  it('balances after a restart of Redis, which forgets how many entries a group has read', async () => {
    await rig.withPlane({}, async (plane) => {
      await rig.send(...rig.trades(40));
      await settled(plane, 40);
      // The server keeps the number from here on, and loses what it counts after this.
      await rig.client.bgrewriteaof();
      await until('the append-only file is rewritten', async () =>
        /aof_rewrite_in_progress:0/.test(await rig.client.info('persistence')),
      );
      await rig.send(...rig.trades(30));
      await settled(plane, 70);
      await rig.killRedis();
      await rig.send(...rig.trades(20));
      expect(await settled(plane, 90)).toMatchObject({ stored: 90, balance: 0 });
    });
  });

  it('tells how many entries wait in a long backlog', async () => {
    const batch = rig.client.pipeline();
    for (const envelope of rig.trades(3_000)) batch.xadd(...appendArguments('events', envelope));
    await batch.exec();
    const stuck = {
      postgresUrl: NO_POSTGRES,
      reader: { inFlightMessages: 10 },
      spillMore: { maxBytes: 100 },
      stopMs: 100,
    };
    await rig.withPlane(stuck, async (plane) => {
      await until('some are read', () => (plane.snapshot().lanes[0]?.facts?.pending ?? 0) > 0);
      expect(ledger(plane)).toMatchObject({ added: 3_000, pending: 3_000, balance: 0 });
    });
  });

  it('begins with the entries that are there when the first kernel comes', async () => {
    await rig.send(...rig.trades(30));
    await rig.client.xtrim('events', 'MAXLEN', 20);
    await rig.withPlane({}, async (plane) => expect(await settled(plane, 20)).toMatchObject({ balance: 0 }));
  });

  it('balances after the stream was deleted', async () => {
    await rig.withPlane({}, async (plane) => {
      await rig.send(...rig.trades(20));
      await settled(plane, 20);
      await rig.client.del('events');
      await rig.send(...rig.trades(5));
      expect(await settled(plane, 5)).toMatchObject({ stored: 5, balance: 0 });
    });
  });
});

describe('a damaged spill', () => {
  it('is found again in Redis and stays red until someone acknowledges it with the command line', async () => {
    await spilled(60);
    for (const path of segments()) cutInHalf(path);
    const place = ['--folder', rig.spillFolder];
    await rig.withPlane({}, async (plane) => {
      await until('what was lost is stored', async () => (await rig.storedCount()) === 60);
      await until('its health is red and says how much', () => /TW_SPILL_DAMAGED/.test(plane.health.reasons.join()));
      expect(plane.health.state).toBe('red');
      await until('the search has ended', () => /found again/.test(plane.health.reasons.join()));
      const [lost, found] = /(\d+) lost, (\d+) found again/.exec(plane.health.reasons.join())!.slice(1);
      expect(found).toBe(lost);
      const verified = await printed(() => spill.run(['verify', ...place, '--json']));
      expect(verified).toMatchObject({ code: 1, lines: [{ kind: 'damaged', state: 'settled', lost: Number(lost) }] });
      expect(plane.health.state).toBe('red');
      expect((await printed(() => spill.run(['verify', ...place, '--acknowledge']))).code).toBe(0);
      await until('its health is green', () => plane.health.state === 'green');
      expect((await printed(() => spill.run(['verify', ...place]))).code).toBe(0);
    });
  });

  it('is not held up by a row that Postgres refuses', async () => {
    await rig.database.query("ALTER TABLE events ADD CONSTRAINT only_here CHECK (payload->>'price' <> 'cursed')");
    try {
      await rig.withPlane({}, async (plane) => {
        await rig.send(...rig.trades(5), rig.trade({ price: 'cursed' }), ...rig.trades(5));
        await settled(plane, 11);
      });
      await spilled(20);
      for (const path of segments()) cutInHalf(path);
      await rig.withPlane({}, async (plane) => {
        await until('what was lost is stored', async () => (await rig.storedCount()) === 30);
        await until('the search has ended', () => /found again/.test(plane.health.reasons.join()));
      });
    } finally {
      await rig.database.query('ALTER TABLE events DROP CONSTRAINT only_here');
    }
  });

  it('is searched for behind a segment that a crash left open and the disk cut at a record', async () => {
    await spilled(30);
    const [path] = segments();
    const bytes = readFileSync(path!);
    // As an .open file of ten records, without a seal: nothing in it tells that there were thirty.
    let end = 32;
    for (let record = 0; record < 10; record++) end += 44 + bytes.readUInt32BE(end + 4);
    const open = path!.replace(/\.\d+\.seg$/, '.open');
    writeFileSync(open, bytes.subarray(0, end));
    rmSync(path!);
    await rig.withPlane({}, async (running) => {
      await until('what was lost is stored', async () => (await rig.storedCount()) === 30);
      await until('it is red', () => /0 lost, 20 found again/.test(running.health.reasons.join()));
    });
  });
});

describe('a spilled record that this version does not accept', () => {
  async function spillOne(): Promise<void> {
    const yard = new SpillYard(spillSettings(rig.spillFolder));
    const store = await yard.open('events', () => undefined);
    await store.append([{ entryId: '1-0', tsKernel: 1n, deliveries: 1, envelope: Buffer.from('{"type":"of old"}') }]);
    await yard.release();
    await rig.client.hset('events:ledger', 'spilled', 1);
  }

  it('becomes a dead letter and is counted as one', async () => {
    await rig.send(...rig.trades(3));
    await spillOne();
    await rig.withPlane({}, async (plane) => {
      await until('the rest is stored', async () => (await rig.storedCount()) === 3);
      await until('the spill is empty', () => plane.snapshot().lanes[0]!.spill.records === 0);
    });
    expect(await rig.letters()).toMatchObject([{ entryId: '1-0', raw: Buffer.from('{"type":"of old"}') }]);
    expect(await rig.client.hmget('events:ledger', 'spilled', 'dead_lettered')).toEqual(['0', '1']);
  });

  it('stays where it is when someone stores the spill by hand', async () => {
    await spillOne();
    process.env['DATABASE_URL'] = rig.postgres.url;
    const replay = spill.run(['replay', '--folder', rig.spillFolder]);
    await expect(replay).rejects.toMatchObject({ code: 'TW_SPILL_UNSTORABLE' });
    delete process.env['DATABASE_URL'];
    expect(segments()).toHaveLength(1);
  });
});

describe('a Redis with settings under which it may lose entries', () => {
  it('turns health yellow and says which', async () => {
    await rig.client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      await rig.withPlane({}, async (plane) => {
        await until('health says so', () => plane.health.reasons.join().includes('maxmemory-policy = allkeys-lru'));
        expect(plane.health.state).toBe('yellow');
      });
    } finally {
      await rig.client.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });
});

describe('a Postgres that answers and does not take the rows', () => {
  it('turns health red with the reason, and everything is stored once it does', async () => {
    await rig.database.query("CREATE ROLE poor LOGIN PASSWORD 'poor'; GRANT SELECT ON tapeworks_migrations TO poor");
    const poor = new URL(rig.postgres.url);
    poor.username = poor.password = 'poor';
    await rig.withPlane({ postgresUrl: poor.href }, async (plane) => {
      await rig.send(...rig.trades(20));
      await until('they are spilled', () => counts(plane).spilled === 20);
      expect(plane.health).toMatchObject({ state: 'red' });
      expect(plane.health.reasons.join()).toMatch(/Postgres does not take our rows, spilling: SQLSTATE 42501/);
      await rig.database.query('ALTER ROLE poor SUPERUSER');
      await until('they are stored', async () => (await rig.storedCount()) === 20);
      await until('its health is green', () => plane.health.state === 'green');
    });
  });

  it('is looked at as a whole again after its tables were lost', async () => {
    await rig.withPlane({}, async (plane) => {
      await rig.send(...rig.trades(5));
      await settled(plane, 5);
      await rig.database.query('DROP TABLE events, tapeworks_migrations; DROP FUNCTION ensure_events_partition');
      await rig.send(...rig.trades(5));
      await until('the new ones are stored', async () => (await rig.storedCount().catch(() => 0)) === 5);
    });
  });
});
