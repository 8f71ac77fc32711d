import type { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { DeadLetterBox, type FiledLetter } from './dead-letter-box.ts';

const envelope = (payload: object) => {
  const data = {
    event_type: 'trade',
    source: 'unit',
    symbol: 'BTC',
    ts_event: 1_763_000_000_000,
    ts_collector: 1_763_000_000_000,
  };
  const id = '01JCVKZ3YT6W5S2Q8R4N7M9P0A';
  return Buffer.from(
    JSON.stringify({ type: 'data', version: '1.0.0', id, ts: data.ts_event, data: { ...data, payload } }),
  );
};
const nested = (levels: number): object => (levels === 0 ? {} : { deeper: nested(levels - 1) });

describe('a dead letter', () => {
  it('is refused by the limits of its own stream before it is sent there again', () => {
    const limits = new Map([
      ['narrow', { maxEntryBytes: 100, maxDepth: 8 }],
      ['wide', { maxEntryBytes: 1 << 20, maxDepth: 64 }],
    ]);
    const box = new DeadLetterBox({} as Redis, 'dlq', (stream) => limits.get(stream));
    const objection = (stream: string, raw: Buffer) => box.objection({ stream } as FiledLetter, raw)?.split(' ')[0];
    const long = envelope({ text: 'x'.repeat(300_000) });
    expect([objection('narrow', long), objection('wide', long), objection('other', long)]).toEqual([
      'too_big',
      undefined,
      'too_big',
    ]);
    const deep = envelope(nested(40));
    expect([objection('wide', deep), objection('other', deep)]).toEqual([undefined, 'too_deep']);
  });
});
