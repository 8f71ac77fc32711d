// What goes wrong on a first start: one sentence and its remedy each, and nothing left running.
import { spawnSync } from 'node:child_process';
import { chownSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bin, main, runProgram, tapeworks, Workplace } from './harness.ts';

let place: Workplace;
beforeEach(async () => {
  place = await Workplace.make();
});
afterEach(() => place.remove());

/** One coded sentence, one remedy, no stack. */
function expectSentence(err: string, code: string, said: string): void {
  const lines = err.trimEnd().split('\n');
  expect(lines[0]).toMatch(new RegExp(`^${code}: `));
  expect(lines[0]).toContain(said);
  expect(lines).toHaveLength(2);
  expect(lines[1]).toMatch(/^ {2}[A-Z].*\.$/);
}

describe('a first start', () => {
  it('on a taken port names the port, who has it, and what to do', async () => {
    const server = createServer().listen(place.ports.grpc, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { code, out, err } = await place.run(['up']);
    server.close();
    expect([code, out]).toEqual([1, '']);
    expectSentence(err, 'TW_PORT_TAKEN', `gRPC 127.0.0.1:${place.ports.grpc} is taken by`);
  });

  it('in a folder that cannot be written to says which', async () => {
    place.edit('data: .tapeworks', 'data: /sys/tapeworks');
    const { code, err } = await place.run(['up']);
    expect(code).toBe(1);
    expectSentence(err, 'TW_FOLDER_READ_ONLY', 'data folder /sys/tapeworks: cannot be written to');
  });

  it.skipIf(process.getuid?.() !== 0)("in another user's data folder says whose", async () => {
    const nobody = 65_534;
    for (const path of [place.folder, join(place.folder, 'config')]) chownSync(path, nobody, nobody);
    const { code, err } = await tapeworks(['up'], { cwd: place.folder, uid: nobody });
    expect(code).toBe(1);
    expectSentence(err, 'TW_FOLDER_FOREIGN', 'belongs to the user with the id 0');
  });

  // A disk of its own for one process, gone with it.
  const smallDisk = 'mount -t tmpfs -o size=16k tmpfs "$0"';
  const canMount = spawnSync('unshare', ['-rm', 'sh', '-c', smallDisk, tmpdir()]).status === 0;
  it.skipIf(!canMount)('on a full disk says so', async () => {
    const data = join(place.folder, 'small');
    mkdirSync(data);
    place.edit('data: .tapeworks', 'data: small');
    const script = `${smallDisk} && exec "$@"`;
    const command = ['-rm', 'sh', '-c', script, data, process.execPath, main, 'up'];
    const { code, err } = await runProgram('unshare', command, { cwd: place.folder });
    expect(code).toBe(1);
    expectSentence(err, 'TW_DISK_FULL', 'cannot be written to: ENOSPC');
  });

  it('does not mix real prices into what simulated venues made, nor the other way round', async () => {
    writeFileSync(join(place.data, 'venues'), 'simulated\n');
    const real = await place.run(['up', '--live']);
    expect(real.code).toBe(1);
    expectSentence(real.err, 'TW_DATA_OF_OTHER_VENUES', 'holds data of simulated venues');
    writeFileSync(join(place.data, 'venues'), 'real\n');
    expectSentence((await place.run(['up'])).err, 'TW_DATA_OF_OTHER_VENUES', 'holds data of real venues');
  });

  it('with a wrong file shows the line, and starts nothing', async () => {
    place.edit('batchRows: 8000', 'batchRows: 0');
    const { code, err } = await place.run(['up']);
    expect(code).toBe(78);
    expect(err).toMatch(/^config\/kernel.yaml:\d+:\d+ sink.batchRows: expected 1..100000, got 0\n/);
  });

  it.each([
    ['auth: { tokenFile: secrets/token }', 'TW_TOKEN_FILE', 'secrets/token gives no token: ENOENT'],
    ['tls: { certFile: none.crt, keyFile: none.key }', 'TW_FILE_UNREADABLE', 'tls.certFile: ENOENT'],
    [
      'servers: { redis: { url: "redis://127.0.0.1:1", passwordFile: none } }',
      'TW_FILE_UNREADABLE',
      'passwordFile: ENOENT',
    ],
  ])('with %s, whose file is not there, says so, and starts nothing; doctor too', async (line, code, said) => {
    writeFileSync(join(place.folder, 'config/kernel.yaml'), `${line}\n`);
    const { code: status, err } = await place.run(['up']);
    expect(status).toBe(1);
    expectSentence(err, code, said);
    const { findings } = JSON.parse((await place.run(['doctor', '--json'])).out) as { findings: object[] };
    expect(findings).toContainEqual(expect.objectContaining({ severity: 'failure', code }));
  });

  it('outside of a checkout says which file is missing', async () => {
    rmSync(join(place.folder, 'config'), { recursive: true });
    const { code, err } = await place.run(['up']);
    expect(code).toBe(78);
    expect(err).toContain('config/kernel.yaml');
    expect(err.split('\n').length).toBeLessThan(8);
  });

  it('with a Node that is too old says so, before anything is built', async () => {
    const old = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'18.20.0'})";
    const { code, out, err } = await runProgram(process.execPath, ['--import', old, bin, 'up'], { cwd: place.folder });
    expect([code, out]).toEqual([78, '']);
    expect(err).toMatch(/^TW_NODE_TOO_OLD: .*20\.19.*\n$/);
  });
});

describe('a command while nothing runs', () => {
  it.each([
    [['status'], 69, 'TW_CONSOLE_UNREACHABLE'],
    [['top'], 69, 'TW_CONSOLE_UNREACHABLE'],
    [['top', '--book', 'BTC-USD'], 69, 'TW_GRPC_UNREACHABLE'],
    [['plan'], 69, 'TW_CONTROL_UNREACHABLE'],
    [['apply', '--yes'], 69, 'TW_CONTROL_UNREACHABLE'],
    [['dlq', 'list'], 69, 'TW_SERVER_UNREACHABLE'],
    [['audit', 'klines'], 69, 'TW_SERVER_UNREACHABLE'],
    [['collect'], 64, 'TW_BAD_USAGE'],
  ])('%j says so in one sentence, with the remedy', async (args, exit, code) => {
    const { code: status, out, err } = await place.run(args);
    expect([status, out]).toEqual([exit, '']);
    expectSentence(err, code, '');
    if (exit === 69) expect(err).toMatch(/tapeworks/);
    const json = await place.run([...args, '--json']);
    expect(JSON.parse(json.out)).toMatchObject({ ok: false, error: { code } });
    expect([json.code, json.err]).toEqual([exit, '']);
  });

  it('looks for servers and the spill where kernel.yaml puts them', async () => {
    place.edit('data: .tapeworks', 'data: elsewhere');
    expect((await place.run(['dlq', 'list'])).err).toContain('no embedded Redis in elsewhere;');
    expect((await place.run(['audit', 'klines'])).err).toContain('no embedded Postgres runs in elsewhere;');
    expect((await place.run(['spill', 'list'])).err).toBe('no segments in elsewhere/spill\n');
    place.edit('redis: { url: embedded }', 'redis: { url: "redis://127.0.0.1:1" }');
    place.edit('postgres: { url: embedded }', 'postgres: { url: "postgres://127.0.0.1:1/none" }');
    for (const args of [
      ['dlq', 'list'],
      ['audit', 'klines'],
      ['backfill', 'BTCUSDT', '--from', '2026-01-01'],
    ]) {
      const { code, err } = await place.run(args);
      expect([code, err]).toEqual([69, expect.stringContaining('ECONNREFUSED 127.0.0.1:1')]);
    }
    expect((await place.run(['dlq', 'list', '--data', 'other'])).err).toContain('no embedded Redis in other;');
  });

  it('gives up a server that accepts and never answers', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address() as AddressInfo;
    const env = { REDIS_URL: `redis://127.0.0.1:${port}`, DATABASE_URL: `postgres://127.0.0.1:${port}/none` };
    const ran = await Promise.all(
      [
        ['dlq', 'list'],
        ['audit', 'klines'],
      ].map((args) => place.run(args, env)),
    );
    server.close();
    for (const { code, err } of ran) {
      expect(code).toBe(69);
      expectSentence(err, 'TW_SERVER_UNREACHABLE', 'does not let us in');
    }
  });

  it('is not taken in by another server at the address', async () => {
    const server = createHttpServer((_, response) => void response.end('{"hello":"world"}')).listen(0, '127.0.0.1');
    await new Promise((done) => server.once('listening', done));
    const { port } = server.address() as AddressInfo;
    for (const name of ['status', 'top']) {
      const { code, err } = await place.run([name, '--url', `http://127.0.0.1:${port}`]);
      expect(code).toBe(69);
      expectSentence(err, 'TW_CONSOLE_UNREACHABLE', 'answered 200, and not as the console does');
    }
    const { err } = await place.run(['status', '--url', `https://127.0.0.1:${port}`]);
    expectSentence(err, 'TW_CONSOLE_UNREACHABLE', 'it does not speak TLS; try http://');
    server.close();
  });

  it('says its version, and names the command whose help would have been of use', async () => {
    expect((await place.run(['--version'])).out).toMatch(/^tapeworks \d+\.\d+\.\d+, Node \d+\.\d+\.\d+\n$/);
    expect((await place.run(['dlq'])).err).toContain('`tapeworks help dlq`');
  });

  it.each([[['spill', 'list']], [['spill', 'verify']], [['spill', 'replay']]])('%j has nothing to do', async (args) => {
    expect((await place.run(args)).code).toBe(0);
  });
});
