import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from './command.ts';
import { finding, type Severity, type Verdict, verdictOf } from './doctor/finding.ts';
import { listenerOn, listeningInodes } from './doctor/probe-places.ts';
import { renderVerdict } from './doctor.ts';
import { unpainted } from './terminal.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const main = join(root, 'dist/src/cli/main.js');

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-doctor-'));
  cpSync(join(root, 'config'), join(folder, 'config'), { recursive: true });
  edit(/http: .*/, 'http: { port: 0 }');
  edit(/grpc: .*/, 'grpc: { port: 0 }');
  edit(/simulation: .*/, 'simulation: { port: 0 }');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function edit(from: RegExp, to: string): void {
  const path = join(folder, 'config/kernel.yaml');
  const before = readFileSync(path, 'utf8');
  expect(before).toMatch(from);
  writeFileSync(path, before.replace(from, to));
}

async function doctor(env: Record<string, string> = {}): Promise<Verdict & { code: number }> {
  const options = { cwd: folder, env: { PATH: process.env['PATH'] ?? '', ...env } };
  return new Promise((done) => {
    const child = execFile(process.execPath, [main, 'doctor', '--json'], options, (_error, out) =>
      done({ ...(JSON.parse(out) as Verdict), code: child.exitCode ?? -1 }),
    );
  });
}

const found = ({ findings }: Verdict, severity: Severity) =>
  findings.filter((one) => one.severity === severity).map(({ code }) => code);

describe('tapeworks doctor, with nothing running', () => {
  it('looks at every area, finds nothing that would keep it from starting, and leaves nothing behind', async () => {
    const verdict = await doctor();
    expect(found(verdict, 'failure')).toEqual([]);
    expect(verdict.code).toBe(verdict.warnings > 0 ? EXIT.changes : EXIT.ok);
    const areas = new Set(verdict.findings.map(({ area }) => area));
    expect([...areas]).toEqual(['configuration', 'machine', 'pinning', 'servers', 'clock', 'disk', 'locks']);
    expect(readdirSync(folder)).toEqual(['config']);
  });

  it('names a wrong file by line and goes on with the rest', async () => {
    edit(/http: .*/, 'http: { port: 99999 }');
    const verdict = await doctor();
    expect(verdict.code).toBe(EXIT.failed);
    expect(verdict.findings[0]).toMatchObject({
      code: 'TW_CONFIG_VALUE',
      text: expect.stringContaining('kernel.yaml:6:'),
    });
    expect(verdict.findings.length).toBeGreaterThan(8);
  });

  it('names the process that has a port', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address() as AddressInfo;
    edit(/grpc: .*/, `grpc: { port: ${port} }`);
    const verdict = await doctor();
    server.close();
    const taken = verdict.findings.find(({ code }) => code === 'TW_PORT_TAKEN');
    expect(taken).toMatchObject({ severity: 'failure', text: expect.stringContaining(`:${port} is taken by`) });
    if (process.platform === 'linux') expect(taken?.text).toContain(`process ${process.pid} (`);
  });

  it('says that servers do not answer, without their passwords', async () => {
    const verdict = await doctor({
      REDIS_URL: 'redis://:s3cret@127.0.0.1:1',
      DATABASE_URL: 'postgres://me:s3cret@127.0.0.1:1/md',
    });
    const silent = verdict.findings.filter(({ code }) => code === 'TW_SERVER_UNREACHABLE');
    expect(silent.map(({ text }) => text.split(' does')[0])).toEqual([
      'Redis at 127.0.0.1:1',
      'Postgres at 127.0.0.1:1/md',
    ]);
    expect(JSON.stringify(verdict)).not.toContain('s3cret');
  });

  it('tells a lock that was left behind from one that is held', async () => {
    mkdirSync(join(folder, '.tapeworks/spill'), { recursive: true });
    const holder = { pid: process.pid, started: '' };
    writeFileSync(
      join(folder, '.tapeworks/redis.owner.json'),
      JSON.stringify({ owner: { pid: 4_000_000, started: '1' } }),
    );
    writeFileSync(join(folder, '.tapeworks/spill/lock.json'), JSON.stringify(holder));
    const locks = (await doctor()).findings.filter(({ area }) => area === 'locks');
    expect(locks).toMatchObject([
      { severity: 'ok', text: `tapeworks runs here as process ${process.pid}` },
      { severity: 'note', code: 'TW_STALE_LOCK', text: expect.stringContaining('redis.owner.json') },
    ]);
  });

  it.skipIf(process.platform !== 'linux')('finds a folder that nobody may write to', async () => {
    edit(/data: .*/, 'data: /sys/tapeworks');
    expect(found(await doctor(), 'failure')).toEqual(['TW_FOLDER_READ_ONLY', 'TW_FOLDER_READ_ONLY']);
  });
});

describe('looking for who listens', () => {
  it('reads the kernel’s table', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:2382 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1',
      '   1: 0100007F:2382 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1',
      '   2: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1',
    ].join('\n');
    expect(listeningInodes(table, 9090)).toEqual(['4711']);
    expect(listeningInodes(table, 80)).toEqual(['4713']);
    expect(listeningInodes('', 80)).toEqual([]);
  });

  it('gives up on a port that nobody has', () => {
    expect(listenerOn(0)).toBeUndefined();
  });
});

describe('the screen', () => {
  const verdict = verdictOf([
    finding('machine', 'ok', 'TW_NODE_TOO_OLD', 'Node 20.20.2'),
    finding('disk', 'failure', 'TW_DISK_FULL', 'full\u001b[31m'),
  ]);

  it('groups by area, shows remedies, and lets no text move the cursor', () => {
    expect(renderVerdict(verdict, unpainted)).toBe(
      [
        'machine',
        '  ok    Node 20.20.2',
        '',
        'disk',
        '  FAIL  full·[31m',
        `        TW_DISK_FULL: ${verdict.findings[1]!.remedy}`,
        '',
        '1 failure, 1 check fine.',
        '',
      ].join('\n'),
    );
  });

  it('fits a narrow terminal', () => {
    const lines = renderVerdict(verdict, unpainted, 40).split('\n');
    expect(lines.every((line) => line.length <= 40)).toBe(true);
  });
});
