import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EntryParser, type StreamEntry } from './entry-parser.ts';

const bulk = (bytes: Buffer) => Buffer.concat([Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n')]);

interface Sent {
  readonly id: string;
  /** Null for an entry that was trimmed away. */
  readonly fields: readonly Buffer[] | null;
}

function replyOf(entries: readonly Sent[]): Buffer {
  const parts = entries.map(({ id, fields }) =>
    Buffer.concat([
      Buffer.from('*2\r\n'),
      bulk(Buffer.from(id)),
      Buffer.from(fields === null ? '*-1\r\n' : `*${fields.length}\r\n`),
      ...(fields ?? []).map(bulk),
    ]),
  );
  return Buffer.concat([
    Buffer.from('*1\r\n*2\r\n'),
    bulk(Buffer.from('events')),
    Buffer.from(`*${entries.length}\r\n`),
    ...parts,
  ]);
}

function parse(
  parser: EntryParser,
  reply: Buffer,
  cuts: readonly number[],
): readonly StreamEntry[] | Error | undefined {
  const places = [...new Set(cuts.map((cut) => cut % reply.length))].sort((a, b) => a - b);
  let answer: readonly StreamEntry[] | Error | undefined;
  let from = 0;
  for (const to of [...places.filter((place) => place > 0), reply.length]) {
    if (answer !== undefined) throw new Error('answered before the reply was whole');
    answer = parser.push(reply.subarray(from, to));
    from = to;
  }
  return answer;
}

const values = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes));
const names = fc.constantFrom('envelope', 'body', '').map((name) => Buffer.from(name));
const sent = fc.record({
  id: fc.tuple(fc.nat(), fc.nat()).map(([ms, seq]) => `${ms}-${seq}`),
  fields: fc.oneof(
    fc.constant(null),
    fc.array(fc.tuple(names, values), { minLength: 1, maxLength: 3 }).map((pairs) => pairs.flat()),
  ),
});

describe('the entry parser', () => {
  it('reads any reply, cut anywhere, and the next one after it', () => {
    fc.assert(
      fc.property(fc.array(sent, { maxLength: 6 }), fc.array(fc.nat(), { maxLength: 8 }), (entries, cuts) => {
        const parser = new EntryParser();
        for (let time = 0; time < 2; time++) {
          const answer = parse(parser, replyOf(entries), cuts) as readonly StreamEntry[];
          expect(answer.map(({ id }) => id)).toEqual(entries.map(({ id }) => id));
          for (const [at, { fields }] of entries.entries()) {
            const names = (fields ?? []).filter((_, n) => n % 2 === 0).map(String);
            const place = names.lastIndexOf('envelope');
            expect(answer[at]!.deleted).toBe(fields === null);
            expect(answer[at]!.body?.toString('hex')).toBe(
              place < 0 ? undefined : fields![place * 2 + 1]!.toString('hex'),
            );
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('tells silence and errors from entries', () => {
    const parser = new EntryParser();
    expect(parser.push(Buffer.from('*-1\r'))).toBeUndefined();
    expect(parser.push(Buffer.from('\n'))).toEqual([]);
    expect(parser.push(Buffer.from('-NOGROUP No such key\r\n'))).toEqual(new Error('NOGROUP No such key'));
    expect(parser.push(Buffer.from('+OK\r\n'))).toBeInstanceOf(Error);
  });
});
