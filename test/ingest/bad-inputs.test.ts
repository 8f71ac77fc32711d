import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEAD_LETTER_CODES } from '../../src/protocols/dead-letter.ts';
import { type Accepted, decodeEnvelope, isRefusal } from '../../src/protocols/envelope.ts';
import { envelopeSchemaText } from '../../src/protocols/envelope-schema.ts';
import { EventProducer } from '../../src/protocols/event-producer.ts';
import { JsonScanner, level } from '../../src/protocols/json-scanner.ts';
import { ulidFactory, ulidMilliseconds, ulidToUuid, uuidToUlid } from '../../src/protocols/ulid.ts';
import { BAD_INPUTS } from './bad-inputs.ts';

const NOW = 1_731_700_000_123_456_789n;
const producer = new EventProducer({
  source: 'binance',
  connectionId: 'binance-1',
  moduleVersion: '1.2.3',
  now: () => NOW,
});
const trade = () =>
  producer.event({ eventType: 'trade', symbol: 'BTC-USD', tsEvent: NOW - 1n, payload: { price: '64000.10' } });

function accepted(bytes: Buffer): Accepted {
  const outcome = decodeEnvelope(bytes);
  if (isRefusal(outcome)) throw new Error(JSON.stringify(outcome));
  return outcome;
}

describe('a bad entry', () => {
  it.each(BAD_INPUTS.map((input) => [input.name, input] as const))('%s gets its own code', (_, input) => {
    const made = input.make(trade().bytes.toString());
    if (made.field !== 'envelope') return expect(input.code).toBe('no_envelope_field');
    const outcome = decodeEnvelope(made.bytes);
    expect(isRefusal(outcome) ? outcome.code : 'accepted').toBe(input.code);
  });

  it('comes in at least 20 classes that cover every code of the decoder', () => {
    const later = ['refused_by_postgres', 'poison'];
    const expected = Object.keys(DEAD_LETTER_CODES).filter((code) => !later.includes(code));
    expect(new Set(BAD_INPUTS.map((input) => input.code))).toEqual(new Set(expected));
    expect(BAD_INPUTS.length).toBeGreaterThanOrEqual(20);
  });

  it('is refused with the path of its fault', () => {
    const spoiled = trade()
      .bytes.toString()
      .replace(/"ts_event":"\d+"/, '"ts_event":1.5');
    expect(decodeEnvelope(Buffer.from(spoiled))).toMatchObject({ code: 'bad_ts', path: 'data.ts_event' });
  });
});

describe('a good envelope', () => {
  it('keeps nanoseconds exactly, as digits or as an integer', () => {
    const text = trade().bytes.toString();
    const asInteger = text.replace(/"ts_event":"(\d+)"/, '"ts_event":$1');
    for (const form of [text, asInteger]) expect(accepted(Buffer.from(form)).tsEvent).toBe(NOW - 1n);
    expect(accepted(Buffer.from(text.replace(/"ts_event":"\d+"/, '"ts_event":9223372036854775807'))).tsEvent).toBe(
      2n ** 63n - 1n,
    );
  });

  it('hands its payload and meta on as the bytes that came in', () => {
    const row = accepted(trade().bytes);
    expect(row.raw.toString('utf8', row.payloadStart, row.payloadEnd)).toBe('{"price":"64000.10"}');
    expect(JSON.parse(row.raw.toString('utf8', row.metaStart, row.metaEnd))).toEqual({
      connection_id: 'binance-1',
      module_version: '1.2.3',
    });
    expect(row).toMatchObject({ source: 'binance', symbol: 'BTC-USD', connection: 'binance-1', eventType: 'trade' });
  });

  it('may have unknown fields, any order and white space', () => {
    const { data, ...rest } = JSON.parse(trade().bytes.toString());
    const text = JSON.stringify({ data: { ...data, later: [1, { a: null }] }, extra: true, ...rest }, null, 2);
    expect(accepted(Buffer.from(text)).symbol).toBe('BTC-USD');
  });

  it('may be a heartbeat or a control message', () => {
    expect(accepted(producer.heartbeat({ lag_ms: 3 }).bytes)).toMatchObject({
      eventType: 'heartbeat',
      tsEvent: NOW,
      symbol: '',
    });
    expect(accepted(producer.control('ping').bytes)).toMatchObject({ eventType: 'control', operation: 'ping' });
  });
});

describe('the JSON scanner', () => {
  const scanner = new JsonScanner(1);
  const top = level({});
  const parses = (text: string) => {
    try {
      const value: unknown = JSON.parse(text);
      return typeof value === 'object' && value !== null && !Array.isArray(value);
    } catch {
      return false;
    }
  };

  it('accepts every object that JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 6 })), (value) => {
        const text = JSON.stringify(value);
        const scanned = scanner.scan(Buffer.from(text), top);
        return scanned || ['forbidden_key', 'nul_character', 'lone_surrogate'].includes(scanner.code);
      }),
    );
  });

  it('accepts nothing that JSON.parse refuses, however a text is spoiled', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })),
        fc.nat(),
        fc.nat(255),
        fc.nat(2),
        (value, where, byte, how) => {
          const good = Buffer.from(JSON.stringify(value));
          const at = where % good.length;
          const bad =
            how === 0
              ? good.subarray(0, at)
              : Buffer.concat([good.subarray(0, at), Buffer.from([byte & 0x7f]), good.subarray(at + how - 1)]);
          const scanned = scanner.scan(bad, top);
          return !scanned || parses(bad.toString());
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('a ULID', () => {
  const ulids = fc.tuple(
    fc.nat(7),
    fc.array(fc.constantFrom(...'0123456789ABCDEFGHJKMNPQRSTVWXYZ'), { minLength: 25, maxLength: 25 }),
  );

  it('becomes a uuid and back, in the same order', () => {
    fc.assert(
      fc.property(ulids, ulids, ([a, restA], [b, restB]) => {
        const left = `${a}${restA.join('')}`;
        const right = `${b}${restB.join('')}`;
        expect(uuidToUlid(ulidToUuid(left))).toBe(left);
        expect(ulidToUuid(left) < ulidToUuid(right)).toBe(left < right);
      }),
    );
  });

  it('rises within a millisecond, over a clock that steps back, and over a carry', () => {
    const next = ulidFactory();
    const times = [5, 5, 5, 4, 6, 6, ...Array.from({ length: 2_000 }, () => 7)];
    const made = times.map((ms) => next(ms));
    expect(new Set(made).size).toBe(made.length);
    expect([...made].sort()).toEqual(made);
  });

  it('holds its time', () => {
    expect(ulidMilliseconds(trade().id)).toBe(Number(NOW / 1_000_000n));
  });
});

describe('docs/envelope.schema.json', () => {
  it('is what the code says (npm run docs writes it)', () => {
    const path = fileURLToPath(new URL('../../../docs/envelope.schema.json', import.meta.url));
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual(JSON.parse(envelopeSchemaText()));
  });
});
