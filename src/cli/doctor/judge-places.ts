// Ports, folders and locks: what the program wants to itself.
import { type Finding, finding } from './finding.ts';
import { gib } from './judge-machine.ts';

export interface PortFacts {
  readonly use: string;
  readonly port: number;
  readonly host: string;
  /** `ours`: the program that holds the data folder, or a process that it started. */
  readonly state: 'free' | 'ours' | 'taken' | 'refused';
  /** Who listens there, where that can be read; for `refused`, why. */
  readonly holder: string | undefined;
}

export function judgePort({ use, port, host, state, holder }: PortFacts): Finding {
  const at = `${use} ${host}:${port}`;
  if (state === 'free') return finding('ports', 'ok', 'TW_PORT_TAKEN', `${at} is free`);
  if (state === 'ours') return finding('ports', 'ok', 'TW_PORT_TAKEN', `${at} is served by the running tapeworks`);
  const who = holder ?? 'a process that this user may not look at';
  const text =
    state === 'taken' ? `${at} is taken by ${who}` : `${at} cannot be opened: ${holder ?? 'no reason given'}`;
  return finding('ports', 'failure', 'TW_PORT_TAKEN', text);
}

export interface FolderFacts {
  readonly use: 'data' | 'spill';
  readonly path: string;
  readonly owner: { readonly uid: number; readonly isForeign: boolean };
  readonly freeBytes: number;
  /** Of the file system, such as `tmpfs`; undefined for ordinary ones. */
  readonly kind: 'memory' | 'network' | undefined;
  readonly device: number;
  readonly write:
    | { readonly ok: true; readonly syncMs: number }
    | { readonly ok: false; readonly code: string; readonly reason: string };
}

export interface FolderNeeds {
  readonly spillBytes: number;
  readonly minFreeBytes: number;
  readonly isPostgresEmbedded: boolean;
}

const SYNC_SLOW_MS = 20;
const SYNC_BAD_MS = 200;

export function judgeFolder(facts: FolderFacts, needs: FolderNeeds): Finding[] {
  const { use, path, owner, write } = facts;
  const place = `${use} folder ${path}`;
  const disk = (severity: Finding['severity'], code: Finding['code'], text: string) =>
    finding('disk', severity, code, `${place}: ${text}`);
  if (owner.isForeign) return [disk('failure', 'TW_FOLDER_FOREIGN', `belongs to the user with the id ${owner.uid}`)];
  if (!write.ok) {
    const isFull = write.code === 'ENOSPC' || write.code === 'EDQUOT';
    return [disk('failure', isFull ? 'TW_DISK_FULL' : 'TW_FOLDER_READ_ONLY', `cannot be written to: ${write.reason}`)];
  }
  const speed = `a synced write takes ${write.syncMs < 10 ? write.syncMs.toFixed(1) : Math.round(write.syncMs)} ms`;
  const findings = [
    disk(write.syncMs >= SYNC_BAD_MS ? 'warning' : write.syncMs >= SYNC_SLOW_MS ? 'note' : 'ok', 'TW_DISK_SLOW', speed),
  ];
  if (facts.kind !== undefined)
    findings.push(disk('warning', 'TW_DISK_VOLATILE', `lies on a ${facts.kind} file system`));
  if (use === 'spill') findings.push(...spaceFor(facts, needs, disk));
  return findings;
}

function spaceFor(
  { freeBytes }: FolderFacts,
  { spillBytes, minFreeBytes }: FolderNeeds,
  disk: (severity: Finding['severity'], code: Finding['code'], text: string) => Finding,
): Finding[] {
  const wanted = spillBytes + minFreeBytes;
  const severity = freeBytes <= minFreeBytes ? 'failure' : freeBytes < wanted ? 'warning' : 'ok';
  return [
    disk(
      severity,
      'TW_DISK_LOW',
      `${gib(freeBytes)} free; the spill may take ${gib(spillBytes)} and leaves ${gib(minFreeBytes)}`,
    ),
  ];
}

/** The spill is there for the hour in which Postgres has no disk. */
export function judgeDevices(folders: readonly FolderFacts[], { isPostgresEmbedded }: FolderNeeds): Finding[] {
  const [data, spill] = (['data', 'spill'] as const).map((use) => folders.find((folder) => folder.use === use));
  if (data === undefined || spill === undefined || !isPostgresEmbedded) return [];
  const isShared = data.device === spill.device;
  const text = isShared ? 'the spill and the embedded Postgres share a disk' : 'the spill has a disk of its own';
  return [finding('disk', isShared ? 'note' : 'ok', 'TW_DISK_SHARED', text)];
}

export interface ClaimFacts {
  readonly file: string;
  readonly owner: { readonly pid: number; readonly isAlive: boolean };
  /** The embedded server that the note speaks of. */
  readonly server?: { readonly pid: number; readonly isAlive: boolean } | undefined;
}

export function judgeClaims(claims: readonly ClaimFacts[]): Finding[] {
  const running = claims.find(({ owner }) => owner.isAlive)?.owner.pid;
  const findings = claims.flatMap(({ file, owner, server }): Finding[] => {
    if (owner.isAlive) return [];
    if (server?.isAlive === true) {
      const text = `${file}: process ${server.pid} runs on, its owner ${owner.pid} is gone`;
      return [finding('locks', 'warning', 'TW_ORPHAN_SERVER', text)];
    }
    return [finding('locks', 'note', 'TW_STALE_LOCK', `${file} was left by process ${owner.pid}`)];
  });
  if (running !== undefined) {
    findings.unshift(finding('locks', 'ok', 'TW_SERVER_IN_USE', `tapeworks runs here as process ${running}`));
  } else if (findings.length === 0) {
    findings.push(finding('locks', 'ok', 'TW_STALE_LOCK', 'nobody runs here, and no lock was left behind'));
  }
  return findings;
}
