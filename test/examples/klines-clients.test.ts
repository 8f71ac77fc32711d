import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { programOn, until } from '../books/harness.ts';
import { root, runProgram } from '../commands/harness.ts';

const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT } }
feeds: { binance: {} }
book: { enabled: false }
klines: { workers: 1, intervals: [1s], grace: 200ms, discovery: { enabled: false } }
ingest: { enabled: false }
`;
/** BTCUSDT 1s 2026-11-16T05:00:00.000Z 97234 97235 97230 97231 0.5 x12 closed r1 COMPLETE */
const LINE = /^BTCUSDT 1s \S+ [\d.]+ [\d.]+ [\d.]+ [\d.]+ [\d.]+ x\d+ closed r\d+ (COMPLETE|QUIET|PARTIAL_FIRST)$/;

let simulator: Simulator;
let program: Program;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-klines-'));
  simulator = await startSimulator({ port: 0, seed: 1, rate: 20 });
  program = programOn(simulator, TOPOLOGY);
  expect(await program.start()).toMatchObject({ kind: 'applied' });
  const closed = () => program.klines.live.series('binance', 'BTCUSDT', '1s').filter(({ bar }) => bar.closed).length;
  await until(() => closed() >= 3, 'three closed bars');
}, 60_000);
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const options = ['--address', program.grpcAddress!, '--history', '3', '--closed', '--count', '2'];
  const words = [...args, ...options, 'binance', 'BTCUSDT', '1s'];
  const { out, ...ran } = await runProgram(command, words, { cwd: root, env: { ...process.env, ...env } });
  return { ...ran, lines: out.trim().split('\n') };
}

it('the client in TypeScript prints history and then what closes', async () => {
  const { code, err, lines } = await run(process.execPath, ['dist/examples/klines-client.js']);
  expect([code, err]).toEqual([0, '']);
  expect(lines.length).toBeGreaterThanOrEqual(5);
  for (const line of lines.filter((one) => !one.endsWith('open'))) expect(line).toMatch(LINE);
}, 30_000);

it('the client in Python prints the same, where Python has grpcio and protoc is installed', async (context) => {
  const protoc = ['-I', 'src/protocols/proto', `--python_out=${folder}`, 'klines.proto'];
  const env = { PYTHONPATH: folder };
  const isAble =
    spawnSync('protoc', protoc, { cwd: root }).status === 0 &&
    spawnSync('python3', ['-c', 'import grpc, klines_pb2'], { env: { ...process.env, ...env } }).status === 0;
  if (!isAble) return context.skip('no Python with grpcio and protobuf, or no protoc, is installed');
  const { code, err, lines } = await run('python3', ['examples/klines_client.py'], env);
  expect([code, err]).toEqual([0, '']);
  expect(lines.length).toBeGreaterThanOrEqual(5);
}, 30_000);
