import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { startBooks } from './harness.ts';

let simulator: Simulator;
let program: Program;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, seed: 6, rate: 20 });
  ({ program, port } = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT } }, NONE-USD: { venues: { binance: NONEUSDT } } }
feeds: { binance: {} }
`,
  ));
});
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
});

const main = fileURLToPath(new URL('../../../bin/tapeworks.mjs', import.meta.url));

async function top(...words: readonly string[]) {
  const run = promisify(execFile)(process.execPath, [main, 'top', ...words], { timeout: 20_000 });
  return run.then(
    ({ stdout }) => ({ code: 0, stdout, stderr: '' }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  );
}

describe('tapeworks top --book', () => {
  it('prints the ladder once where there is no terminal', async () => {
    const { code, stdout } = await top('--book', 'BTC-USD', '--grpc', `127.0.0.1:${port}`, '--depth', '3');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines[0]).toContain('BTC-USD');
    expect(lines.filter((line) => line.includes('binance ') && line.includes('▇'))).toHaveLength(6);
    expect(stdout).not.toContain('\u001b');
  });

  it('gives programs one JSON object', async () => {
    const { stdout } = await top('--book=BTC-USD', '--grpc', `127.0.0.1:${port}`, '--json', '--once');
    expect(JSON.parse(stdout)).toMatchObject({ symbol: 'BTC-USD', bids: expect.any(Array) });
  });

  it('says what it waits for while a symbol has no book', async () => {
    const words = [main, 'top', '--book', 'NONE-USD', '--grpc', `127.0.0.1:${port}`];
    const child = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] });
    const [said] = (await once(child.stderr, 'data')) as [Buffer];
    child.kill();
    expect(said.toString()).toContain('waiting for the first book of NONE-USD');
  });

  it('says what is wrong with a symbol, a depth or an address', async () => {
    const wrong = await top('--book', 'DOGE-USD', '--grpc', `127.0.0.1:${port}`);
    expect(wrong).toMatchObject({ code: 64, stderr: expect.stringContaining('DOGE-USD') });
    expect(await top('--book', 'BTC-USD', '--depth', 'x')).toMatchObject({ code: 64 });
    expect(await top('--book', 'BTC-USD', '--grpc', '127.0.0.1:1', '--once')).toMatchObject({ code: 69 });
  });
});
