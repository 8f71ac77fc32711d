import type { Program, Scenario } from './explorer.ts';
import type { Mailboxes } from './mailboxes.ts';
import { SIMULATED_BYTES, type SimulatedMemory } from './simulated-memory.ts';

const RING_AT = 128;
const RECORD_BYTES = 8;
/** The second word of every record is made from the first, so that a torn or invented record shows. */
const sealOf = (value: number) => value * 31 + 7;

export function expectInOrder(values: readonly number[], expected: readonly number[]): void {
  if (values.join() !== expected.join()) throw new Error(`expected ${expected.join()}, got ${values.join()}`);
}

/** A run of the numbers 1, 2, 3 ... as far as it goes. */
export function expectPrefix(values: readonly number[], all: readonly number[]): void {
  expectInOrder(values, all.slice(0, values.length));
}

interface RingCase {
  readonly capacity: number;
  readonly firstPosition?: number;
}

export function ringTools(boxes: Mailboxes, { capacity, firstPosition = 0 }: RingCase) {
  const { ends, ring, ringLayout } = boxes;
  const setup = (memory: SimulatedMemory) => {
    ends.formatRing(memory, RING_AT, ringLayout.recordRing(capacity, RECORD_BYTES), firstPosition);
    ends.admitToRing(memory, RING_AT, 'producer');
    ends.admitToRing(memory, RING_AT, 'consumer');
  };
  const producer = (memory: SimulatedMemory, life = 1) => new ring.RingProducer(memory, RING_AT, life);
  const consumer = (memory: SimulatedMemory, life = 1) => new ring.RingConsumer(memory, RING_AT, life);
  const admit = (memory: SimulatedMemory, end: 'producer' | 'consumer') => ends.admitToRing(memory, RING_AT, end);
  const record = (value: number) => new Uint8Array(Int32Array.of(value, sealOf(value)).buffer);
  const reading = (memory: SimulatedMemory, note: (value: number) => void) => (offset: number) => {
    const value = memory.get(offset / 4);
    if (memory.get(offset / 4 + 1) !== sealOf(value)) throw new Error(`a torn or invented record: ${value}`);
    note(value);
  };
  return { setup, producer, consumer, admit, record, reading };
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, index) => from + index);

/** Everything offered arrives once, in order and whole; what was refused does not. */
export function offersAndDrains(boxes: Mailboxes, ringCase: RingCase & { records: number; drains: number }): Scenario {
  const tools = ringTools(boxes, ringCase);
  const producing: Program = (memory, self) => {
    const producer = tools.producer(memory);
    for (const value of numbers(1, ringCase.records)) {
      if (producer.offer(tools.record(value)) === 0) self.note(value);
    }
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    const read = tools.reading(memory, self.note);
    for (let drain = 0; drain < ringCase.drains; drain++) consumer.drain(read, 2);
    self.join(0);
    for (let drain = 0; drain < 3; drain++) consumer.drain(read, 8);
  };
  return {
    setup: tools.setup,
    threads: [producing, consuming],
    check: ([sent, got]) => expectInOrder(got!, sent!),
  };
}

/** A producer that waits for room gets everything through: room that was given back is seen. */
export function waitsForRoom(boxes: Mailboxes, records: number): Scenario {
  const tools = ringTools(boxes, { capacity: 2 });
  const producing: Program = (memory) => {
    const producer = tools.producer(memory);
    for (const value of numbers(1, records)) {
      while (producer.room() < 1);
      if (producer.offer(tools.record(value)) !== 0) throw new Error('refused though there was room');
    }
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    let got = 0;
    while (got < records) got += consumer.drain(tools.reading(memory, self.note), 2);
  };
  return {
    setup: tools.setup,
    threads: [producing, consuming],
    check: ([, got]) => expectInOrder(got!, numbers(1, records)),
    preemptions: 2,
  };
}

/** A ring that was full takes records again once something was drained. */
export function takesAgainAfterFull(boxes: Mailboxes): Scenario {
  const tools = ringTools(boxes, { capacity: 2 });
  const producing: Program = (memory, self) => {
    const producer = tools.producer(memory);
    for (const value of [1, 2, 3]) self.note(producer.offer(tools.record(value)));
    self.join(1);
    self.note(producer.offer(tools.record(4)));
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    while (consumer.drain(tools.reading(memory, self.note), 1) === 0);
  };
  return {
    setup: tools.setup,
    threads: [producing, consuming],
    // Whether the third found room depends on the order; if it did not, the fourth does.
    check: ([outcomes]) => {
      if (outcomes![2] !== 0 && outcomes![3] !== 0) throw new Error('refused though there was room');
    },
  };
}

/** A batch becomes visible as a whole; runs of records lie side by side. */
export function publishesBatches(boxes: Mailboxes): Scenario {
  const tools = ringTools(boxes, { capacity: 4 });
  const producing: Program = (memory) => {
    const producer = tools.producer(memory);
    for (const batch of [
      [1, 2],
      [3, 4],
    ]) {
      for (const value of batch) {
        const offset = producer.claim();
        memory.write(offset, tools.record(value));
      }
      producer.publish();
    }
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    const read = tools.reading(memory, self.note);
    for (let look = 0; look < 3; look++) {
      const count = consumer.takeRun(8);
      if (count % 2 !== 0) throw new Error(`half of a batch was visible: ${count} records`);
      for (let index = 0; index < count; index++) read(consumer.runOffset + index * RECORD_BYTES);
      if (count > 0) consumer.finishRun(count);
    }
  };
  return { setup: tools.setup, threads: [producing, consuming], check: ([, got]) => expectPrefix(got!, [1, 2, 3, 4]) };
}

/** An object of an earlier life that is used again publishes nothing, also what it had claimed before. */
export function fencesEarlierLives(boxes: Mailboxes): Scenario {
  const tools = ringTools(boxes, { capacity: 4 });
  const producing: Program = (memory) => {
    const old = tools.producer(memory);
    old.offer(tools.record(1));
    memory.write(old.claim(), tools.record(99));
    const next = tools.producer(memory, tools.admit(memory, 'producer'));
    old.publish();
    memory.write(next.claim(), tools.record(2));
    memory.write(next.claim(), tools.record(3));
    old.offer(tools.record(98));
    next.publish();
    old.offer(tools.record(97));
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    for (let drain = 0; drain < 3; drain++) consumer.drain(tools.reading(memory, self.note), 4);
    self.join(0);
    for (let drain = 0; drain < 2; drain++) consumer.drain(tools.reading(memory, self.note), 4);
  };
  return {
    setup: tools.setup,
    threads: [producing, consuming],
    check: ([, got]) => expectInOrder(got!, [1, 2, 3]),
    preemptions: 2,
  };
}

/** The producer dies anywhere; its published records and those of its next life arrive whole. */
export function survivesProducerDeath(boxes: Mailboxes): Scenario {
  const tools = ringTools(boxes, { capacity: 4, firstPosition: -2 });
  const mortal: Program = (memory, self) => {
    const producer = tools.producer(memory);
    for (const value of [1, 2]) {
      producer.offer(tools.record(value));
      self.note(value);
    }
  };
  const nextLife: Program = (memory, self) => {
    self.join(0);
    const producer = tools.producer(memory, tools.admit(memory, 'producer'));
    for (const value of [11, 12]) producer.offer(tools.record(value));
  };
  const consuming: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    const read = tools.reading(memory, self.note);
    consumer.drain(read, 4);
    self.join(1);
    for (let drain = 0; drain < 3; drain++) consumer.drain(read, 4);
  };
  return {
    setup: tools.setup,
    threads: [mortal, nextLife, consuming],
    check: ([sent, , got]) => {
      const before = got!.filter((value) => value < 10);
      if (before.length < sent!.length) throw new Error('a record that was published is lost');
      expectPrefix(before, [1, 2]);
      expectInOrder(got!.slice(before.length), [11, 12]);
    },
    mortal: [0],
    preemptions: 1,
  };
}

/** The consumer dies anywhere; the record in its hand is lost at most, and none is handed out twice. */
export function survivesConsumerDeath(boxes: Mailboxes): Scenario {
  const tools = ringTools(boxes, { capacity: 4 });
  const producing: Program = (memory) => {
    const producer = tools.producer(memory);
    for (const value of [1, 2, 3]) producer.offer(tools.record(value));
  };
  const mortal: Program = (memory, self) => {
    const consumer = tools.consumer(memory);
    for (let drain = 0; drain < 2; drain++) consumer.drain(tools.reading(memory, self.note), 4);
  };
  const nextLife: Program = (memory, self) => {
    self.join(0);
    self.join(1);
    const consumer = tools.consumer(memory, tools.admit(memory, 'consumer'));
    for (let drain = 0; drain < 2; drain++) consumer.drain(tools.reading(memory, self.note), 4);
  };
  return {
    setup: tools.setup,
    threads: [producing, mortal, nextLife],
    check: ([, before, after]) => {
      const got = [...before!, ...after!];
      const lost = [1, 2, 3].filter((value) => !got.includes(value));
      if (lost.length > 1) throw new Error(`lost ${lost.join()}, only the record in hand may be`);
      expectInOrder(
        got,
        [1, 2, 3].filter((value) => !lost.includes(value)),
      );
    },
    mortal: [1],
    preemptions: 1,
  };
}

/** Frames of several lengths pass the end of the ring behind a padding frame. */
export function framesPassTheEnd(boxes: Mailboxes, firstPosition: number): Scenario {
  const { ends, frames, ringLayout } = boxes;
  const shape = ringLayout.frameRing(128);
  const at = SIMULATED_BYTES - ringLayout.ringBytes(shape);
  const setup = (memory: SimulatedMemory) => {
    ends.formatRing(memory, at, shape, firstPosition);
    ends.admitToRing(memory, at, 'producer');
    ends.admitToRing(memory, at, 'consumer');
  };
  const lengths = [24, 44, 8, 48];
  const contentOf = (length: number) => new Uint8Array(new Int32Array(length / 4).fill(length * 257).buffer);
  const producing: Program = (memory, self) => {
    const producer = new frames.FrameProducer(memory, at, 1);
    lengths.forEach((length, tag) => {
      if (producer.offer(contentOf(length), tag) === 0) self.note(tag);
    });
  };
  const consuming: Program = (memory, self) => {
    const consumer = new frames.FrameConsumer(memory, at, 1);
    const read = (offset: number, bytes: number, tag: number) => {
      const content = new Uint8Array(bytes);
      memory.read(offset, content);
      if (content.join() !== contentOf(lengths[tag]!).join()) throw new Error(`frame ${tag} is not what was sent`);
      self.note(tag);
    };
    for (let drain = 0; drain < 3; drain++) consumer.drain(read, 1);
    self.join(0);
    for (let drain = 0; drain < 3; drain++) consumer.drain(read, 8);
  };
  return { setup, threads: [producing, consuming], check: ([sent, got]) => expectInOrder(got!, sent!) };
}
