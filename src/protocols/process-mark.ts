import { existsSync, readFileSync } from 'node:fs';

/** A process, told from a later one that got its number by the time at which it started. */
export interface ProcessMark {
  readonly pid: number;
  /** Empty where the system does not tell. */
  readonly started: string;
}

export function markOf(pid: number): ProcessMark {
  return { pid, started: startTimeOf(pid) ?? '' };
}

export function isAlive({ pid, started }: ProcessMark): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const found = startTimeOf(pid);
  return found === undefined || started === '' || found === started;
}

/** Field 22 of /proc/PID/stat, counted after the command's closing bracket; undefined where there is no /proc. */
function startTimeOf(pid: number): string | undefined {
  const path = `/proc/${pid}/stat`;
  if (!existsSync(path)) return undefined;
  const text = readFileSync(path, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? 'ended' : fields[19];
}
