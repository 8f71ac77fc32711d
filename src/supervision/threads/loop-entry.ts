// Runs inside the worker of a LoopThread.
import { parentPort, workerData } from 'node:worker_threads';
import { Heartbeat } from './heartbeat.ts';
import { WORD_BYTES } from './layout.ts';
import { LoopMeter } from './loop-meter.ts';
import { type Host, type LoopData, STOP_MESSAGE } from './loop-thread.ts';
import { SharedMemory } from './memory.ts';
import { nameThread, pinThread } from './pin.ts';
import { THREAD } from './thread-block.ts';
import type { EntryData, ReadyMessage } from './worker-life.ts';

const data = workerData as EntryData & LoopData;
/** Beats come often, to show a hang soon; figures of a whole second are calmer, and miss no delay in between. */
const BEATS_PER_READING = 10;

function beatEvery(periodMs: number): void {
  const memory = new SharedMemory(data.buffer);
  const block = data.blockAt / WORD_BYTES;
  const heartbeat = new Heartbeat(memory, block + THREAD.BEATS);
  const meter = new LoopMeter();
  let beats = 0;
  const beat = () => {
    heartbeat.beat();
    beats++;
    if (beats % BEATS_PER_READING !== 0) return;
    const load = meter.read();
    memory.store(block + THREAD.LOOP_BUSY_PERMILLE, load.busy * 1000);
    memory.store(block + THREAD.LOOP_DELAY_MEAN_US, load.delayMeanUs);
    memory.store(block + THREAD.LOOP_DELAY_MAX_US, load.delayMaxUs);
    memory.store(block + THREAD.LOOP_COLLECTIONS, load.collections);
    memory.store(block + THREAD.LOOP_COLLECTED_US, load.collectedUs);
    memory.store(block + THREAD.LOOP_HEAP_USED_KIB, load.heapUsedBytes / 1024);
    memory.store(block + THREAD.LOOP_HEAP_LIMIT_KIB, load.heapLimitBytes / 1024);
  };
  setInterval(beat, periodMs).unref();
}

nameThread(data.name);
const placement = pinThread(data.cpu);
const module = (await import(data.module)) as Record<string, Host>;
const host = module[data.exportName];
if (host === undefined) throw new Error(`${data.module} has no export ${data.exportName}`);
const hosted = await host({ life: data.life, args: data.args, port: data.port });
beatEvery(data.beatMs);
parentPort?.on('message', async (message) => {
  if (message !== STOP_MESSAGE) return;
  await hosted.stop();
  process.exit(0);
});
parentPort?.postMessage({ kind: 'ready', placement } satisfies ReadyMessage);
