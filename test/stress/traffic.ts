// The duty cycles that the stress test runs in pinned threads and kills at random.
import { Doorbell } from '../../src/supervision/threads/doorbell.ts';
import type { DutyContext, DutyCycle } from '../../src/supervision/threads/duty-cycle.ts';
import { FrameConsumer, FrameProducer } from '../../src/supervision/threads/frame-ring.ts';
import { SharedMemory } from '../../src/supervision/threads/memory.ts';
import { RingConsumer, RingProducer } from '../../src/supervision/threads/ring.ts';
import { SlotReader, SlotWriter } from '../../src/supervision/threads/slot.ts';
import { Ledger } from './ledger.ts';
import { Random } from './random.ts';

export interface TrafficArgs {
  readonly buffer: SharedArrayBuffer;
  readonly mailboxAt: number;
  readonly mailboxLife: number;
  readonly consumerDoorbellAt: number;
  readonly ledgerAt: number;
  readonly seed: number;
  /** What a producer does when there is no room: wait, or drop the value and go on. */
  readonly whenFull: 'wait' | 'drop';
}

export const RECORD_BYTES = 64;
export const BOOK_BYTES = 344;
const FRAME_BYTES_MAX = 200;
const BURST_MAX = 200;
const PAUSE_ONE_IN = 40;

/** Every word of a value is made from its life, its number and the word's place: any mixture of two values shows. */
const wordOf = (life: number, number: number, place: number) =>
  Math.imul(life ^ Math.imul(number, 0x9e3779b1), place + 3) | 0;

function fill(words: Int32Array, at: number, count: number, life: number, number: number): void {
  words[at] = life;
  words[at + 1] = number;
  for (let place = 2; place < count; place++) words[at + place] = wordOf(life, number, place);
}

function isWhole(words: Int32Array, at: number, count: number): boolean {
  const life = words[at]!;
  const number = words[at + 1]!;
  for (let place = 2; place < count; place++) if (words[at + place] !== wordOf(life, number, place)) return false;
  return true;
}

/** How a kind of mailbox takes one value: false when it has no room. */
type Put = (number: number) => boolean;

function producing({ life, args }: DutyContext, mailbox: (memory: SharedMemory, args: TrafficArgs) => Put): DutyCycle {
  const traffic = args as TrafficArgs;
  const memory = new SharedMemory(traffic.buffer);
  const ledger = new Ledger(traffic.buffer, traffic.ledgerAt);
  const doorbell = new Doorbell(memory, traffic.consumerDoorbellAt);
  const random = new Random(traffic.seed + life);
  const put = mailbox(memory, traffic);
  let number = 0;
  const doWork = () => {
    if (random.next(PAUSE_ONE_IN) === 0) return 0;
    const burst = 1 + random.next(BURST_MAX);
    for (let each = 0; each < burst; each++) {
      const taken = put(number + 1);
      if (!taken && traffic.whenFull === 'wait') return each;
      number++;
      ledger.offered(life, number);
      if (taken) doorbell.ring();
    }
    return burst;
  };
  return { doWork };
}

export const recordProducer = (context: DutyContext): DutyCycle =>
  producing(context, (memory, args) => {
    const producer = new RingProducer(memory, args.mailboxAt, args.mailboxLife);
    return (number) => {
      if (args.whenFull === 'wait' && producer.room() < 1) return false;
      const offset = producer.claim();
      if (offset < 0) return false;
      fill(memory.words, offset / 4, RECORD_BYTES / 4, context.life, number);
      return producer.publish();
    };
  });

export const frameProducer = (context: DutyContext): DutyCycle =>
  producing(context, (memory, args) => {
    const producer = new FrameProducer(memory, args.mailboxAt, args.mailboxLife);
    return (number) => {
      const words = 2 + ((number * 7) % (FRAME_BYTES_MAX / 4));
      const offset = producer.claim(words * 4, number);
      if (offset < 0) return false;
      fill(memory.words, offset / 4, words, context.life, number);
      return producer.publish();
    };
  });

export const slotWriter = (context: DutyContext): DutyCycle =>
  producing(context, (memory, args) => {
    const writer = new SlotWriter(memory, args.mailboxAt, args.mailboxLife);
    return (number) => {
      fill(memory.words, writer.offset / 4, BOOK_BYTES / 4, context.life, number);
      return writer.publish() >= 0;
    };
  });

function receiving(args: unknown) {
  const traffic = args as TrafficArgs;
  const memory = new SharedMemory(traffic.buffer);
  const ledger = new Ledger(traffic.buffer, traffic.ledgerAt);
  const check = (offset: number, bytes: number) => {
    const at = offset / 4;
    if (!isWhole(memory.words, at, bytes / 4)) ledger.torn();
    else ledger.arrived(memory.words[at]!, memory.words[at + 1]!);
  };
  return { traffic, memory, ledger, check };
}

export function recordConsumer({ args }: DutyContext): DutyCycle {
  const { traffic, memory, check } = receiving(args);
  const consumer = new RingConsumer(memory, traffic.mailboxAt, traffic.mailboxLife);
  const take = (offset: number) => check(offset, RECORD_BYTES);
  return { doWork: () => consumer.drain(take, 256) };
}

export function frameConsumer({ args }: DutyContext): DutyCycle {
  const { traffic, memory, ledger, check } = receiving(args);
  const consumer = new FrameConsumer(memory, traffic.mailboxAt, traffic.mailboxLife);
  const take = (offset: number, bytes: number, tag: number) => {
    if (memory.words[offset / 4 + 1] !== tag) ledger.torn();
    else check(offset, bytes);
  };
  return { doWork: () => consumer.drain(take, 256) };
}

export function slotReader({ args }: DutyContext): DutyCycle {
  const { traffic, memory, check } = receiving(args);
  const reader = new SlotReader(memory, traffic.mailboxAt, traffic.mailboxLife);
  const doWork = () => {
    if (!reader.take()) return 0;
    check(reader.offset, BOOK_BYTES);
    return 1;
  };
  return { doWork };
}
