import type { BarsLimits } from '../../kernels/bars.ts';
import {
  decodeNumbered,
  encodeNumbered,
  type PartitionCommand,
  type PartitionReply,
} from '../../protocols/partition.ts';
import { TRADE_BYTES } from '../../protocols/trade-layout.ts';
import { Doorbell } from '../../supervision/threads/doorbell.ts';
import type { DutyCycle, MakeDutyCycle } from '../../supervision/threads/duty-cycle.ts';
import { FrameConsumer, FrameProducer } from '../../supervision/threads/frame-ring.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { RingConsumer } from '../../supervision/threads/ring.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';
import { PartitionWorker } from './worker.ts';

export interface RingPlace {
  readonly buffer: SharedArrayBuffer;
  readonly at: number;
  readonly life: number;
}

export interface PartitionArgs {
  readonly limits: BarsLimits;
  /** One ring of trades from each exchange thread. */
  readonly trades: readonly RingPlace[];
  readonly commands: RingPlace;
  readonly replies: RingPlace;
  /** The doorbell of whoever reads the replies. */
  readonly asker: { readonly buffer: SharedArrayBuffer; readonly at: number };
  readonly snapshots: readonly [SharedArrayBuffer, SharedArrayBuffer];
}

/** Trades taken from one ring before the next is looked at. */
const RUN_TRADES = 1024;
/** More runs than the largest ring has: 4 Mi trades. */
const WAITING_TURNS_MAX = 4096;
const COMMANDS_PER_CYCLE = 8;
const TICK_EVERY_US = 10_000;

/** The duty cycle of a partition worker: trades from every ring, then commands, then the clock. */
export const makePartitionWorker: MakeDutyCycle = (context): DutyCycle => {
  const args = context.args as PartitionArgs;
  const [first, second] = args.snapshots.map((buffer) => new Uint8Array(buffer));
  const worker = new PartitionWorker(args.limits, [first!, second!]);
  const rings = args.trades.map(({ buffer, at, life }) => {
    const memory = new SharedMemory(buffer);
    return { memory, ring: new RingConsumer(memory, at, life) };
  });
  const inbox = new SharedMemory(args.commands.buffer);
  const commands = new FrameConsumer(inbox, args.commands.at, args.commands.life);
  const outbox = new SharedMemory(args.replies.buffer);
  const replies = new FrameProducer(outbox, args.replies.at, args.replies.life);
  const asker = new Doorbell(new SharedMemory(args.asker.buffer), args.asker.at);
  let tickedUs = 0;

  function answer(offset: number, length: number): void {
    const { id, message } = decodeNumbered<PartitionCommand>(inbox.bytes.slice(offset, offset + length));
    // Trades that were sent here alone, before they went to the next worker as well, belong into the state that leaves.
    if (message.kind === 'move-out') takeWaitingTrades();
    // The asker bounds its questions in flight by the size of this ring, so a reply always has room.
    replies.offer(encodeNumbered<PartitionReply>({ id, message: worker.handle(message) }));
    asker.ring();
  }

  function takeTrades(): number {
    let taken = 0;
    for (const { memory, ring } of rings) {
      const run = ring.takeRun(RUN_TRADES);
      if (run === 0) continue;
      worker.apply(memory.bytes.subarray(ring.runOffset, ring.runOffset + run * TRADE_BYTES));
      ring.finishRun(run);
      taken += run;
    }
    return taken;
  }

  /** Bounded, whatever comes meanwhile: what was waiting is less than all rings hold. */
  function takeWaitingTrades(): void {
    for (let turn = 0; turn < WAITING_TURNS_MAX && takeTrades() > 0; turn++);
  }

  return {
    doWork() {
      let work = takeTrades();
      work += commands.drain(answer, COMMANDS_PER_CYCLE);
      // Not the system's clock: a thread takes that once, when it starts, and the system's may have been set since then.
      const nowUs = nowNs() / 1000;
      if (nowUs - tickedUs >= TICK_EVERY_US) {
        tickedUs = nowUs;
        worker.tick(BigInt(Math.round(nowUs)));
      }
      return work;
    },
  };
};
