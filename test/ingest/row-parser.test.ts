import { describe, expect, it } from 'vitest';
import { decodeEntries } from '../../src/actors/kernel-ingest/decode-entries.ts';
import { EntryParser } from '../../src/actors/kernel-ingest/entry-parser.ts';
import { PlainRow, type ReadEntry, RowParser } from '../../src/actors/kernel-ingest/row-parser.ts';
import { copyParts } from '../../src/actors/sink/copy-rows.ts';
import { EnvelopeKernel } from '../../src/kernels/envelopes.ts';
import type { DeadLetter } from '../../src/protocols/dead-letter.ts';
import { EventProducer } from '../../src/protocols/event-producer.ts';
import { rawOf } from '../../src/protocols/ingest.ts';
import { BAD_INPUTS } from './bad-inputs.ts';
import { EventLoad } from './load.ts';
import { Random, runSeed } from './random.ts';

// Rows that are made while a reply is read must be those that the full decoder would have made, to the byte; and whatever
// is not plain must come out as it went in.

const NOW = 1_731_700_000_123_456_789n;
const LIMITS = { bytesMax: 256 * 1024, depthMax: 32 };
const SETTINGS = { maxEntryBytes: LIMITS.bytesMax, maxDepth: LIMITS.depthMax };

type Fields = readonly (string | Buffer)[];

const bulk = (value: string | Buffer) => {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);
};

function replyOf(entries: readonly (Fields | undefined)[]): Buffer {
  const parts = [Buffer.from(`*1\r\n*2\r\n$6\r\nevents\r\n*${entries.length}\r\n`)];
  for (const [at, fields] of entries.entries()) {
    parts.push(Buffer.from('*2\r\n'), bulk(`${1_731_700_000_000 + at}-${at % 3}`));
    if (fields === undefined) parts.push(Buffer.from('*-1\r\n'));
    else parts.push(Buffer.from(`*${fields.length}\r\n`), ...fields.map(bulk));
  }
  return Buffer.concat(parts);
}

function read(parser: RowParser, reply: Buffer, piece: () => number): readonly ReadEntry[] {
  for (let at = 0; at < reply.length; ) {
    const next = Math.min(reply.length, at + piece());
    const answer = parser.push(Buffer.from(reply.subarray(at, next)));
    at = next;
    if (answer instanceof Error) throw answer;
    if (answer !== undefined) {
      expect(at).toBe(reply.length);
      return answer;
    }
  }
  throw new Error('the reply was not whole');
}

/** Reads a reply both ways and compares all that comes of it. Answers how many rows were made on the way. */
function compare(parser: RowParser, reply: Buffer, piece: () => number): number {
  const entries = read(parser, reply, piece);
  const expected = new EntryParser().push(reply);
  if (expected === undefined || expected instanceof Error) throw new Error('the general parser failed');
  const ours = decodeEntries(entries, NOW, () => 1, 'events', SETTINGS);
  const theirs = decodeEntries(expected, NOW, () => 1, 'events', SETTINGS);
  expect(ours.letters.map(spelled)).toEqual(theirs.letters.map(spelled));
  expect(ours.trimmed).toEqual(theirs.trimmed);
  expect(ours.bytes).toBe(theirs.bytes);
  expect(ours.rows.map(({ entryId }) => entryId)).toEqual(theirs.rows.map(({ entryId }) => entryId));
  expect(Buffer.concat(ours.rows.map(rawOf)).equals(Buffer.concat(theirs.rows.map(rawOf)))).toBe(true);
  expect(Buffer.concat(copyParts(ours.rows)).equals(Buffer.concat(copyParts(theirs.rows)))).toBe(true);
  for (const [at, row] of ours.rows.entries()) {
    const { source, connection, eventType } = theirs.rows[at]!.event;
    if (row.plain?.sender !== undefined) expect(row.plain.sender).toEqual({ source, connection });
    expect(row.plain?.eventType ?? eventType).toBe(eventType);
  }
  return entries.filter((entry) => entry instanceof PlainRow).length;
}

const spelled = (letter: DeadLetter) => ({ ...letter, raw: letter.raw.toString('latin1') });
const envelope = (text: string | Buffer): Fields => ['envelope', text];
const parser = () => new RowParser(LIMITS, () => NOW);
const whole = () => Number.POSITIVE_INFINITY;

/** What other producers may write: other orders, white space, number forms, odd but good values, and plain damage. */
function varied(random: Random, text: string): string | Buffer {
  const { data, ...rest } = JSON.parse(text) as { data: Record<string, unknown> };
  const shuffled = <T extends object>(object: T): T =>
    Object.fromEntries(
      Object.entries(object)
        .map((entry) => ({ entry, order: random.next() }))
        .sort((a, b) => a.order - b.order)
        .map(({ entry }) => entry),
    ) as T;
  const oddities: (() => string | Buffer)[] = [
    () => text,
    () => JSON.stringify(shuffled({ ...rest, data: shuffled(data) })),
    () => JSON.stringify({ ...rest, data }, null, 2),
    () => `\r\n ${JSON.stringify({ ...rest, data })}\t\n`,
    () => text.replace(/"ts_event":"(\d+)"/, '"ts_event":$1').replace(/"ts":"(\d+)"/, '"ts" : $1'),
    () => JSON.stringify({ ...rest, data: { ...data, meta: random.pick([null, {}, { connection_id: 'other' }]) } }),
    () => JSON.stringify({ ...rest, data: shuffled({ ...data, meta: undefined, extra: [1, -0.5, { deep: [[]] }] }) }),
    () => JSON.stringify({ ...rest, version: random.pick(['1.9.9', '1.10.0', '1.0.0-rc.1', '01.0.0', '1.0.x']), data }),
    () =>
      text.replace(
        '"payload":{',
        `"payload":{"n":${random.pick(['-0', '1e5', '-1.5', '1E-7', '0.0', '12345678901234567890'])},`,
      ),
    () =>
      text.replace(
        '"payload":{',
        `"payload":{"s":"${random.pick(['ü', '\\u00fc', 'a\\nb', '\\\\', '\\"', '\\ud83d\\ude00', '\u007f'])}",`,
      ),
    () =>
      text.replace(
        /"symbol":"[^"]*"/,
        `"symbol":"${random.pick(['', 'a\u007f', 'BTC/USD', 'ü-USD', 'x'.repeat(64), 'x'.repeat(65)])}"`,
      ),
    () =>
      text.replace(
        /"id":"[^"]*"/,
        `"id":"${random.pick(['01arz3ndektsv4rrffq69g5fav', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ', '00000000000000000000000000', '01ARZ3NDEKTSV4RRFFQ69G5FAU'])}"`,
      ),
    () =>
      text.replace(
        /"ts_collector":"\d+"/,
        `"ts_collector":${random.pick(['"0001"', '0', '9223372036854775807', '9223372036854775808', '"12345678901234567890"', '""', '-1', '1.0'])}`,
      ),
    () =>
      text.replace(
        /"event_type":"[^"]*"/,
        `"event_type":"${random.pick(['quote', 'orderbook', 'status', 'heartbeat', 'ohlcv', 'Trade'])}"`,
      ),
    () => text.replace('"type":"data"', `"type":"${random.pick(['heartbeat', 'control', 'ack', 'error', 'dato'])}"`),
    () => {
      const bytes = Buffer.from(text);
      bytes[random.below(bytes.length)] = random.below(256);
      return bytes;
    },
    () => text.slice(0, random.below(text.length)),
    () => {
      const at = random.below(text.length);
      return (
        text.slice(0, at) +
        random.pick(['"', '{', '}', '[', ']', ',', ':', ' ', '\\', '0', 'e', 'null']) +
        text.slice(at)
      );
    },
  ];
  return random.pick(oddities)();
}

describe('rows that are made while a reply is read', () => {
  it('are those of the full decoder, in whatever pieces the reply arrives and whatever is sent', () => {
    const seed = runSeed();
    const random = new Random(seed);
    const load = new EventLoad(random, 'connection-1', () => NOW);
    const one = parser();
    const rounds = process.env['TAPEWORKS_LONG'] === '1' ? 2_000 : 150;
    let made = 0;
    try {
      for (let round = 0; round < rounds; round++) {
        const entries = Array.from({ length: 20 }, () => envelope(varied(random, load.next().bytes.toString())));
        made += compare(one, replyOf(entries), random.chance(0.5) ? whole : () => 1 + random.below(900));
      }
    } catch (error) {
      throw new Error(`TAPEWORKS_SEED=${seed}`, { cause: error });
    }
    expect(made).toBeGreaterThan(rounds);
  });

  it('are made of no bad entry', () => {
    const producer = new EventProducer({ source: 'unit', connectionId: 'unit-1', now: () => NOW });
    const good = () => producer.event({ eventType: 'trade', symbol: 'BTC-USD', tsEvent: NOW, payload: { price: '1' } });
    const entries = BAD_INPUTS.map(({ make }) => {
      const { field, bytes } = make(good().bytes.toString());
      return [field, bytes];
    });
    expect(compare(parser(), replyOf(entries), whole)).toBe(0);
    expect(compare(parser(), replyOf([...entries, envelope(good().bytes)]), () => 4_096)).toBe(1);
  });

  it('stand between entries of other kinds, in order', () => {
    const good = new EventLoad(new Random(1), 'connection-1', () => NOW).next().bytes;
    const entries: (Fields | undefined)[] = [
      envelope(good),
      undefined,
      ['envelope', good, 'trace', 'abc'],
      ['trace', 'abc', 'envelope', good],
      ['body', good],
      ['envelope', good, 'envelope', good],
      ['', ''],
      envelope(good),
    ];
    expect(compare(parser(), replyOf(entries), () => 7)).toBe(2);
  });
});

describe('a reply that is larger than the kernel', () => {
  const load = new EventLoad(new Random(2), 'connection-1', () => NOW);
  const small = () => new RowParser(LIMITS, () => NOW, new EnvelopeKernel(LIMITS, 4_096, 5));

  it('is read in portions', () => {
    const entries = Array.from({ length: 200 }, () => envelope(load.next().bytes));
    for (const piece of [whole, () => 1_000, () => 13]) expect(compare(small(), replyOf(entries), piece)).toBe(200);
  });

  it('is left to the general parser from an entry on that does not fit', () => {
    const fat = envelope(
      load
        .next()
        .bytes.toString()
        .replace('"payload":{', `"payload":{"fat":"${'x'.repeat(9_000)}",`),
    );
    const entries = [envelope(load.next().bytes), fat, envelope(load.next().bytes)];
    const one = small();
    for (const piece of [whole, () => 500]) expect(compare(one, replyOf(entries), piece)).toBe(1);
    expect(compare(one, replyOf([envelope(load.next().bytes)]), whole)).toBe(1);
  });

  it('may have a field name that is longer than the memory', () => {
    const one = small();
    const reply = replyOf([['n'.repeat(3_000_000), 'v'], envelope(load.next().bytes)]);
    expect(compare(one, reply, () => 65_536)).toBe(0);
  });
});

describe('a reply without entries', () => {
  it('is nothing, or the error that Redis sent', () => {
    const one = parser();
    expect(one.push(Buffer.from('*-1\r\n'))).toEqual([]);
    expect(one.push(Buffer.from('-NOGROUP No such'))).toBeUndefined();
    expect(one.push(Buffer.from(' key\r\n'))).toEqual(new Error('NOGROUP No such key'));
    expect(one.push(Buffer.from('*-'))).toBeUndefined();
    expect(one.push(Buffer.from('1\r\n'))).toEqual([]);
  });

  it('is forgotten with its connection', () => {
    const one = parser();
    const reply = replyOf([envelope(new EventLoad(new Random(3), 'connection-1', () => NOW).next().bytes)]);
    expect(one.push(reply.subarray(0, 60))).toBeUndefined();
    one.reset();
    expect(compare(one, reply, whole)).toBe(1);
  });
});
