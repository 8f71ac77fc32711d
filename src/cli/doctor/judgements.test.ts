import { describe, expect, it } from 'vitest';
import { type Finding, finding, type Severity, verdictOf } from './finding.ts';
import { judgeMachine, judgePinning, type MachineFacts, type MachineNeeds } from './judge-machine.ts';
import { type FolderFacts, judgeClaims, judgeDevices, judgeFolder, judgePort, type PortFacts } from './judge-places.ts';
import {
  type Answer,
  type ClockFacts,
  judgeClock,
  judgePostgres,
  judgeRedis,
  type PostgresFacts,
  type RedisFacts,
} from './judge-servers.ts';

const severities = (findings: readonly Finding[]) =>
  Object.fromEntries(findings.map(({ code, severity }) => [code, severity]));
const GIB = 2 ** 30;

describe('the machine', () => {
  const good: MachineFacts = {
    ...{ node: 'v20.19.0', cores: 8, memoryBytes: 16 * GIB, hugePages: 'madvise', governors: ['performance'] },
    ...{ isolated: '7', openFiles: 65_536 },
  };
  const needs: MachineNeeds = { pinnedThreads: 3, spinningThreads: [], threadBytes: 4 * GIB, sockets: 2_200 };

  it.each<[string, Partial<MachineFacts>, Partial<MachineNeeds>, string, Severity]>([
    ['an old Node', { node: 'v20.18.9' }, {}, 'TW_NODE_TOO_OLD', 'failure'],
    ['the oldest Node that will do', { node: 'v20.19.0' }, {}, 'TW_NODE_TOO_OLD', 'ok'],
    ['a new Node', { node: 'v24.1.0' }, {}, 'TW_NODE_TOO_OLD', 'ok'],
    ['as many pinned threads as cores', { cores: 3 }, {}, 'TW_FEW_CORES', 'note'],
    ['a core for each pinned thread and one more', { cores: 4 }, {}, 'TW_FEW_CORES', 'ok'],
    ['threads that spin on every core', { cores: 1 }, { spinningThreads: ['merger'] }, 'TW_FEW_CORES', 'failure'],
    ['too little memory for the threads', { memoryBytes: 4 * GIB }, {}, 'TW_LOW_MEMORY', 'warning'],
    ['too little memory for anything', { memoryBytes: GIB / 2 }, {}, 'TW_LOW_MEMORY', 'failure'],
    ['enough memory', {}, {}, 'TW_LOW_MEMORY', 'ok'],
    ['the usual file limit', { openFiles: 1_024 }, {}, 'TW_FILE_LIMIT', 'warning'],
    ['a tiny file limit', { openFiles: 64 }, {}, 'TW_FILE_LIMIT', 'failure'],
    ['no file limit', { openFiles: undefined }, {}, 'TW_FILE_LIMIT', 'ok'],
    ['huge pages for everyone', { hugePages: 'always' }, {}, 'TW_HUGE_PAGES', 'note'],
    ['a saving governor', { governors: ['performance', 'powersave'] }, {}, 'TW_CPU_GOVERNOR', 'note'],
    [
      'a spinning thread among others',
      { isolated: '' },
      { spinningThreads: ['merger'] },
      'TW_CORE_NOT_ISOLATED',
      'warning',
    ],
    ['a spinning thread by itself', {}, { spinningThreads: ['merger'] }, 'TW_CORE_NOT_ISOLATED', 'ok'],
  ])('%s', (_name, facts, more, code, severity) => {
    expect(severities(judgeMachine({ ...good, ...facts }, { ...needs, ...more }))[code]).toBe(severity);
  });

  it('says nothing of what cannot be read', () => {
    const unread = { ...good, hugePages: undefined, governors: [], isolated: undefined };
    expect(judgeMachine(unread, { ...needs, spinningThreads: ['merger'] }).map(({ code }) => code)).toEqual([
      ...['TW_NODE_TOO_OLD', 'TW_FEW_CORES', 'TW_LOW_MEMORY', 'TW_FILE_LIMIT'],
    ]);
  });

  it('names the means by which a thread was bound, or why it was not', () => {
    const tried = [
      { thread: 'merger', cpu: 3, how: 'taskset', warning: undefined },
      { thread: 'far', cpu: 99, how: 'unpinned', warning: 'cannot pin to CPU 99' },
    ] as const;
    expect(judgePinning(tried, true)).toMatchObject([
      { severity: 'ok', text: 'merger: core 3, by taskset' },
      { severity: 'warning', text: 'far: cannot pin to CPU 99', remedy: expect.stringContaining('core') },
    ]);
    expect(judgePinning([], false)).toMatchObject([{ severity: 'note' }]);
  });
});

const clock = { offsetMs: 1, uncertaintyMs: 1 };

describe('Redis', () => {
  const durable = { appendonly: 'yes', appendfsync: 'everysec', 'maxmemory-policy': 'noeviction', maxmemory: '0' };
  const good: RedisFacts = { version: '7.2.4', settings: durable, role: 'master', lastWriteStatus: 'ok', clock };
  const judged = (facts: Partial<RedisFacts>) =>
    severities(judgeRedis({ state: 'answers', where: 'here', facts: { ...good, ...facts } }));

  it('that is set as it should be raises nothing', () => {
    expect(new Set(Object.values(judged({})))).toEqual(new Set(['ok']));
  });

  it.each<[string, Partial<RedisFacts>, string, Severity]>([
    ['is too old', { version: '6.2.0' }, 'TW_SERVER_TOO_OLD', 'failure'],
    ['keeps no file', { settings: { ...durable, appendonly: 'no' } }, 'TW_REDIS_NOT_DURABLE', 'failure'],
    ['never syncs', { settings: { ...durable, appendfsync: 'no' } }, 'TW_REDIS_NOT_DURABLE', 'failure'],
    [
      'evicts',
      { settings: { ...durable, 'maxmemory-policy': 'allkeys-lru', maxmemory: '9' } },
      'TW_REDIS_EVICTS',
      'failure',
    ],
    [
      'would evict under a limit',
      { settings: { ...durable, 'maxmemory-policy': 'allkeys-lru' } },
      'TW_REDIS_EVICTS',
      'warning',
    ],
    ['hides its settings', { settings: undefined }, 'TW_REDIS_SETTINGS_HIDDEN', 'warning'],
    ['is a replica', { role: 'slave' }, 'TW_REDIS_READ_ONLY', 'failure'],
    ['cannot write', { lastWriteStatus: 'err' }, 'TW_REDIS_READ_ONLY', 'failure'],
  ])('%s', (_name, facts, code, severity) => {
    expect(judged(facts)[code]).toBe(severity);
  });

  it.each<[string, Answer<RedisFacts>, string, Severity]>([
    ['is silent', { state: 'silent', where: 'there', reason: 'refused' }, 'TW_SERVER_UNREACHABLE', 'failure'],
    ['is embedded', { state: 'embedded', version: '7.0.15', canFetch: false }, 'TW_REDIS_UNAVAILABLE', 'ok'],
    ['can be fetched', { state: 'embedded', version: undefined, canFetch: true }, 'TW_REDIS_UNAVAILABLE', 'note'],
    ['cannot be had', { state: 'embedded', version: undefined, canFetch: false }, 'TW_REDIS_UNAVAILABLE', 'warning'],
  ])('that %s', (_name, answer, code, severity) => {
    expect(severities(judgeRedis(answer))).toEqual({ [code]: severity });
  });
});

describe('Postgres', () => {
  const safe = {
    ...{ fsync: 'on', full_page_writes: 'on', synchronous_commit: 'on', max_connections: '100' },
    default_transaction_read_only: 'off',
  };
  const good: PostgresFacts = {
    ...{ versionNumber: 180_004, settings: safe, isStandby: false, mayCreate: true, connectionsUsed: 4, clock },
  };
  const judged = (facts: Partial<PostgresFacts>) =>
    severities(judgePostgres({ state: 'answers', where: 'here', facts: { ...good, ...facts } }, 2));

  it('that is set as it should be raises nothing', () => {
    expect(new Set(Object.values(judged({})))).toEqual(new Set(['ok']));
  });

  it.each<[string, Partial<PostgresFacts>, string, Severity]>([
    ['is too old', { versionNumber: 130_011 }, 'TW_SERVER_TOO_OLD', 'failure'],
    ['does not sync', { settings: { ...safe, fsync: 'off' } }, 'TW_POSTGRES_NOT_DURABLE', 'failure'],
    ['writes half pages', { settings: { ...safe, full_page_writes: 'off' } }, 'TW_POSTGRES_NOT_DURABLE', 'failure'],
    ['commits too soon', { settings: { ...safe, synchronous_commit: 'off' } }, 'TW_POSTGRES_ASYNC_COMMIT', 'failure'],
    ['commits locally', { settings: { ...safe, synchronous_commit: 'local' } }, 'TW_POSTGRES_ASYNC_COMMIT', 'ok'],
    ['is a standby', { isStandby: true }, 'TW_POSTGRES_READ_ONLY', 'failure'],
    [
      'is read-only',
      { settings: { ...safe, default_transaction_read_only: 'on' } },
      'TW_POSTGRES_READ_ONLY',
      'failure',
    ],
    ['gives no rights', { mayCreate: false }, 'TW_POSTGRES_RIGHTS', 'failure'],
    ['is full of clients', { connectionsUsed: 93 }, 'TW_POSTGRES_CONNECTIONS', 'warning'],
  ])('%s', (_name, facts, code, severity) => {
    expect(judged(facts)[code]).toBe(severity);
  });

  it('that cannot be had at all is a failure', () => {
    const answer = { state: 'embedded', version: undefined, canFetch: false } as const;
    expect(severities(judgePostgres(answer, 2))).toEqual({ TW_POSTGRES_UNAVAILABLE: 'failure' });
  });
});

describe('the clock', () => {
  const judged = (facts: Partial<ClockFacts>) =>
    judgeClock({ isSynchronized: true, maxErrorMs: 3, servers: [], ...facts }).map(({ severity }) => severity);
  const server = (offsetMs: number, uncertaintyMs: number) => ({
    servers: [{ name: 'Redis', offsetMs, uncertaintyMs }],
  });

  it.each<[string, Partial<ClockFacts>, Severity[]]>([
    ['is kept right', {}, ['ok']],
    ['is not kept right', { isSynchronized: false }, ['warning']],
    ['does not say', { isSynchronized: undefined }, ['note']],
    ["agrees with a server's", server(-40, 10), ['ok', 'ok']],
    ["differs from a server's", server(-250, 10), ['ok', 'warning']],
    ["is far from a server's", server(90_000, 10), ['ok', 'failure']],
    ['is not blamed for a slow answer', server(900, 900), ['ok', 'ok']],
  ])('%s', (_name, facts, expected) => {
    expect(judged(facts)).toEqual(expected);
  });
});

describe('ports', () => {
  const port: PortFacts = { use: 'HTTP', host: '127.0.0.1', port: 9090, state: 'taken', holder: 'process 7 (nginx)' };

  it('that are taken are a failure, with who has them', () => {
    expect(judgePort(port)).toMatchObject({
      severity: 'failure',
      text: 'HTTP 127.0.0.1:9090 is taken by process 7 (nginx)',
    });
    expect(judgePort({ ...port, holder: undefined }).text).toContain('may not look at');
    expect(judgePort({ ...port, state: 'refused', holder: 'EACCES' })).toMatchObject({ severity: 'failure' });
  });

  it('that are free, or served by the running program, are fine', () => {
    expect(judgePort({ ...port, state: 'free' }).severity).toBe('ok');
    expect(judgePort({ ...port, state: 'ours' }).severity).toBe('ok');
  });
});

describe('folders', () => {
  const good: FolderFacts = {
    ...{ use: 'spill', path: '/x', owner: { uid: 0, isForeign: false }, freeBytes: 100 * GIB, kind: undefined },
    ...{ device: 1, write: { ok: true, syncMs: 1 } },
  };
  const needs = { spillBytes: 4 * GIB, minFreeBytes: GIB, isPostgresEmbedded: true };
  const cannot = (code: string) => ({ write: { ok: false, code, reason: code } }) as const;

  it.each<[string, Partial<FolderFacts>, string, Severity]>([
    ['is too small for the spill', { freeBytes: 3 * GIB }, 'TW_DISK_LOW', 'warning'],
    ['has only what is left to others', { freeBytes: GIB }, 'TW_DISK_LOW', 'failure'],
    ['has room', {}, 'TW_DISK_LOW', 'ok'],
    ['syncs slowly', { write: { ok: true, syncMs: 30 } }, 'TW_DISK_SLOW', 'note'],
    ['syncs very slowly', { write: { ok: true, syncMs: 300 } }, 'TW_DISK_SLOW', 'warning'],
    ['lies in memory', { kind: 'memory' }, 'TW_DISK_VOLATILE', 'warning'],
    ['is read-only', cannot('EROFS'), 'TW_FOLDER_READ_ONLY', 'failure'],
    ['is closed', cannot('EACCES'), 'TW_FOLDER_READ_ONLY', 'failure'],
    ['is full', cannot('ENOSPC'), 'TW_DISK_FULL', 'failure'],
    ['is over its quota', cannot('EDQUOT'), 'TW_DISK_FULL', 'failure'],
    ["is someone else's", { owner: { uid: 7, isForeign: true } }, 'TW_FOLDER_FOREIGN', 'failure'],
  ])('%s', (_name, facts, code, severity) => {
    expect(severities(judgeFolder({ ...good, ...facts }, needs))[code]).toBe(severity);
  });

  it('on one disk with the embedded Postgres are worth a note', () => {
    const data: FolderFacts = { ...good, use: 'data' };
    expect(judgeDevices([data, good], needs)).toMatchObject([{ severity: 'note' }]);
    expect(judgeDevices([data, { ...good, device: 2 }], needs)).toMatchObject([{ severity: 'ok' }]);
    expect(judgeDevices([data, good], { ...needs, isPostgresEmbedded: false })).toEqual([]);
  });
});

describe('locks', () => {
  const dead = { pid: 7, isAlive: false };
  const alive = { pid: 8, isAlive: true };
  it.each([
    ['nobody', [], ['ok TW_STALE_LOCK']],
    ['a running program', [{ file: 'f', owner: alive, server: alive }], ['ok TW_SERVER_IN_USE']],
    ['a dead one', [{ file: 'f', owner: dead }], ['note TW_STALE_LOCK']],
    ['a dead one whose server lives', [{ file: 'f', owner: dead, server: alive }], ['warning TW_ORPHAN_SERVER']],
    [
      'a running one beside what a dead one left',
      [
        { file: 'f', owner: alive },
        { file: 'g', owner: dead },
      ],
      ['ok TW_SERVER_IN_USE', 'note TW_STALE_LOCK'],
    ],
  ])('of %s', (_name, claims, expected) => {
    expect(judgeClaims(claims).map(({ severity, code }) => `${severity} ${code}`)).toEqual(expected);
  });
});

describe('the verdict', () => {
  const one = (severity: Severity) => finding('disk', severity, 'TW_DISK_LOW', 'x');
  it('is as bad as the worst finding; notes do not count', () => {
    expect(verdictOf([one('ok'), one('note')]).verdict).toBe('healthy');
    expect(verdictOf([one('ok'), one('warning')])).toMatchObject({ verdict: 'warnings', warnings: 1, failures: 0 });
    expect(verdictOf([one('warning'), one('failure')])).toMatchObject({
      verdict: 'failures',
      warnings: 1,
      failures: 1,
    });
  });

  it('has a remedy with all that is not fine, and none with what is', () => {
    expect(one('ok').remedy).toBe('');
    expect(one('note').remedy).not.toBe('');
  });
});
