import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { DOORBELL_BYTES, Doorbell } from './doorbell.ts';
import { LoopConsumer } from './loop-consumer.ts';
import { SharedMemory } from './memory.ts';
import { RingConsumer, RingProducer } from './ring.ts';
import { admitToRing, formatRing } from './ring-ends.ts';
import { recordRing, ringBytes } from './ring-layout.ts';

function consumerOf(options: {
  pollMs: number;
  onRecord?: (value: number) => void;
  onError?: (error: unknown) => void;
}) {
  const shape = recordRing(16, 8);
  const memory = new SharedMemory(new SharedArrayBuffer(DOORBELL_BYTES + ringBytes(shape)));
  formatRing(memory, DOORBELL_BYTES, shape);
  const producer = new RingProducer(memory, DOORBELL_BYTES, admitToRing(memory, DOORBELL_BYTES, 'producer'));
  const ring = new RingConsumer(memory, DOORBELL_BYTES, admitToRing(memory, DOORBELL_BYTES, 'consumer'));
  const doorbell = new Doorbell(memory, 0);
  const events = new EventTarget();
  const values: number[] = [];
  const take = (offset: number) => {
    const value = memory.get(offset / 4);
    options.onRecord?.(value);
    values.push(value);
    events.dispatchEvent(new Event('record'));
  };
  const onError = options.onError ?? ((error: unknown) => expect.fail(String(error)));
  const consumer = new LoopConsumer(memory, 0, () => ring.drain(take, 4), {
    pollMs: options.pollMs,
    parkMs: 60_000,
    onError,
  });
  const put = async (value: number) => {
    const handled = once(events, 'record');
    memory.set(producer.claim() / 4, value);
    producer.publish();
    doorbell.ring();
    await handled;
  };
  return { consumer, values, put };
}

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

describe('a consumer on an event loop', () => {
  it.each([0, 5])(
    'is woken by the doorbell when it sleeps and sees records while it polls (pollMs %i)',
    async (pollMs) => {
      const { consumer, values, put } = consumerOf({ pollMs });
      for (let value = 0; value < 20; value++) {
        await turns(value % 4);
        await put(value);
      }
      expect(values).toEqual(Array.from({ length: 20 }, (_, index) => index));
      consumer.close();
    },
  );

  it('goes on after a handler threw, and reports it', async () => {
    const errors: unknown[] = [];
    const onRecord = (value: number) => {
      if (value === 1) throw new Error('bad record');
    };
    const { consumer, values, put } = consumerOf({ pollMs: 0, onRecord, onError: (error) => errors.push(error) });
    void put(1);
    await turns(5);
    await put(2);
    expect(values).toEqual([2]);
    expect(errors).toMatchObject([{ message: 'bad record' }]);
    consumer.close();
  });
});
