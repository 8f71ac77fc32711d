import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { type Acknowledgement, RedisStream } from '../../src/actors/kernel-ingest/redis-stream.ts';
import { ledgerOf } from '../../src/protocols/ingest-snapshot.ts';
import { counts, IngestRig, until } from './rig.ts';

// added = stored + dead-lettered + dropped + pending, at every moment: whoever acknowledges an entry first counts it, and
// nothing is counted first and taken back later.

const rig = new IngestRig();
const NO_SPILL = { records: 0, bytes: 0, segments: 0 };

function openStream(consumer: string): RedisStream {
  return new RedisStream({
    ...{ url: rig.redis.url, stream: 'events', group: 'kernel', consumer, deadLetterStream: 'events:dlq' },
    ...{ blockMs: 100, connectTimeoutMs: 3_000 },
  });
}

async function read(consumer: string, count: number): Promise<string[]> {
  const answer = (await rig.client.xreadgroup(
    ...(['GROUP', 'kernel', consumer, 'COUNT', count, 'STREAMS', 'events', '>'] as const),
  )) as [string, [string, string[]][]][];
  return answer[0]![1].map(([id]) => id);
}

/** Every command that reaches Redis while the work is done, those inside scripts included. */
async function commandsDuring(work: () => Promise<void>): Promise<string[][]> {
  const monitor = (await rig.client.monitor()) as Redis;
  const seen: string[][] = [];
  monitor.on('monitor', (_time: string, words: string[]) => seen.push(words));
  try {
    await work();
    await rig.client.ping('end');
    await until('all is seen', () => seen.some(([name, word]) => name === 'ping' && word === 'end'));
  } finally {
    monitor.disconnect();
  }
  return seen;
}

const stored = (ids: readonly string[], duplicates = 0): Acknowledgement => ({
  ...{ fates: [{ term: 'stored', ids }], duplicates, letters: [], answers: [] },
});

describe('the ledger', () => {
  it('counts an entry once, for whoever acknowledges it first, and never counts back', async () => {
    const [one, two] = [openStream('one'), openStream('two')];
    await one.ensureGroup();
    await rig.send(...rig.trades(10));
    const ids = await read('one', 10);
    const seen = await commandsDuring(async () => {
      expect(await two.acknowledge({ ...stored([]), fates: [{ term: 'dropped', ids: ids.slice(0, 4) }] })).toBe(4);
      expect(await one.acknowledge(stored(ids, 2))).toBe(6);
    });
    const facts = await one.facts();
    expect(facts.ledger).toMatchObject({ stored: 6, dropped: 4 });
    expect(ledgerOf({ facts, spill: NO_SPILL })).toMatchObject({
      added: 10,
      stored: 6,
      dropped: 4,
      pending: 0,
      balance: 0,
    });
    const steps = seen.filter(([name]) => name?.toLowerCase() === 'hincrby').map((words) => Number(words[3]));
    expect(steps.every((by) => by >= 0)).toBe(true);
    one.close();
    two.close();
  });

  it('is the same after a step that was repeated because its answer was lost', async () => {
    const stream = openStream('one');
    await stream.ensureGroup();
    await rig.send(...rig.trades(5));
    const [a, b, c, ...rest] = (await read('one', 5)) as [string, string, string, ...string[]];
    const step: Acknowledgement = {
      fates: [
        { term: 'stored', ids: rest },
        { term: 'trimmed', ids: [c] },
      ],
      duplicates: 1,
      letters: [
        {
          ...{ stage: 'json', code: 'not_json', path: '', reason: 'x', stream: 'events' },
          entryId: a,
          deliveries: 1,
          raw: Buffer.from('x'),
        },
      ],
      answers: [{ entryId: b, term: 'stored', envelope: Buffer.from('{}') }],
    };
    expect(await stream.acknowledge(step)).toBe(5);
    const before = await stream.facts();
    expect(before.ledger).toMatchObject({ stored: 2, duplicate: 1, dead_lettered: 1, trimmed: 1 });
    expect(await stream.acknowledge(step)).toBe(0);
    expect(await stream.facts()).toEqual(before);
    expect(await rig.client.xlen('events:dlq')).toBe(1);
    expect(await rig.client.xlen('events:replies')).toBe(1);
    stream.close();
  });

  it('writes a letter of a spilled entry once, however often it is buried', async () => {
    const stream = openStream('one');
    await stream.ensureGroup();
    await rig.send(...rig.trades(2));
    const ids = await read('one', 2);
    await stream.acknowledge({ ...stored([]), fates: [{ term: 'spilled', ids }] });
    const letter = { stage: 'sql', code: 'refused_by_postgres', path: '', reason: 'x', stream: 'events' } as const;
    const letters = [{ ...letter, entryId: ids[0]!, deliveries: 1, raw: Buffer.from('x') }];
    for (let time = 0; time < 3; time++) await stream.bury(letters);
    expect(await rig.client.xlen('events:dlq')).toBe(1);
    expect((await stream.facts()).ledger).toMatchObject({ spilled: 1, dead_lettered: 1 });
    stream.close();
  });

  it('stops before anything is acknowledged where a dead letter cannot be written', async () => {
    const stream = openStream('one');
    await stream.ensureGroup();
    await rig.send(...rig.trades(2));
    const [a, b] = (await read('one', 2)) as [string, string];
    await rig.client.set('events:dlq', 'not a stream');
    const letter = { stage: 'json', code: 'not_json', path: '', reason: 'x', stream: 'events' } as const;
    const step = { ...stored([b]), letters: [{ ...letter, entryId: a, deliveries: 1, raw: Buffer.from('x') }] };
    await expect(stream.acknowledge(step)).rejects.toThrow('WRONGTYPE');
    expect((await stream.facts()).pending).toBe(2);
    stream.close();
  });

  it('balances whenever it is looked at, while entries are read, stored and acknowledged', async () => {
    const judge = openStream('judge');
    await judge.ensureGroup();
    const unbalanced: unknown[] = [];
    let looks = 0;
    let done = false;
    const looking = (async () => {
      while (!done) {
        const facts = await judge.facts();
        looks++;
        if ((ledgerOf({ facts, spill: NO_SPILL })?.balance ?? 0) !== 0) unbalanced.push(facts);
      }
    })();
    await rig.withPlane({}, async (plane) => {
      for (let round = 0; round < 20; round++) {
        await rig.send(...rig.trades(50));
        await rig.client.xadd('events', '*', 'envelope', 'nonsense');
      }
      await until('all are acknowledged', () => counts(plane).acked === 20 * 51);
    });
    done = true;
    await looking;
    judge.close();
    expect(looks).toBeGreaterThan(50);
    expect(unbalanced).toEqual([]);
  });
});
