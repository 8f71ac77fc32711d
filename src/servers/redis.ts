import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Redis } from 'ioredis';
import { TapeworksError } from '../protocols/errors/index.ts';
import { findRedis } from './redis-binaries.ts';
import { claimFolder, freePort, ServerProcess } from './server-process.ts';

export interface EmbeddedRedisOptions {
  /** Where the append-only file lives, e.g. `.tapeworks/redis`. */
  readonly folder: string;
  /** Where a privately unpacked redis-server is kept, e.g. `.tapeworks/cache`. */
  readonly cache: string;
  /** 0 asks the system for a free port. */
  readonly port?: number;
  readonly reset?: boolean;
  /** `always` waits for the disk on each command; `everysec` can lose a second when the power fails. */
  readonly appendfsync?: 'always' | 'everysec';
  say?(text: string): void;
}

export interface EmbeddedRedis {
  readonly url: string;
  readonly version: string;
  readonly folder: string;
  readonly process: ServerProcess;
  stop(): Promise<void>;
}

/** Starts a real Redis on loopback with an append-only file, eviction off and a password of its own. */
export async function startRedis(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
  const search = await findRedis(options.cache, options.say);
  if ('missing' in search) throw new TapeworksError('TW_REDIS_UNAVAILABLE', search.missing);
  const { found } = search;
  const folder = resolve(options.folder);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  await claimFolder({ name: 'redis', folder });
  if (options.reset) rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const password = passwordIn(folder);
  const port = options.port === undefined || options.port === 0 ? await freePort() : options.port;
  const config = join(folder, 'redis.conf');
  writeFileSync(config, configuration(folder, port, password, options.appendfsync ?? 'everysec'), { mode: 0o600 });
  const url = `redis://:${password}@127.0.0.1:${port}`;
  const server = await ServerProcess.start({
    name: 'redis',
    folder,
    command: found.command,
    args: [config],
    account: undefined,
    env: found.env,
    stopSignal: 'SIGTERM',
    isReady: () => redisAnswers(url),
  });
  return { url, version: found.version, folder, process: server, stop: () => server.stop() };
}

function passwordIn(folder: string): string {
  const path = `${folder}.secret`;
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const password = randomBytes(18).toString('base64url');
  writeFileSync(path, `${password}\n`, { mode: 0o600 });
  return password;
}

/** The file keeps the password out of the process list. */
function configuration(folder: string, port: number, password: string, appendfsync: string): string {
  return [
    'bind 127.0.0.1',
    `port ${port}`,
    `requirepass ${password}`,
    `dir ${JSON.stringify(folder)}`,
    'appendonly yes',
    `appendfsync ${appendfsync}`,
    'maxmemory-policy noeviction',
    'save ""',
    'daemonize no',
    'enable-debug-command no',
    '',
  ].join('\n');
}

/** Whether a Redis takes commands at this moment. */
export async function redisAnswers(url: string): Promise<boolean> {
  const client = new Redis(url, {
    lazyConnect: true,
    retryStrategy: () => null,
    connectTimeout: 2_000,
    protocol: 2,
    // The client's own check would wait out the server's guess of how long it loads, ten seconds for a tenth of one.
    enableReadyCheck: false,
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    // While the append-only file is read back, the server answers LOADING.
    return (await client.ping()) === 'PONG';
  } catch {
    return false;
  } finally {
    client.disconnect();
  }
}

/** The URL of the embedded Redis of a data folder, from the file it runs with; undefined where there is none. */
export function embeddedRedisUrl(folder: string): string | undefined {
  const config = join(resolve(folder), 'redis.conf');
  if (!existsSync(config)) return undefined;
  const text = readFileSync(config, 'utf8');
  const port = /^port (\d+)$/m.exec(text)?.[1];
  return `redis://:${/^requirepass (\S+)$/m.exec(text)?.[1]}@127.0.0.1:${port}`;
}
