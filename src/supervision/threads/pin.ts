import { spawnSync } from 'node:child_process';
import { readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { setPriority } from 'node:os';

/** How a thread came to run where it runs. `observed` is what the kernel says, whatever we asked for. */
export interface Placement {
  readonly cpu: number | undefined;
  readonly how: 'sched_setaffinity' | 'taskset' | 'unpinned';
  /** The kernel's list of CPUs that this thread may run on, such as `1` or `0-3`; empty where there is no /proc. */
  readonly observed: string;
  /** Kernel thread id, for `top -H` and `taskset -p`; 0 where there is none. */
  readonly tid: number;
  /** Why the thread is not where it was asked to be. */
  readonly warning: string | undefined;
}

/**
 * What a thread that spins on its core asks for: three quarters of it beside an ordinary neighbour, and no neighbours where
 * the scheduler can place them elsewhere. More (-20) leaves a neighbour one hundredth: it waits for hundreds of milliseconds.
 * A feed's thread asks for the same: what wakes while it has a frame in hand waits until it is done.
 */
export const HURRIED_NICE = -5;
const CPU_SET_BYTES = 128;
const THREAD_NAME_BYTES_MAX = 15;

/** Kernel id of the calling thread; process.pid is that of the main thread. */
function threadId(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return 0;
  }
}

export function observedCpus(tid: number): string {
  try {
    return /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync(`/proc/self/task/${tid}/status`, 'utf8'))?.[1] ?? '';
  } catch {
    return '';
  }
}

/** Gives the calling thread a name that `top -H` shows, cut to the kernel's 15 bytes. False where there is no /proc. */
export function nameThread(name: string): boolean {
  try {
    writeFileSync('/proc/thread-self/comm', name.slice(0, THREAD_NAME_BYTES_MAX));
    return true;
  } catch {
    return false;
  }
}

type SetAffinity = (pid: number, bytes: number, mask: Uint8Array) => number;

/** The call itself, from whichever C library the system has; undefined where there is none. */
function findSetAffinity(): SetAffinity | undefined {
  if (process.platform !== 'linux') return undefined;
  for (const library of ['libc.so.6', 'libc.so']) {
    try {
      // koffi is native code: it is loaded only by threads that are pinned, and its absence is not an error.
      const koffi = createRequire(import.meta.url)('koffi') as typeof import('koffi');
      return koffi.load(library).func('int sched_setaffinity(int pid, size_t size, const uint8_t *mask)');
    } catch {}
  }
  return undefined;
}

function setAffinity(cpu: number): boolean {
  const call = findSetAffinity();
  if (call === undefined) return false;
  const mask = new Uint8Array(CPU_SET_BYTES);
  mask[cpu >> 3] = 1 << (cpu & 7);
  return call(0, CPU_SET_BYTES, mask) === 0;
}

function taskset(cpu: number, tid: number): boolean {
  if (tid === 0) return false;
  return spawnSync('taskset', ['-cp', String(cpu), String(tid)], { stdio: 'ignore' }).status === 0;
}

/**
 * Pins the calling thread to one CPU. Call it before the thread starts threads of its own, which inherit the mask. It
 * never throws: a thread that cannot be pinned runs unpinned, and the placement carries the warning.
 */
export function pinThread(cpu: number | undefined): Placement {
  const tid = threadId();
  if (cpu === undefined) return { cpu, how: 'unpinned', observed: observedCpus(tid), tid, warning: undefined };
  if (!Number.isInteger(cpu) || cpu < 0 || cpu >= CPU_SET_BYTES * 8) {
    return unpinned(cpu, tid, `there is no CPU ${cpu}`);
  }
  const how = setAffinity(cpu) ? 'sched_setaffinity' : taskset(cpu, tid) ? 'taskset' : 'unpinned';
  if (how === 'unpinned') return unpinned(cpu, tid, `cannot pin to CPU ${cpu} on this system`);
  const observed = observedCpus(tid);
  const warning =
    observed === String(cpu) ? undefined : `asked for CPU ${cpu}, the kernel says ${observed || 'nothing'}`;
  return { cpu, how, observed, tid, warning };
}

function unpinned(cpu: number, tid: number, why: string): Placement {
  return { cpu, how: 'unpinned', observed: observedCpus(tid), tid, warning: `${why}; running unpinned` };
}

/** Lets a thread that spins keep the core that it is pinned to. False where the system does not allow it. */
export function favour({ tid, how }: Placement): boolean {
  return how !== 'unpinned' && hurry(tid);
}

/** Lets a thread that has little to do, and does it at once, go before others. False where the system does not allow it. */
export function hurry(tid: number = threadId()): boolean {
  if (tid === 0) return false;
  try {
    setPriority(tid, HURRIED_NICE);
    return true;
  } catch {
    return false;
  }
}
