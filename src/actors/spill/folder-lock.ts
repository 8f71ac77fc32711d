import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TapeworksError } from '../../protocols/errors/index.ts';

interface Holder {
  readonly pid: number;
  readonly started: string;
}

/** Makes a folder this process's own; the answer gives it back. A lock whose holder has died is taken over. */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'lock.json');
  const mine: Holder = { pid: process.pid, started: startOf(process.pid) ?? '' };
  const holder = holderIn(path);
  if (holder !== undefined && holder.pid !== process.pid && lives(holder)) {
    throw new TapeworksError('TW_SPILL_IN_USE', `${folder} belongs to the running process ${holder.pid}`);
  }
  writeFileSync(path, JSON.stringify(mine), { mode: 0o600 });
  return () => rmSync(path, { force: true });
}

/** Who holds a folder by its lock, and whether that process still lives; undefined where there is no lock. */
export function holderOfFolder(folder: string): { readonly pid: number; readonly isAlive: boolean } | undefined {
  const holder = holderIn(join(folder, 'lock.json'));
  return holder === undefined ? undefined : { pid: holder.pid, isAlive: lives(holder) };
}

function holderIn(path: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Holder;
  } catch {
    // Absent or torn: nobody can be proved to hold it.
    return undefined;
  }
}

/** A pid may be another program's by now; its start time tells. */
function lives({ pid, started }: Holder): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  const found = startOf(pid);
  return found === undefined || started === '' || found === started;
}

function startOf(pid: number): string | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}
