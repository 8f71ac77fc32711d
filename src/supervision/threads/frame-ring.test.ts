import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameConsumer, FrameProducer } from './frame-ring.ts';
import { FENCED, NO_ROOM, TOO_LONG } from './layout.ts';
import { SharedMemory } from './memory.ts';
import { admitToRing, formatRing } from './ring-ends.ts';
import { frameRing, ringBytes } from './ring-layout.ts';

function ringOf(bytes: number, firstPosition = 0) {
  const shape = frameRing(bytes);
  const memory = new SharedMemory(new SharedArrayBuffer(ringBytes(shape)));
  formatRing(memory, 0, shape, firstPosition);
  const producer = new FrameProducer(memory, 0, admitToRing(memory, 0, 'producer'));
  const consumer = new FrameConsumer(memory, 0, admitToRing(memory, 0, 'consumer'));
  const drain = (limit = 100) => {
    const frames: [string, number][] = [];
    consumer.drain((offset, bytes, tag) => {
      frames.push([Buffer.from(memory.bytes.slice(offset, offset + bytes)).toString(), tag]);
    }, limit);
    return frames;
  };
  return { memory, producer, consumer, drain };
}

describe('a ring of frames', () => {
  it('carries byte strings of any length with their tags, the empty one too', () => {
    const { producer, drain } = ringOf(128);
    for (const [text, tag] of [
      ['', 1],
      ['a', 2],
      ['twelve bytes', 3],
    ] as const) {
      expect(producer.offer(Buffer.from(text), tag)).toBe(0);
    }
    expect(drain(2)).toEqual([
      ['', 1],
      ['a', 2],
    ]);
    expect(drain()).toEqual([['twelve bytes', 3]]);
  });

  it('pads at the end of the ring instead of splitting a frame', () => {
    const { producer, drain } = ringOf(64);
    producer.offer(Buffer.from('x'.repeat(24)));
    drain();
    expect(producer.offer(Buffer.from('y'.repeat(16)))).toBe(0);
    drain();
    expect(producer.offer(Buffer.from('z'.repeat(16)))).toBe(0);
    expect(drain()).toEqual([['z'.repeat(16), 0]]);
  });

  it('refuses by value what is too long for ever and what has no room now', () => {
    const { memory, producer } = ringOf(64);
    expect(producer.payloadBytesMax).toBe(24);
    expect(producer.offer(new Uint8Array(25))).toBe(TOO_LONG);
    producer.offer(new Uint8Array(24));
    producer.offer(new Uint8Array(24));
    expect(producer.offer(new Uint8Array(0))).toBe(NO_ROOM);
    admitToRing(memory, 0, 'producer');
    expect(producer.offer(new Uint8Array(0))).toBe(FENCED);
  });

  it('gives out exactly what went in, whatever the lengths, batches and the position of the counters', () => {
    const step = fc.oneof(
      fc.record({ put: fc.string({ maxLength: 60 }) }),
      fc.record({ drain: fc.integer({ min: 1, max: 5 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: -20, max: 0 }), (steps, first) => {
        const { producer, drain } = ringOf(256, first);
        const sent: string[] = [];
        const got: string[] = [];
        for (const each of steps) {
          if ('put' in each) {
            if (producer.offer(Buffer.from(each.put)) === 0) sent.push(each.put);
          } else got.push(...drain(each.drain).map(([text]) => text));
        }
        for (let turn = 0; turn < 3; turn++) got.push(...drain().map(([text]) => text));
        expect(got).toEqual(sent);
      }),
      process.env['TAPEWORKS_SEED'] === undefined ? {} : { seed: Number(process.env['TAPEWORKS_SEED']) },
    );
  });
});
