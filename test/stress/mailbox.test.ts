import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SharedMemory } from '../../src/supervision/threads/memory.ts';
import { PinnedThread } from '../../src/supervision/threads/pinned-thread.ts';
import { admitToRing, formatRing, inspectRing } from '../../src/supervision/threads/ring-ends.ts';
import { frameRing, recordRing, ringBytes } from '../../src/supervision/threads/ring-layout.ts';
import { admitToSlot, formatSlot } from '../../src/supervision/threads/slot.ts';
import { slotBytes } from '../../src/supervision/threads/slot-layout.ts';
import { THREAD_BLOCK_BYTES } from '../../src/supervision/threads/thread-block.ts';
import type { EndReason } from '../../src/supervision/threads/thread-handle.ts';
import { LEDGER_BYTES, Ledger } from './ledger.ts';
import { Random } from './random.ts';
import { BOOK_BYTES, RECORD_BYTES, type TrafficArgs } from './traffic.ts';

/** Each of the four regimes runs this long: 30 s together in the long form, 3 s in the short one. */
const REGIME_MS = process.env['TAPEWORKS_LONG'] === undefined ? 750 : 7_500;
const seed = Number(process.env['TAPEWORKS_SEED'] ?? Date.now() % 1_000_000);

interface Mailbox {
  readonly bytes: number;
  readonly producer: string;
  readonly consumer: string;
  readonly whenFull: 'wait' | 'drop';
  format(memory: SharedMemory, at: number): void;
  admit(memory: SharedMemory, at: number, end: 'producer' | 'consumer'): number;
  /** How many values the mailbox itself says that it refused. */
  refused(memory: SharedMemory, at: number): number;
  isEmpty(memory: SharedMemory, at: number): boolean;
}

const records = recordRing(256, RECORD_BYTES);
const frames = frameRing(16_384);
const ring = {
  admit: admitToRing,
  refused: (memory: SharedMemory, at: number) => inspectRing(memory, at).refused,
  isEmpty: (memory: SharedMemory, at: number) => inspectRing(memory, at).used === 0,
};
const recordMailbox = {
  ...ring,
  bytes: ringBytes(records),
  producer: 'recordProducer',
  consumer: 'recordConsumer',
  format: (memory: SharedMemory, at: number) => formatRing(memory, at, records, -1000),
};
const frameMailbox: Mailbox = {
  ...ring,
  bytes: ringBytes(frames),
  producer: 'frameProducer',
  consumer: 'frameConsumer',
  whenFull: 'drop',
  format: (memory, at) => formatRing(memory, at, frames, -1000),
};
const slotMailbox: Mailbox = {
  bytes: slotBytes(BOOK_BYTES),
  producer: 'slotWriter',
  consumer: 'slotReader',
  whenFull: 'drop',
  format: (memory, at) => formatSlot(memory, at, BOOK_BYTES),
  admit: (memory, at, end) => admitToSlot(memory, at, end === 'producer' ? 'writer' : 'reader'),
  refused: () => 0,
  isEmpty: () => true,
};

/** Runs traffic between two threads and kills either of them at random moments, until the time is up. */
async function bombard(mailbox: Mailbox) {
  const blocks = { producer: 0, consumer: THREAD_BLOCK_BYTES };
  const ledgerAt = 2 * THREAD_BLOCK_BYTES;
  const mailboxAt = Math.ceil((ledgerAt + LEDGER_BYTES) / 128) * 128;
  const buffer = new SharedArrayBuffer(mailboxAt + mailbox.bytes);
  const memory = new SharedMemory(buffer);
  mailbox.format(memory, mailboxAt);
  const kills = { producer: 0, consumer: 0 };
  const unexpected: EndReason[] = [];

  const threadOf = (end: 'producer' | 'consumer'): PinnedThread => {
    const prepare = () => ({
      args: {
        buffer,
        mailboxAt,
        mailboxLife: mailbox.admit(memory, mailboxAt, end),
        consumerDoorbellAt: consumerDoorbellAt(),
        ledgerAt,
        seed,
        whenFull: mailbox.whenFull,
      } satisfies TrafficArgs,
    });
    const thread = new PinnedThread({
      name: end,
      module: new URL('./traffic.js', import.meta.url),
      exportName: mailbox[end],
      idle: end === 'producer' ? { kind: 'park', parkMs: 1 } : { kind: 'spin-then-park', spins: 50, parkMs: 20 },
      prepare,
      block: { buffer, at: blocks[end] },
    });
    thread.onExit(({ reason }) => {
      if (reason !== 'killed' && reason !== 'stopped') unexpected.push(reason);
    });
    return thread;
  };
  const consumer: PinnedThread = threadOf('consumer');
  const consumerDoorbellAt = () => consumer.doorbellAt;
  const producer = threadOf('producer');
  await Promise.all([consumer.start(), producer.start()]);

  const random = new Random(seed);
  const end = performance.now() + REGIME_MS;
  while (performance.now() < end) {
    await sleep(5 + random.next(40));
    const victim = random.next(2) === 0 ? 'producer' : 'consumer';
    const thread = victim === 'producer' ? producer : consumer;
    await thread.kill();
    kills[victim]++;
    await thread.start();
  }
  await producer.stop(10_000);
  while (!mailbox.isEmpty(memory, mailboxAt)) await sleep(5);
  const ledger = new Ledger(buffer, ledgerAt);
  const last = () => ledger.lastOf(producer.life);
  for (let look = 0; look < 100 && last().arrived < last().offered; look++) await sleep(5);
  await consumer.stop(10_000);
  const result = { ...ledger.audit(), refused: mailbox.refused(memory, mailboxAt), kills };
  process.stdout.write(`seed ${seed} ${mailbox.consumer} ${mailbox.whenFull}: ${JSON.stringify(result)}\n`);
  return { ...result, unexpected, last: last() };
}

describe(`real threads that are killed at random (TAPEWORKS_SEED=${seed})`, () => {
  const nothingWrong = { torn: 0, invented: 0, disorder: 0, unexpected: [] };
  const timeout = REGIME_MS + 30_000;

  it('lose nothing through a ring whose producer waits, but what a killed consumer had in hand', {
    timeout,
  }, async () => {
    const result = await bombard({ ...recordMailbox, whenFull: 'wait' });
    expect(result).toMatchObject({ ...nothingWrong, refused: 0 });
    expect(result.consumed).toBeGreaterThan(0);
    expect(result.missing).toBeLessThanOrEqual(result.kills.consumer);
  });

  it('lose through a ring that may drop exactly what it says it refused', { timeout }, async () => {
    const result = await bombard({ ...recordMailbox, whenFull: 'drop' });
    expect(result).toMatchObject(nothingWrong);
    const { producer, consumer } = result.kills;
    // A producer killed between a refusal and its note leaves one refusal that no number stands for.
    expect(result.missing).toBeGreaterThanOrEqual(result.refused - producer);
    expect(result.missing).toBeLessThanOrEqual(result.refused + consumer);
  });

  it('pass frames of many lengths whole, and lose what the ring refused', { timeout }, async () => {
    const result = await bombard(frameMailbox);
    expect(result).toMatchObject(nothingWrong);
    const { producer, consumer } = result.kills;
    expect(result.missing).toBeGreaterThanOrEqual(result.refused - producer);
    expect(result.missing).toBeLessThanOrEqual(result.refused + consumer);
  });

  it('see whole values in a slot, never an older one, and in the end the last', { timeout }, async () => {
    const result = await bombard(slotMailbox);
    expect(result).toMatchObject(nothingWrong);
    expect(result.last.arrived).toBe(result.last.offered);
  });
});
