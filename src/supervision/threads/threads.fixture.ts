// What the tests of pinned and loop threads run inside their workers.
import { isMainThread } from 'node:worker_threads';
import type { DutyContext, DutyCycle } from './duty-cycle.ts';
import type { HostContext, Hosted } from './loop-thread.ts';
import { SharedMemory } from './memory.ts';
import { RingConsumer, RingProducer } from './ring.ts';
import { nowNs } from './thread-clock.ts';

export interface EchoArgs {
  readonly buffer: SharedArrayBuffer;
  readonly inAt: number;
  readonly inLife: number;
  readonly outAt: number;
  readonly outLife: number;
}

/** Sends each number back, increased by a thousand for each life; the number -1 throws. */
export function echo({ life, args }: DutyContext): DutyCycle {
  const { buffer, inAt, inLife, outAt, outLife } = args as EchoArgs;
  const memory = new SharedMemory(buffer);
  const input = new RingConsumer(memory, inAt, inLife);
  const output = new RingProducer(memory, outAt, outLife);
  const handle = (offset: number) => {
    const value = memory.get(offset / 4);
    if (value === -1) throw new Error('cannot echo -1');
    const target = output.claim();
    if (target < 0) return;
    memory.set(target / 4, value + 1000 * life);
    output.publish();
  };
  return { doWork: () => input.drain(handle, 16) };
}

export function failsToStart(): DutyCycle {
  throw new Error(`no database here, main thread ${isMainThread}`);
}

export function neverReady(): Promise<DutyCycle> {
  return new Promise(() => setInterval(() => {}, 1000));
}

export function misbehaves({ args }: DutyContext): DutyCycle {
  const hoard: number[][] = [];
  const acts: Record<string, () => number> = {
    hang: () => {
      for (;;);
    },
    exit: () => process.exit(7),
    hoard: () => hoard.push(new Array(100_000).fill(hoard.length)),
  };
  return { doWork: acts[args as string]! };
}

export function neverStops(): DutyCycle {
  return {
    doWork: () => 0,
    onStop: () => {
      for (;;);
    },
  };
}

/** Writes its clock into a shared double. */
export function clock({ args }: DutyContext): DutyCycle {
  const cell = new Float64Array(args as SharedArrayBuffer);
  return {
    doWork: () => {
      cell[0] = nowNs();
      return 1;
    },
    onStop: () => {
      cell[1] = 1;
    },
  };
}

export function host({ port, life, args }: HostContext): Hosted {
  port.on('message', (message) => {
    if (message === 'throw') throw new Error('told to');
    if (message === 'block') for (;;);
    port.postMessage({ message, life, args });
  });
  return {
    stop: async () => {
      if (args === 'stubborn') await new Promise(() => {});
      port.close();
    },
  };
}
