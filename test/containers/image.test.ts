// There is no container engine in the tests. What the image would hold is laid out in a folder instead, and run.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { root } from './files.ts';

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tapeworks-image-'));
  for (const path of ['dist/src', 'config', 'docker', 'package.json']) {
    cpSync(join(root, path), join(folder, path), { recursive: true });
  }
  mkdirSync(join(folder, 'node_modules'));
  // Only what package.json names as needed at run time can be imported from here.
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(join(folder, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync(process.execPath, ['docker/start.mjs', ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, ...env },
  });

describe('what the image holds', () => {
  it('runs every command without the build tools', () => {
    const { status, stdout, stderr } = start(['help']);
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('collect');
  });

  it('takes passwords from files and ends on SIGTERM as process 1 would', async () => {
    writeFileSync(join(folder, 'redis_password'), 'a/secret@word\n');
    // Nobody listens there; the collector starts all the same and says that Redis is away.
    const env = { REDIS_URL: 'redis://127.0.0.1:1', REDIS_URL_PASSWORD_FILE: join(folder, 'redis_password') };
    const child = spawn(process.execPath, ['docker/start.mjs', 'collect', '--json', '--venues', 'binance'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...process.env, ...env },
    });
    await once(child.stdout, 'data');
    child.kill('SIGTERM');
    // Events were waiting for Redis, so the way down is orderly and not a success.
    expect((await once(child, 'exit'))[0]).toBe(1);
  });

  it('makes all secrets once, and its health check trusts the certificate among them', async () => {
    const make = () => spawnSync('sh', ['docker/make-secrets.sh', 'market.example'], { cwd: folder, encoding: 'utf8' });
    expect(make().status).toBe(0);
    const token = readFileSync(join(folder, 'secrets/token'), 'utf8');
    expect(make().stdout).toContain(token.trim());
    const identity = { key: 'tls_key', cert: 'tls_cert' } as const;
    const read = (name: keyof typeof identity) => readFileSync(join(folder, 'secrets', identity[name]));
    let answer = 200;
    const server = createServer({ key: read('key'), cert: read('cert') }, (_request, response) => {
      response.writeHead(answer).end();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const check = async () => {
      const env = {
        TAPEWORKS_HEALTH_URL: `https://127.0.0.1:${port}/health`,
        TAPEWORKS_HEALTH_CERT: join(folder, 'secrets/tls_cert'),
      };
      const child = spawn(process.execPath, ['docker/health.mjs'], { cwd: folder, env: { ...process.env, ...env } });
      return (await once(child, 'exit'))[0] as number;
    };
    expect(await check()).toBe(0);
    answer = 503;
    expect(await check()).toBe(1);
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
    expect(await check()).toBe(1);
  });
});
