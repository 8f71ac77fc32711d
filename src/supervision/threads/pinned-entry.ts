// Runs inside the worker of a PinnedThread.
import { parentPort, workerData } from 'node:worker_threads';
import { Doorbell } from './doorbell.ts';
import { type MakeDutyCycle, runDutyCycle } from './duty-cycle.ts';
import { idleStrategy } from './idle-strategy.ts';
import { SharedMemory } from './memory.ts';
import { favour, nameThread, pinThread } from './pin.ts';
import type { PinnedData } from './pinned-thread.ts';
import { THREAD_DOORBELL_BYTE } from './thread-block.ts';
import type { EntryData, ReadyMessage } from './worker-life.ts';

const data = workerData as EntryData & PinnedData;
nameThread(data.name);
const placement = pinThread(data.cpu);
if (data.idle.kind === 'spin') favour(placement);
const memory = new SharedMemory(data.buffer);
const doorbell = new Doorbell(memory, data.blockAt + THREAD_DOORBELL_BYTE);
const module = (await import(data.module)) as Record<string, MakeDutyCycle>;
const make = module[data.exportName];
if (make === undefined) throw new Error(`${data.module} has no export ${data.exportName}`);
const duty = await make({ life: data.life, args: data.args, doorbell, memory });
parentPort?.postMessage({ kind: 'ready', placement } satisfies ReadyMessage);
runDutyCycle(duty, idleStrategy(data.idle, doorbell), memory, data.blockAt);
process.exit(0);
