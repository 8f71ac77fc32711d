import { describe, expect, it } from 'vitest';
import { FENCED, NO_ROOM } from './layout.ts';
import { SharedMemory } from './memory.ts';
import { RingConsumer, RingProducer } from './ring.ts';
import { admitToRing, formatRing, inspectRing } from './ring-ends.ts';
import { frameRing, recordRing, ringBytes } from './ring-layout.ts';

function ringAt(at: number, capacity: number, firstPosition = 0) {
  const shape = recordRing(capacity, 8);
  const memory = new SharedMemory(new SharedArrayBuffer(at + ringBytes(shape)));
  formatRing(memory, at, shape, firstPosition);
  const producer = new RingProducer(memory, at, admitToRing(memory, at, 'producer'));
  const consumer = new RingConsumer(memory, at, admitToRing(memory, at, 'consumer'));
  const claim = (value: number) => {
    const offset = producer.claim();
    if (offset >= 0) memory.set(offset / 4, value);
    return offset;
  };
  const put = (value: number) => {
    const offset = claim(value);
    if (offset >= 0) producer.publish();
    return offset;
  };
  const drain = (limit = 100, from = consumer) => {
    const values: number[] = [];
    from.drain((offset) => values.push(memory.get(offset / 4)), limit);
    return values;
  };
  return { memory, producer, consumer, claim, put, drain };
}

describe('a ring of records', () => {
  it.each([0, 0x7fff_fffe, -3])('keeps order and content across many turns, from position %i', (first) => {
    const { put, drain } = ringAt(256, 4, first);
    for (let turn = 0; turn < 10; turn++) {
      for (let value = 0; value < 3; value++) expect(put(turn * 3 + value)).toBeGreaterThan(0);
      expect(drain()).toEqual([turn * 3, turn * 3 + 1, turn * 3 + 2]);
    }
  });

  it('refuses by value when full, counts it where anybody can see, and loses nothing that it took', () => {
    const { memory, producer, put, drain } = ringAt(0, 4);
    expect([1, 2, 3, 4].map(put).every((offset) => offset >= 0)).toBe(true);
    expect(put(5)).toBe(NO_ROOM);
    expect(producer.room()).toBe(0);
    expect(inspectRing(memory, 0)).toEqual({ capacity: 4, used: 4, refused: 1 });
    expect(drain(1)).toEqual([1]);
    expect(producer.room()).toBe(1);
    expect(put(5)).toBeGreaterThan(0);
    expect(drain()).toEqual([2, 3, 4, 5].slice(0, 3));
    expect(drain()).toEqual([5]);
  });

  it('shows a batch of claims only when it is published, or not at all when abandoned', () => {
    const { producer, claim, drain } = ringAt(0, 8);
    claim(1);
    claim(2);
    expect(drain()).toEqual([]);
    producer.publish();
    expect(drain()).toEqual([1, 2]);
    claim(3);
    producer.abandon();
    claim(4);
    producer.publish();
    expect(drain()).toEqual([4]);
  });

  it('hands out records side by side for a kernel, up to the end of the ring', () => {
    const { consumer, put, drain } = ringAt(0, 4);
    put(0);
    put(0);
    drain();
    for (const value of [1, 2, 3]) put(value);
    expect(consumer.takeRun(10)).toBe(2);
    consumer.finishRun(2);
    expect(consumer.takeRun(10)).toBe(1);
    consumer.finishRun(1);
    expect(consumer.takeRun(10)).toBe(0);
  });

  it('drops the record that a handler threw on and no other', () => {
    const { consumer, put, drain } = ringAt(0, 8);
    for (const value of [1, 2, 3]) put(value);
    let seen = 0;
    const failing = () => {
      if (++seen === 2) throw new Error('cannot');
    };
    expect(() => consumer.drain(failing, 10)).toThrow('cannot');
    expect(drain()).toEqual([3]);
  });

  it('goes on after its consumer died: the record in hand is gone, none comes twice', () => {
    const { memory, consumer, put, drain } = ringAt(0, 8);
    for (const value of [1, 2, 3, 4]) put(value);
    let next: RingConsumer | undefined;
    consumer.drain((offset) => {
      // Death while record 2 is in hand: nothing of this consumer runs after this point.
      if (memory.get(offset / 4) === 2) next = new RingConsumer(memory, 0, admitToRing(memory, 0, 'consumer'));
    }, 2);
    expect(drain(10, next!)).toEqual([3, 4]);
    expect(drain(10, consumer)).toEqual([]);
  });

  it('fences off a producer of an earlier life, also one that had claimed before', () => {
    const { memory, producer, claim, put, drain } = ringAt(0, 8);
    put(1);
    claim(66);
    const next = new RingProducer(memory, 0, admitToRing(memory, 0, 'producer'));
    expect(producer.publish()).toBe(false);
    expect(claim(67)).toBe(FENCED);
    expect(producer.offer(new Uint8Array(8))).toBe(FENCED);
    expect(next.offer(Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0))).toBe(0);
    expect(drain()).toEqual([1, 2]);
  });

  it('is refused in a shape or a place that cannot work', () => {
    expect(() => recordRing(6, 8)).toThrow("a ring's capacity is a power of two, got 6");
    expect(() => recordRing(8, 12)).toThrow('a record is a multiple of 8 bytes, got 12');
    expect(() => frameRing(100)).toThrow('a ring of frames has a power of two of bytes, 64..1073741824, got 100');
    const memory = new SharedMemory(new SharedArrayBuffer(1024));
    expect(() => formatRing(memory, 0, recordRing(64, 8))).toThrow('a ring ending at byte 1152 must fit its buffer');
    formatRing(memory, 0, frameRing(64));
    admitToRing(memory, 0, 'producer');
    expect(() => new RingProducer(memory, 0, 1)).toThrow('records and frames do not mix in a ring');
  });
});
