import type { Severity } from './finding.ts';
import { type Finding, finding } from './finding.ts';

/** A server that answered, one that did not, or an embedded one that is started with the program. */
export type Answer<F> =
  | { readonly state: 'answers'; readonly where: string; readonly facts: F }
  | { readonly state: 'silent'; readonly where: string; readonly reason: string }
  | { readonly state: 'embedded'; readonly version: string | undefined; readonly canFetch: boolean };

export interface RedisFacts {
  readonly version: string;
  /** Settings by name; undefined where CONFIG GET is not allowed. */
  readonly settings: Readonly<Record<string, string>> | undefined;
  readonly role: string;
  readonly lastWriteStatus: string;
  readonly clock: ClockReading;
}

export interface PostgresFacts {
  /** 180004 is 18.4. */
  readonly versionNumber: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly isStandby: boolean;
  readonly mayCreate: boolean;
  readonly connectionsUsed: number;
  readonly clock: ClockReading;
}

/** How far a server's clock is ahead of ours, known to within half the time of the question. */
export interface ClockReading {
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
}

const REDIS_MAJOR_MIN = 7;
const POSTGRES_NUMBER_MIN = 140_000;
/** Besides the sink's: K-lines, history, migrations and a person with psql. */
const OTHER_CONNECTIONS = 6;

export function judgeRedis(answer: Answer<RedisFacts>): Finding[] {
  if (answer.state === 'embedded') return [embedded('Redis', answer)];
  if (answer.state === 'silent') return [silent('Redis', answer)];
  const { version, settings, role, lastWriteStatus } = answer.facts;
  const isOld = Number(version.split('.')[0]) < REDIS_MAJOR_MIN;
  const findings = [server(isOld ? 'failure' : 'ok', 'TW_SERVER_TOO_OLD', `Redis ${version} at ${answer.where}`)];
  if (role !== 'master') findings.push(server('failure', 'TW_REDIS_READ_ONLY', `Redis is a ${role}`));
  else if (lastWriteStatus !== 'ok') {
    findings.push(server('failure', 'TW_REDIS_READ_ONLY', `Redis could not write its file: ${lastWriteStatus}`));
  }
  if (settings === undefined) {
    return [...findings, server('warning', 'TW_REDIS_SETTINGS_HIDDEN', 'Redis does not say how it is set')];
  }
  const { appendonly = '?', appendfsync = '?', 'maxmemory-policy': policy = '?', maxmemory = '0' } = settings;
  const isDurable = appendonly === 'yes' && appendfsync !== 'no';
  const text = `Redis: appendonly ${appendonly}, appendfsync ${appendfsync}`;
  findings.push(server(isDurable ? 'ok' : 'failure', 'TW_REDIS_NOT_DURABLE', text));
  // Without a limit nothing is evicted, whatever the policy; it would be once somebody sets one.
  const eviction = policy === 'noeviction' ? 'ok' : maxmemory === '0' ? 'warning' : 'failure';
  findings.push(server(eviction, 'TW_REDIS_EVICTS', `Redis: maxmemory-policy ${policy}, maxmemory ${maxmemory}`));
  return findings;
}

export function judgePostgres(answer: Answer<PostgresFacts>, sinkConnections: number): Finding[] {
  if (answer.state === 'embedded') return [embedded('Postgres', answer)];
  if (answer.state === 'silent') return [silent('Postgres', answer)];
  const { versionNumber, settings, isStandby, mayCreate, connectionsUsed } = answer.facts;
  const { fsync = '?', full_page_writes: pages = '?', synchronous_commit: commit = '?' } = settings;
  const isOld = versionNumber < POSTGRES_NUMBER_MIN;
  const version = `${Math.floor(versionNumber / 10_000)}.${versionNumber % 10_000}`;
  const isDurable = fsync === 'on' && pages === 'on';
  const isReadOnly = isStandby || settings['default_transaction_read_only'] === 'on';
  const left = Number(settings['max_connections'] ?? 0) - connectionsUsed;
  const needed = sinkConnections + OTHER_CONNECTIONS;
  return [
    server(isOld ? 'failure' : 'ok', 'TW_SERVER_TOO_OLD', `Postgres ${version} at ${answer.where}`),
    server(
      isDurable ? 'ok' : 'failure',
      'TW_POSTGRES_NOT_DURABLE',
      `Postgres: fsync ${fsync}, full_page_writes ${pages}`,
    ),
    server(commit === 'off' ? 'failure' : 'ok', 'TW_POSTGRES_ASYNC_COMMIT', `Postgres: synchronous_commit ${commit}`),
    ...(isReadOnly
      ? [server('failure', 'TW_POSTGRES_READ_ONLY', `Postgres is ${isStandby ? 'a standby' : 'read-only by default'}`)]
      : []),
    server(
      mayCreate ? 'ok' : 'failure',
      'TW_POSTGRES_RIGHTS',
      mayCreate ? 'Postgres: the role may create tables' : 'Postgres: the role may not create tables in schema public',
    ),
    server(
      left < needed ? 'warning' : 'ok',
      'TW_POSTGRES_CONNECTIONS',
      `Postgres: ${left} connections left, ${needed} wanted`,
    ),
  ];
}

const server = (severity: Severity, code: Finding['code'], text: string) => finding('servers', severity, code, text);

function silent(name: string, { where, reason }: { readonly where: string; readonly reason: string }): Finding {
  return server('failure', 'TW_SERVER_UNREACHABLE', `${name} at ${where} does not answer: ${reason}`);
}

function embedded(
  name: 'Redis' | 'Postgres',
  answer: { readonly version: string | undefined; readonly canFetch: boolean },
) {
  const code = name === 'Redis' ? 'TW_REDIS_UNAVAILABLE' : 'TW_POSTGRES_UNAVAILABLE';
  if (answer.version !== undefined) return server('ok', code, `${name} ${answer.version}, embedded; not running now`);
  if (answer.canFetch)
    return server('note', code, `${name} is not installed; the first start fetches Debian's package`);
  // Without Redis the books and bars run all the same.
  return server(name === 'Redis' ? 'warning' : 'failure', code, `no ${name} can be started here, and none is named`);
}

export interface ClockFacts {
  /** Whether the system's clock is kept right, as the kernel knows; undefined where it does not say. */
  readonly isSynchronized: boolean | undefined;
  /** How far off the kernel thinks it may be at most. */
  readonly maxErrorMs: number | undefined;
  readonly servers: readonly ({ readonly name: string } & ClockReading)[];
}

const OFFSET_NOTED_MS = 100;
const OFFSET_BAD_MS = 1_000;

export function judgeClock({ isSynchronized, maxErrorMs, servers }: ClockFacts): Finding[] {
  const findings: Finding[] = [];
  if (isSynchronized !== undefined) {
    const error = maxErrorMs === undefined ? '' : `, off by at most ${Math.ceil(maxErrorMs)} ms`;
    const text = isSynchronized ? `kept right by a time service${error}` : 'no time service keeps the clock right';
    findings.push(finding('clock', isSynchronized ? 'ok' : 'warning', 'TW_CLOCK_UNSYNCED', text));
  } else
    findings.push(
      finding('clock', 'note', 'TW_CLOCK_UNSYNCED', 'this system does not say whether its clock is kept right'),
    );
  for (const { name, offsetMs, uncertaintyMs } of servers) {
    const least = Math.max(0, Math.abs(offsetMs) - uncertaintyMs);
    const severity = least >= OFFSET_BAD_MS ? 'failure' : least >= OFFSET_NOTED_MS ? 'warning' : 'ok';
    const side = offsetMs < 0 ? 'behind' : 'ahead of';
    const text =
      severity === 'ok'
        ? `${name}'s clock agrees, to within ${Math.ceil(Math.abs(offsetMs) + uncertaintyMs)} ms`
        : `${name}'s clock is ${Math.round(Math.abs(offsetMs))} ms ${side} ours (give or take ${Math.ceil(uncertaintyMs)} ms)`;
    findings.push(finding('clock', severity, 'TW_CLOCK_OFFSET', text));
  }
  return findings;
}
