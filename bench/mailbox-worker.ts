// The far ends that bench/mailbox.ts measures against, each in a thread of its own.
import type { MessagePort } from 'node:worker_threads';
import { Doorbell } from '../src/supervision/threads/doorbell.ts';
import type { DutyContext, DutyCycle } from '../src/supervision/threads/duty-cycle.ts';
import type { HostContext, Hosted } from '../src/supervision/threads/loop-thread.ts';
import { SharedMemory } from '../src/supervision/threads/memory.ts';
import { RingConsumer, RingProducer } from '../src/supervision/threads/ring.ts';
import { SlotReader, SlotWriter } from '../src/supervision/threads/slot.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';

/** Two mailboxes in one buffer, there and back; the life of every end is 1. */
export interface BenchArgs {
  readonly buffer: SharedArrayBuffer;
  readonly thereAt: number;
  readonly backAt: number;
  readonly doneWord: number;
  /** Doorbell of the main thread, for echoes that must wake it. */
  readonly mainDoorbellAt: number;
}

export const RECORD_WORDS = 16;
export const BOOK_BYTES = 344;

/** Reads every word of every record and tells how many came and what they add up to. */
export function ringSink({ args }: DutyContext): DutyCycle {
  const { buffer, thereAt, doneWord } = args as BenchArgs;
  const memory = new SharedMemory(buffer);
  const { words } = memory;
  const ring = new RingConsumer(memory, thereAt, 1);
  let count = 0;
  let sum = 0;
  const take = (offset: number) => {
    const at = offset >> 2;
    for (let word = 0; word < RECORD_WORDS; word++) sum = (sum + words[at + word]!) | 0;
    count = (count + 1) | 0;
  };
  const doWork = () => {
    const work = ring.drain(take, 1024);
    if (work > 0) {
      Atomics.store(words, doneWord + 1, sum);
      Atomics.store(words, doneWord, count);
    }
    return work;
  };
  return { doWork };
}

export function ringEcho({ args }: DutyContext): DutyCycle {
  const { buffer, thereAt, backAt, mainDoorbellAt } = args as BenchArgs;
  const memory = new SharedMemory(buffer);
  const ring = new RingConsumer(memory, thereAt, 1);
  const back = new RingProducer(memory, backAt, 1);
  const doorbell = new Doorbell(memory, mainDoorbellAt);
  const take = (offset: number) => {
    const target = back.claim();
    memory.bytes.copyWithin(target, offset, offset + RECORD_WORDS * 4);
    back.publish();
    doorbell.ring();
  };
  return { doWork: () => ring.drain(take, 16) };
}

export function slotEcho({ args }: DutyContext): DutyCycle {
  const { buffer, thereAt, backAt } = args as BenchArgs;
  const memory = new SharedMemory(buffer);
  const reader = new SlotReader(memory, thereAt, 1);
  const writer = new SlotWriter(memory, backAt, 1);
  const doWork = () => {
    if (!reader.take()) return 0;
    memory.bytes.copyWithin(writer.offset, reader.offset, reader.offset + BOOK_BYTES);
    writer.publish();
    return 1;
  };
  return { doWork };
}

export interface TickerArgs extends BenchArgs {
  /** Where to tick: on this port, or in the ring and at the main thread's doorbell when there is none. */
  readonly port: MessagePort | undefined;
}

/** Long enough for an event loop that has nothing to do to fall asleep. */
const TICK_NS = 300_000;

/** Sends the time of sending, then waits until `doneWord` says that it was received, and some time more. */
export function ticker({ args }: DutyContext): DutyCycle {
  const { buffer, thereAt, mainDoorbellAt, doneWord, port } = args as TickerArgs;
  const memory = new SharedMemory(buffer);
  const times = new Float64Array(buffer);
  const ring = new RingProducer(memory, thereAt, 1);
  const doorbell = new Doorbell(memory, mainDoorbellAt);
  let sent = 0;
  let notBefore = 0;
  const doWork = () => {
    if (memory.load(doneWord) !== sent) {
      notBefore = nowNs() + TICK_NS;
      return 0;
    }
    if (nowNs() < notBefore) return 0;
    sent++;
    if (port !== undefined) port.postMessage(nowNs());
    else {
      const offset = ring.claim();
      times[offset / 8] = nowNs();
      ring.publish();
      doorbell.ring();
    }
    return 1;
  };
  return { doWork };
}

/** The same over a MessagePort: sends a record back, or counts it and sends the count, as `reply` says. */
export function portPeer({ port }: HostContext): Hosted {
  let count = 0;
  port.on('message', (message: { record: Int32Array; reply: 'echo' | 'count' | 'no' }) => {
    count += message.record.length > 0 ? 1 : 0;
    if (message.reply === 'echo') port.postMessage(message);
    if (message.reply === 'count') port.postMessage(count);
  });
  return { stop: () => port.close() };
}
