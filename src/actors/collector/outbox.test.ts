import { describe, expect, it } from 'vitest';
import type { EventType } from '../../protocols/envelope.ts';
import { Outbox } from './outbox.ts';

const entry = (type: EventType, size = 10) => ({ stream: 'events', type, bytes: Buffer.alloc(size) });

describe('the outbox', () => {
  it('keeps the upper half of its room for trades, and counts by type what it drops', () => {
    const outbox = new Outbox({ messages: 10, bytes: 1_000_000 });
    for (let at = 0; at < 8; at++) outbox.offer(entry('quote'));
    for (let at = 0; at < 8; at++) outbox.offer(entry('trade'));
    expect(outbox.length).toBe(10);
    expect(outbox.accepted).toEqual({ quote: 5, trade: 5 });
    expect(outbox.dropped).toEqual({ quote: 3, trade: 3 });
  });

  it('is bounded in bytes as well', () => {
    const outbox = new Outbox({ messages: 1000, bytes: 100 });
    expect(outbox.offer(entry('trade', 60))).toBe(true);
    expect(outbox.offer(entry('trade', 60))).toBe(false);
    expect(outbox.bytes).toBe(60);
  });

  it('gives the oldest first and keeps them until they are settled', () => {
    const outbox = new Outbox({ messages: 20_000, bytes: 1_000_000 });
    for (let at = 0; at < 10_000; at++) outbox.offer({ ...entry('trade', 1), stream: String(at) });
    for (let from = 0; from < 10_000; from += 500) {
      expect(outbox.peek(500)).toEqual(outbox.peek(500));
      expect(outbox.peek(500)[0]!.stream).toBe(String(from));
      outbox.settle(500);
    }
    expect([outbox.length, outbox.bytes]).toEqual([0, 0]);
  });
});
