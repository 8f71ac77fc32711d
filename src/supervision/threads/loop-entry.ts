// Runs inside the worker of a LoopThread.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { parentPort, workerData } from 'node:worker_threads';
import { Heartbeat } from './heartbeat.ts';
import { WORD_BYTES } from './layout.ts';
import { type Host, type LoopData, STOP_MESSAGE } from './loop-thread.ts';
import { SharedMemory } from './memory.ts';
import { nameThread, pinThread } from './pin.ts';
import { THREAD } from './thread-block.ts';
import type { EntryData, ReadyMessage } from './worker-life.ts';

const data = workerData as EntryData & LoopData;
const DELAY_RESOLUTION_MS = 10;

function beatEvery(periodMs: number): void {
  const memory = new SharedMemory(data.buffer);
  const block = data.blockAt / WORD_BYTES;
  const heartbeat = new Heartbeat(memory, block + THREAD.BEATS);
  const delay = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MS });
  delay.enable();
  let last = performance.eventLoopUtilization();
  // The histogram holds the time between two ticks of its timer; what goes beyond the timer's period is the delay.
  const lateUs = (ns: number) => Math.max(0, Math.round(ns / 1000) - DELAY_RESOLUTION_MS * 1000);
  const beat = () => {
    const now = performance.eventLoopUtilization();
    memory.store(block + THREAD.LOOP_BUSY_PERMILLE, performance.eventLoopUtilization(now, last).utilization * 1000);
    last = now;
    memory.store(block + THREAD.LOOP_DELAY_MEAN_US, delay.count > 0 ? lateUs(delay.mean) : 0);
    memory.store(block + THREAD.LOOP_DELAY_MAX_US, delay.count > 0 ? lateUs(delay.max) : 0);
    delay.reset();
    heartbeat.beat();
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
