import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TapeworksError } from '../../protocols/errors/index.ts';
import { isAlive, markOf, type ProcessMark } from '../../protocols/process-mark.ts';

/** Makes a folder this process's own; the answer gives it back. A lock whose holder has died is taken over. */
export function lockFolder(folder: string): () => void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, 'lock.json');
  const holder = holderIn(path);
  if (holder !== undefined && holder.pid !== process.pid && isAlive(holder)) {
    throw new TapeworksError('TW_SPILL_IN_USE', `${folder} belongs to the running process ${holder.pid}`);
  }
  writeFileSync(path, JSON.stringify(markOf(process.pid)), { mode: 0o600 });
  return () => rmSync(path, { force: true });
}

/** Who holds a folder by its lock, and whether that process still lives; undefined where there is no lock. */
export function holderOfFolder(folder: string): { readonly pid: number; readonly isAlive: boolean } | undefined {
  const holder = holderIn(join(folder, 'lock.json'));
  return holder === undefined ? undefined : { pid: holder.pid, isAlive: isAlive(holder) };
}

function holderIn(path: string): ProcessMark | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ProcessMark;
  } catch {
    // Absent or torn: nobody can be proved to hold it.
    return undefined;
  }
}
