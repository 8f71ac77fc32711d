import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { availableParallelism, totalmem } from 'node:os';
import { Worker } from 'node:worker_threads';
import { cpuOf } from '../../program/tree-host.ts';
import type { Placement as CoreFound } from '../../supervision/threads/pin.ts';
import { compileTopology } from '../../supervision/topology/compile.ts';
import type { Configuration } from '../../supervision/topology/load.ts';
import type { MachineFacts, MachineNeeds, PinningFacts } from './judge-machine.ts';
import type { ClockFacts } from './judge-servers.ts';

const PINNING_MS = 5_000;

/** What a file of the system says, trimmed; undefined where it is not there or not ours to read. */
export function readSystem(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}

export function probeMachine(): MachineFacts {
  const limit = process.constrainedMemory();
  const total = totalmem();
  const files = /^Max open files\s+(\d+)/m.exec(readSystem('/proc/self/limits') ?? '')?.[1];
  return {
    node: process.version,
    cores: availableParallelism(),
    // Without a limit the answer is 0, or a number that no machine has.
    memoryBytes: limit > 0 && limit < total ? limit : total,
    hugePages: /\[(\w+)\]/.exec(readSystem('/sys/kernel/mm/transparent_hugepage/enabled') ?? '')?.[1],
    governors: governors(),
    isolated: readSystem('/sys/devices/system/cpu/isolated'),
    openFiles: files === undefined ? undefined : Number(files),
  };
}

function governors(): readonly string[] {
  const base = '/sys/devices/system/cpu';
  try {
    const found = readdirSync(base)
      .filter((name) => /^cpu\d+$/.test(name))
      .map((name) => readSystem(`${base}/${name}/cpufreq/scaling_governor`))
      .filter((governor) => governor !== undefined);
    return [...new Set(found)].sort();
  } catch {
    return [];
  }
}

/** What the configuration asks of a machine. */
export function needsOf(config: Configuration): MachineNeeds {
  const placements = placementsOf(config);
  const pinned = placements.filter(({ kind }) => kind === 'pinned');
  return {
    pinnedThreads: pinned.length,
    spinningThreads: pinned.filter(({ idle }) => idle === 'spin').map(({ thread }) => thread),
    threadBytes: placements.reduce((sum, { memoryBytes }) => sum + (memoryBytes ?? 0), 0),
    sockets: config.kernel.http.maxConnections + config.kernel.grpc.maxSubscribers,
  };
}

/** One placement a thread. */
function placementsOf(config: Configuration) {
  const byThread = new Map(compileTopology(config).nodes.map(({ placement }) => [placement.thread, placement]));
  return [...byThread.values()];
}

/** Really binds a short-lived thread to each core that the topology names. */
export async function probePinning(config: Configuration): Promise<readonly PinningFacts[]> {
  const tried: PinningFacts[] = [];
  for (const placement of placementsOf(config)) {
    const cpu = cpuOf(placement);
    if (cpu === undefined) continue;
    const { how, warning } = await bindThread(cpu);
    tried.push({ thread: placement.thread, cpu, how, warning });
  }
  return tried;
}

async function bindThread(cpu: number): Promise<Pick<CoreFound, 'how' | 'warning'>> {
  const worker = new Worker(new URL('./pinning-worker.js', import.meta.url), { workerData: cpu });
  try {
    return await new Promise((resolve) => {
      const unpinned = (warning: string) => resolve({ how: 'unpinned', warning });
      worker.once('message', resolve);
      worker.once('error', (error) => unpinned(error.message));
      setTimeout(() => unpinned('the thread did not answer'), PINNING_MS).unref();
    });
  } finally {
    await worker.terminate();
  }
}

/** The C library's `struct timex` on 64-bit Linux: what is read of it, and its size with room to spare. */
const TIMEX = { bytes: 512, maxErrorUs: 24, status: 40 } as const;
const STATUS_UNSYNCHRONIZED = 0x40;

/** Asks the kernel itself, so that it does not matter which time service keeps the clock. */
export function probeClock(): Pick<ClockFacts, 'isSynchronized' | 'maxErrorMs'> {
  try {
    if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) throw new Error('another layout');
    const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
    const adjtimex = koffi.load('libc.so.6').func('int adjtimex(uint8_t *timex)') as (timex: Uint8Array) => number;
    const timex = Buffer.alloc(TIMEX.bytes);
    // All zero asks, and changes nothing.
    if (adjtimex(timex) < 0) throw new Error('refused');
    const isSynchronized = (timex.readInt32LE(TIMEX.status) & STATUS_UNSYNCHRONIZED) === 0;
    return { isSynchronized, maxErrorMs: Number(timex.readBigInt64LE(TIMEX.maxErrorUs)) / 1000 };
  } catch {
    return { isSynchronized: undefined, maxErrorMs: undefined };
  }
}
