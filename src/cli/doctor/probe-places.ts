import {
  closeSync,
  existsSync,
  fdatasyncSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { holderOfFolder } from '../../actors/spill/folder-lock.ts';
import { ownerOfServer } from '../../servers/server-process.ts';
import type { ClaimFacts, FolderFacts, PortFacts } from './judge-places.ts';
import { readSystem } from './probe-machine.ts';

/** Opens the port for a moment, and looks up who holds it where that fails. */
export async function probePort(
  use: string,
  host: string,
  port: number,
  running: number | undefined,
): Promise<PortFacts | undefined> {
  if (port === 0) return undefined;
  const error = await bindFor(host, port);
  if (error === undefined) return { use, host, port, state: 'free', holder: undefined };
  if (error.code !== 'EADDRINUSE') return { use, host, port, state: 'refused', holder: error.message };
  const pid = listenerOn(port);
  if (pid === undefined) return { use, host, port, state: 'taken', holder: undefined };
  const isOurs = running !== undefined && (pid === running || parentOf(pid) === running);
  return { use, host, port, state: isOurs ? 'ours' : 'taken', holder: describeProcess(pid) };
}

function bindFor(host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(undefined)));
  });
}

/** The process that listens on a port, from /proc; undefined where it belongs to others, or there is no /proc. */
export function listenerOn(port: number): number | undefined {
  const inodes = new Set(
    ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => listeningInodes(readSystem(path) ?? '', port)),
  );
  if (inodes.size === 0) return undefined;
  return processIds().find((pid) => socketsOf(pid).some((inode) => inodes.has(inode)));
}

/** A line is `sl local_address rem_address st ... inode`, the port in hex behind the colon; state 0A is LISTEN. */
export function listeningInodes(table: string, port: number): readonly string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return table
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter((fields) => fields[1]?.endsWith(suffix) === true && fields[3] === '0A')
    .map((fields) => fields[9] ?? '');
}

function processIds(): readonly number[] {
  try {
    return readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(Number);
  } catch {
    return [];
  }
}

function socketsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap(
      (fd) => /^socket:\[(\d+)\]$/.exec(linkAt(`/proc/${pid}/fd/${fd}`))?.[1] ?? [],
    );
  } catch {
    return [];
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function parentOf(pid: number): number | undefined {
  const parent = /^PPid:\s*(\d+)/m.exec(readSystem(`/proc/${pid}/status`) ?? '')?.[1];
  return parent === undefined ? undefined : Number(parent);
}

function describeProcess(pid: number): string {
  const words = (readSystem(`/proc/${pid}/cmdline`) ?? '').split('\0').filter((word) => word !== '');
  const line = words.join(' ');
  return `process ${pid}${line === '' ? '' : ` (${line.length > 60 ? `${line.slice(0, 59)}…` : line})`}`;
}

const WRITES = 9;
const BLOCK = Buffer.alloc(4096, 1);

/** Looks at a folder, or at the nearest one above it that exists: the program would make the rest. */
export function probeFolder(use: 'data' | 'spill', wanted: string): FolderFacts {
  const path = nearestExisting(resolve(wanted));
  const { uid, dev } = statSync(path);
  const { bavail, bsize, type } = statfsSync(path);
  const me = process.getuid?.();
  const isMade = path === resolve(wanted);
  return {
    use,
    path: wanted,
    // What others own above it does not matter, as long as it can be written to.
    owner: { uid, isForeign: isMade && me !== undefined && me !== 0 && uid !== me },
    freeBytes: bavail * bsize,
    kind: KINDS.get(type),
    device: dev,
    write: tryWriting(path),
  };
}

/** From linux/magic.h. */
const KINDS: ReadonlyMap<number, 'memory' | 'network'> = new Map([
  ...[0x0102_1994, 0x8584_58f6].map((magic) => [magic, 'memory'] as const),
  ...[0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b].map((magic) => [magic, 'network'] as const),
]);

function nearestExisting(path: string): string {
  let at = path;
  while (!existsSync(at) && dirname(at) !== at) at = dirname(at);
  return at;
}

function tryWriting(folder: string): FolderFacts['write'] {
  const path = join(folder, `.tapeworks-doctor-${process.pid}`);
  try {
    const file = openSync(path, 'wx', 0o600);
    try {
      const times = Array.from({ length: WRITES }, () => {
        const started = performance.now();
        writeSync(file, BLOCK);
        fdatasyncSync(file);
        return performance.now() - started;
      });
      return { ok: true, syncMs: times.sort((a, b) => a - b)[WRITES >> 1]! };
    } finally {
      closeSync(file);
      rmSync(path, { force: true });
    }
  } catch (error) {
    const { code = 'unknown', message } = error as NodeJS.ErrnoException;
    return { ok: false, code, reason: message };
  }
}

/** Who says that the folders are theirs. */
export function probeClaims(data: string, spill: string): readonly ClaimFacts[] {
  const servers = ['postgres', 'redis'].map((name) => {
    const path = join(data, name);
    // Below a folder that Postgres may not enter, this is a link, and the notes are where it leads.
    const folder = existsSync(path) ? realpathSync(path) : path;
    const note = ownerOfServer(folder);
    return note && { file: `${folder}.owner.json`, ...note };
  });
  const holder = holderOfFolder(spill);
  const lock = holder && { file: join(spill, 'lock.json'), owner: holder };
  return [...servers, lock].filter((claim) => claim !== undefined);
}
