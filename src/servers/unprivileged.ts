import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

/** The account a server runs under. Postgres refuses to run as root, so root lends it another one. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** The account to run Postgres under, or undefined when the current user is already unprivileged. */
export function accountForServers(passwd = readPasswd()): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const wanted of ['postgres', 'nobody']) {
    const found = passwd.find((account) => account.name === wanted);
    if (found !== undefined) return found;
  }
  return undefined;
}

function readPasswd(): readonly Account[] {
  const text = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8') : '';
  return text
    .split('\n')
    .map((line) => line.split(':'))
    .filter((fields) => fields.length >= 4)
    .map((fields) => ({ name: fields[0]!, uid: Number(fields[2]), gid: Number(fields[3]) }));
}

/** The folders on the way to `path` that `account` may not enter, outermost first. */
export function foldersClosedTo(path: string, account: Account): readonly string[] {
  const closed: string[] = [];
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    if (existsSync(folder) && !mayEnter(folder, account)) closed.unshift(folder);
    if (folder === dirname(folder)) return closed;
  }
}

function mayEnter(folder: string, account: Account): boolean {
  const { mode, uid, gid } = statSync(folder);
  if (uid === account.uid) return (mode & 0o100) !== 0;
  if (gid === account.gid) return (mode & 0o010) !== 0;
  return (mode & 0o001) !== 0;
}

/**
 * A folder for the server's data that `account` can reach. Below a closed folder (a checkout in root's home, say) the
 * data moves to a system-wide place, and a link stays where the reader would look for it.
 */
export function reachableFolder(wanted: string, account: Account | undefined, systemPlace: string): string {
  const path = resolve(wanted);
  if (account === undefined || foldersClosedTo(dirname(path), account).length === 0) return path;
  const digest = createHash('sha256').update(path).digest('hex').slice(0, 12);
  const moved = join(systemPlace, `${digest}-${path.split('/').at(-1)}`);
  mkdirSync(moved, { recursive: true, mode: 0o755 });
  mkdirSync(dirname(path), { recursive: true });
  const link = lstatSync(path, { throwIfNoEntry: false });
  if (link?.isSymbolicLink()) rmSync(path);
  if (!link?.isDirectory()) symlinkSync(moved, path);
  return moved;
}
