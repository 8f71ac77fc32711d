import { readFileSync } from 'node:fs';

/** What the kernel's scheduler says of a thread, in rising nanoseconds. */
export interface ThreadTimes {
  readonly onCoreNs: number;
  /** Ready to run, while other threads had the cores. */
  readonly waitingNs: number;
}

/** Undefined where the system does not tell: not Linux, or the thread is gone. */
export function threadTimes(tid: number): ThreadTimes | undefined {
  try {
    const [onCoreNs, waitingNs] = readFileSync(`/proc/self/task/${tid}/schedstat`, 'utf8').split(' ').map(Number);
    return onCoreNs === undefined || waitingNs === undefined ? undefined : { onCoreNs, waitingNs };
  } catch {
    return undefined;
  }
}
