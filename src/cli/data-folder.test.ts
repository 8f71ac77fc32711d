import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { databaseUrl } from './data-folder.ts';

const URL = 'postgres://me@127.0.0.1:5/bars';
let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'configuration-'));
  writeFileSync(join(folder, 'kernel.yaml'), `servers: { postgres: { url: "${URL}" } }\n`);
  writeFileSync(join(folder, 'topology.yaml'), 'instruments: { BTC-USD: { venues: { binance: BTCUSDT } } }\n');
  vi.stubEnv('DATABASE_URL', undefined);
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

it('takes the database from the configuration that a command is given', async () => {
  expect(await databaseUrl(undefined, undefined, folder)).toBe(URL);
});

it('takes the one that is named before it', async () => {
  expect(await databaseUrl(undefined, 'postgres://you@127.0.0.1:5/bars', folder)).toContain('you@');
});
