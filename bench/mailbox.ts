import { once } from 'node:events';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { dispatch, spawn, start, stop } from 'nact';
import { actor } from '../src/supervision/spec.ts';
import { ActorSystem } from '../src/supervision/system.ts';
import { DOORBELL_BYTES, Doorbell } from '../src/supervision/threads/doorbell.ts';
import type { IdleSpec } from '../src/supervision/threads/idle-strategy.ts';
import { LoopConsumer } from '../src/supervision/threads/loop-consumer.ts';
import { LoopThread } from '../src/supervision/threads/loop-thread.ts';
import { SharedMemory } from '../src/supervision/threads/memory.ts';
import { PinnedThread } from '../src/supervision/threads/pinned-thread.ts';
import { RingConsumer, RingProducer } from '../src/supervision/threads/ring.ts';
import { admitToRing, formatRing } from '../src/supervision/threads/ring-ends.ts';
import { recordRing, ringBytes } from '../src/supervision/threads/ring-layout.ts';
import { admitToSlot, formatSlot, SlotReader, SlotWriter } from '../src/supervision/threads/slot.ts';
import { slotBytes } from '../src/supervision/threads/slot-layout.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';
import { type Bench, type BenchOptions, consume, median, nanosecondsPer, ROUNDS } from './harness.ts';
import { type BenchArgs, BOOK_BYTES, RECORD_WORDS } from './mailbox-worker.ts';

const module = new URL('./mailbox-worker.js', import.meta.url);
const shape = recordRing(8192, RECORD_WORDS * 4);
const SPIN: IdleSpec = { kind: 'spin' };
const PARK: IdleSpec = { kind: 'park', parkMs: 100 };
const roundTo128 = (bytes: number) => Math.ceil(bytes / 128) * 128;

/** Nanoseconds since some moment. */
const now = () => Number(process.hrtime.bigint());

/** Median of the rounds, after some that warm up. */
async function rounds(round: () => number | Promise<number>, count = ROUNDS): Promise<number> {
  const samples: number[] = [];
  for (let index = -Math.ceil(count / 5); index < count; index++) {
    const sample = await round();
    if (index >= 0) samples.push(sample);
  }
  return median(samples);
}

/**
 * Two threads that spin need two cores at the same time. Many rounds of about a millisecond, shorter than the scheduler's
 * time slice, leave a median that other programs on the machine disturb little.
 */
const SHORT_ROUNDS = 151;

/** Two mailboxes and a thread at their far ends. */
function farEnd(
  exportName: string,
  idle: IdleSpec,
  mailboxBytes: number,
  format: (memory: SharedMemory, at: number) => void,
) {
  const thereAt = 2 * DOORBELL_BYTES;
  const backAt = roundTo128(thereAt + mailboxBytes);
  const buffer = new SharedArrayBuffer(roundTo128(backAt + mailboxBytes));
  const memory = new SharedMemory(buffer);
  format(memory, thereAt);
  format(memory, backAt);
  const args: BenchArgs = { buffer, thereAt, backAt, doneWord: DOORBELL_BYTES / 4, mainDoorbellAt: 0 };
  const prepare = () => ({ args });
  return { memory, args, thread: new PinnedThread({ name: exportName, module, exportName, idle, prepare }) };
}

function formatBenchRing(memory: SharedMemory, at: number): void {
  formatRing(memory, at, shape);
  admitToRing(memory, at, 'producer');
  admitToRing(memory, at, 'consumer');
}

function formatBenchSlot(memory: SharedMemory, at: number): void {
  formatSlot(memory, at, BOOK_BYTES);
  admitToSlot(memory, at, 'writer');
  admitToSlot(memory, at, 'reader');
}

/** Records of 64 bytes that another thread has read, a second. */
async function ringThroughput(): Promise<number> {
  const { memory, args, thread } = farEnd('ringSink', SPIN, ringBytes(shape), formatBenchRing);
  await thread.start();
  const { words } = memory;
  const ring = new RingProducer(memory, args.thereAt, 1);
  const records = 32_000;
  const batch = 64;
  let sent = 0;
  const perSecond = await rounds(() => {
    const begin = now();
    for (let index = 0; index < records; index += batch) {
      while (ring.room() < batch);
      for (let each = 0; each < batch; each++) {
        const at = ring.claim() >> 2;
        for (let word = 0; word < RECORD_WORDS; word++) words[at + word] = index + word;
      }
      ring.publish();
    }
    sent = (sent + records) | 0;
    while (Atomics.load(words, args.doneWord) !== sent);
    const seconds = (now() - begin) / 1e9;
    consume(Atomics.load(words, args.doneWord + 1));
    return records / seconds;
  }, SHORT_ROUNDS);
  await thread.kill();
  return perSecond;
}

/** Nanoseconds until a record that went to another thread has come back, both sides spinning or both parking. */
async function ringRoundTrip(idle: IdleSpec, trips: number): Promise<number> {
  const { memory, args, thread } = farEnd('ringEcho', idle, ringBytes(shape), formatBenchRing);
  await thread.start();
  const there = new RingProducer(memory, args.thereAt, 1);
  const back = new RingConsumer(memory, args.backAt, 1);
  const doorbell = new Doorbell(memory, args.mainDoorbellAt);
  const take = (offset: number) => consume(memory.words[offset >> 2]!);
  const receive =
    idle.kind === 'spin'
      ? () => {
          while (back.drain(take, 1) === 0);
        }
      : () => {
          for (;;) {
            doorbell.arm();
            if (back.drain(take, 1) > 0) return doorbell.disarm();
            doorbell.wait(100);
          }
        };
  const perTrip = await rounds(
    () => {
      const begin = now();
      for (let trip = 0; trip < trips; trip++) {
        memory.words[there.claim() >> 2] = trip;
        there.publish();
        thread.doorbell.ring();
        receive();
      }
      return (now() - begin) / trips;
    },
    idle.kind === 'spin' ? SHORT_ROUNDS : ROUNDS,
  );
  await thread.kill();
  return perTrip;
}

/** Nanoseconds for a book of 344 bytes from one thread to another: half of the way there and back, copies included. */
async function slotTransfer(): Promise<number> {
  const { memory, args, thread } = farEnd('slotEcho', SPIN, slotBytes(BOOK_BYTES), formatBenchSlot);
  await thread.start();
  const writer = new SlotWriter(memory, args.thereAt, 1);
  const reader = new SlotReader(memory, args.backAt, 1);
  const book = new Uint8Array(BOOK_BYTES).fill(7);
  const received = new Uint8Array(BOOK_BYTES);
  const trips = 1_000;
  const perTrip = await rounds(() => {
    const begin = now();
    for (let trip = 0; trip < trips; trip++) {
      book[0] = trip & 0xff;
      memory.write(writer.offset, book);
      writer.publish();
      while (!reader.take());
      memory.read(reader.offset, received);
      consume(received[0]!);
    }
    return (now() - begin) / trips;
  }, SHORT_ROUNDS);
  await thread.kill();
  return perTrip / 2;
}

/** The same three over a MessagePort. */
async function portFigures() {
  const thread = new LoopThread({ name: 'portPeer', module, exportName: 'portPeer', prepare: () => ({ args: null }) });
  await thread.start();
  const port = thread.port!;
  const record = new Int32Array(RECORD_WORDS);
  const book = new Uint8Array(BOOK_BYTES);
  const records = 20_000;
  const perSecond = await rounds(async () => {
    const begin = now();
    for (let index = 1; index <= records; index++)
      port.postMessage({ record, reply: index === records ? 'count' : 'no' });
    consume((await once(port, 'message'))[0]);
    return records / ((now() - begin) / 1e9);
  });
  const recordTrip = await rounds(() => portTrips(port, record, 500));
  const bookTrip = await rounds(() => portTrips(port, book, 500));
  await thread.kill();
  return { perSecond, recordTrip, bookTrip };
}

function portTrips(port: MessagePort, record: Int32Array | Uint8Array, trips: number): Promise<number> {
  return new Promise((resolve) => {
    const begin = now();
    let left = trips;
    const next = () => {
      if (--left > 0) return port.postMessage({ record, reply: 'echo' });
      port.off('message', next);
      resolve((now() - begin) / trips);
    };
    port.on('message', next);
    port.postMessage({ record, reply: 'echo' });
  });
}

/** Nanoseconds from a publication on another thread to its handler on this event loop; the median of many. */
async function loopWake(by: { readonly pollMs: number } | 'port'): Promise<number> {
  const { memory, args } = farEnd('ticker', SPIN, ringBytes(shape), formatBenchRing);
  const { port1, port2 } = new MessageChannel();
  const port = by === 'port' ? port2 : undefined;
  const prepare = () => ({ args: { ...args, port }, transfer: port === undefined ? [] : [port] });
  const thread = new PinnedThread({ name: 'ticker', module, exportName: 'ticker', idle: SPIN, prepare });
  const times = new Float64Array(memory.buffer);
  const samples: number[] = [];
  let received = 0;
  const wanted = 800;
  await new Promise<void>((resolve, reject) => {
    const note = (sentNs: number) => {
      samples.push(nowNs() - sentNs);
      memory.store(args.doneWord, ++received);
      if (received === wanted) resolve();
    };
    port1.on('message', note);
    const ring = new RingConsumer(memory, args.thereAt, 1);
    const drain = () => ring.drain((offset) => note(times[offset / 8]!), 16);
    const options = { pollMs: by === 'port' ? 0 : by.pollMs, parkMs: 1000, onError: reject };
    const consumer = new LoopConsumer(memory, args.mainDoorbellAt, drain, options);
    thread.onExit(() => consumer.close());
    thread.start().catch(reject);
  });
  await thread.kill();
  port1.close();
  return median(samples.slice(wanted / 4));
}

const MESSAGES = 200_000;

/** Messages a second from tell to handled, on one thread, by one actor under a supervisor. */
async function cellThroughput(): Promise<number> {
  let left = 0;
  let done: () => void = () => {};
  const counter = actor<number, number>({
    id: 'counter',
    mailbox: { capacity: MESSAGES, policy: 'reject' },
    behaviour: {
      init: () => 0,
      receive: (sum, message) => {
        if (--left === 0) done();
        return (sum + message) | 0;
      },
      summary: (sum) => sum,
    },
  });
  const system = new ActorSystem({ children: [counter] });
  await system.start();
  const perSecond = await rounds(async () => {
    left = MESSAGES;
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    const begin = now();
    for (let index = 0; index < MESSAGES; index++) counter.ref.tell(index);
    await all;
    return MESSAGES / ((now() - begin) / 1e9);
  });
  consume((await system.summary(counter.ref.path)) as number);
  await system.stop();
  return perSecond;
}

/** The same with nact's own dispatch and mailbox. */
async function nactThroughput(): Promise<number> {
  const messages = MESSAGES / 10;
  const system = start();
  let left = 0;
  let done: () => void = () => {};
  const counter = spawn(system, (sum: number | undefined, message: number) => {
    if (--left === 0) done();
    return ((sum ?? 0) + message) | 0;
  });
  const perSecond = await rounds(async () => {
    left = messages;
    const all = new Promise<void>((resolve) => {
      done = resolve;
    });
    const begin = now();
    for (let index = 0; index < messages; index++) dispatch(counter, index);
    await all;
    return messages / ((now() - begin) / 1e9);
  });
  stop(system);
  return perSecond;
}

/** What it costs to write mailboxes against the Memory interface: a load, a plain set and a store, beside bare Atomics. */
function memoryInterface(options: BenchOptions): void {
  const memory = new SharedMemory(new SharedArrayBuffer(4096));
  const words = new Int32Array(new SharedArrayBuffer(4096));
  const iterations = 1_000_000;
  const through = nanosecondsPer(iterations, (count) => {
    for (let index = 0; index < count; index++) {
      memory.set(64 + (index & 63), memory.load(0));
      memory.store(0, index);
    }
    return memory.load(0);
  });
  const bare = nanosecondsPer(iterations, (count) => {
    for (let index = 0; index < count; index++) {
      words[64 + (index & 63)] = Atomics.load(words, 0);
      Atomics.store(words, 0, index);
    }
    return Atomics.load(words, 0);
  });
  options.report('memory_interface', through, 'ns', { value: bare, name: 'bare Atomics' });
}

export const bench: Bench = {
  summary: 'rings, slots and cells against postMessage and raw nact',
  async run(options) {
    const port = await portFigures();
    const trip = { value: port.recordTrip, name: 'postMessage' };
    options.report('ring_throughput', await ringThroughput(), 'records/s', {
      value: port.perSecond,
      name: 'postMessage',
    });
    options.report('ring_round_trip_spin', await ringRoundTrip(SPIN, 1_000), 'ns', trip);
    options.report('ring_round_trip_parked', await ringRoundTrip(PARK, 500), 'ns', trip);
    options.report('slot_transfer', await slotTransfer(), 'ns', { value: port.bookTrip / 2, name: 'postMessage' });
    const oneWay = { value: await loopWake('port'), name: 'MessagePort' };
    options.report('event_loop_wake_asleep', await loopWake({ pollMs: 0 }), 'ns', oneWay);
    options.report('event_loop_wake_polled', await loopWake({ pollMs: 1000 }), 'ns', oneWay);
    const nact = { value: await nactThroughput(), name: 'raw nact dispatch' };
    options.report('cell_throughput', await cellThroughput(), 'messages/s', nact);
    memoryInterface(options);
  },
};
