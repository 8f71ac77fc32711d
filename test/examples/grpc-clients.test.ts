import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { startBooks } from '../books/harness.ts';
import { root, runProgram } from '../commands/harness.ts';

/** BTC-USD #12  0.5 @ 97234.11 binance  |  0.2 @ 97235 bitstamp  spread 0.89 */
const LINE =
  /^(BTC|ETH)-USD #\d+ {2}[\d.]+ @ [\d.]+ (binance|bitstamp) {2}\| {2}[\d.]+ @ [\d.]+ \w+ {2}spread -?[\d.]+/;

let simulator: Simulator;
let program: Program;
let port: number;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-examples-'));
  simulator = await startSimulator({ port: 0, seed: 1, rate: 20 });
  ({ program, port } = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
feeds: { binance: {}, bitstamp: {} }
`,
  ));
});
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const { out, ...ran } = await runProgram(command, args, { cwd: root, env: { ...process.env, ...env } });
  return { ...ran, lines: out.trim().split('\n') };
}

const typescript = (...args: string[]) =>
  run(process.execPath, ['dist/examples/grpc-client.js', '--address', `127.0.0.1:${port}`, ...args]);

/** The first Python here that has grpcio, and the messages made by protoc. */
function pythonWithGrpc(): string | undefined {
  const protoc = ['-I', 'src/protocols/proto', `--python_out=${folder}`, 'orderbook.proto'];
  if (spawnSync('protoc', protoc, { cwd: root }).status !== 0) return undefined;
  const env = { ...process.env, PYTHONPATH: folder };
  return ['python3', '/usr/bin/python3'].find(
    (name) => spawnSync(name, ['-c', 'import grpc, orderbook_pb2'], { env }).status === 0,
  );
}

describe('the client in TypeScript', () => {
  it('prints summaries of the symbols that it asks for', async () => {
    const { code, err, lines } = await typescript('--count', '20', 'BTC-USD', 'ETH-USD');
    expect([code, err]).toEqual([0, '']);
    expect(lines).toHaveLength(20);
    for (const line of lines) expect(line).toMatch(LINE);
    expect(new Set(lines.map((line) => line.slice(0, 7)))).toEqual(new Set(['BTC-USD', 'ETH-USD']));
  });

  it('ends with the reason when trying again cannot help', async () => {
    const { code, err } = await typescript('NO-SUCH');
    expect([code, err]).toEqual([1, expect.stringMatching(/^[A-Z_]+: .*NO-SUCH/)]);
  });
});

describe('the client in Python', () => {
  it('prints the same, where Python has grpcio and protoc is installed', async (context) => {
    const python = pythonWithGrpc();
    if (python === undefined) return context.skip('no Python with grpcio and protobuf, or no protoc, is installed');
    const args = ['examples/grpc_client.py', '--address', `127.0.0.1:${port}`, '--count', '5', 'BTC-USD'];
    const { code, err, lines } = await run(python, args, { PYTHONPATH: folder });
    expect([code, err]).toEqual([0, '']);
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(line).toMatch(LINE);
  });
});
