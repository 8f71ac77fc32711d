import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

export interface RedisBinary {
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  readonly origin: 'PATH' | 'debian package';
  readonly version: string;
}

/** What a search came to: a binary, or the sentence that says what was tried. */
export type RedisSearch = { readonly found: RedisBinary } | { readonly missing: string };

/** redis-server runs from redis-tools' binary and needs the two libraries where they are not installed. */
const PACKAGES = ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1'];
const APT_MS = 120_000;

/** redis-server from PATH, else Debian's package unpacked below `cache` without being installed. */
export async function findRedis(cache: string, say?: (text: string) => void): Promise<RedisSearch> {
  const installed = installedRedis(cache);
  if (installed !== undefined) return { found: installed };
  if (spawnSync('apt-get', ['--version']).status !== 0 || spawnSync('dpkg', ['--version']).status !== 0) {
    return { missing: "there is no redis-server on PATH, and no apt-get to fetch Debian's package with" };
  }
  say?.('fetching redis-server from Debian, unpacked privately');
  return unpackDebianPackage(resolve(cache));
}

/** What can be run without fetching anything. */
export function installedRedis(cache: string): RedisBinary | undefined {
  return fromPath() ?? fromFolder(join(resolve(cache), 'redis'));
}

function fromPath(): RedisBinary | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const command = join(folder, 'redis-server');
    if (folder === '' || !existsSync(command)) continue;
    const version = versionOf(command, {});
    if (version !== undefined) return { command, env: {}, origin: 'PATH', version };
  }
  return undefined;
}

function fromFolder(folder: string): RedisBinary | undefined {
  const command = join(folder, 'usr/bin/redis-server');
  if (!existsSync(command)) return undefined;
  const libraries = join(folder, 'usr/lib');
  const env = {
    LD_LIBRARY_PATH: [libraries, ...readdirSync(libraries).map((name) => join(libraries, name))].join(':'),
  };
  const version = versionOf(command, env);
  return version === undefined ? undefined : { command, env, origin: 'debian package', version };
}

function versionOf(command: string, env: Readonly<Record<string, string>>): string | undefined {
  const asked = spawnSync(command, ['--version'], { encoding: 'utf8', env: { ...process.env, ...env } });
  return asked.status === 0 ? /v=(\d+\.\d+\.\d+)/.exec(asked.stdout)?.[1] : undefined;
}

async function unpackDebianPackage(cache: string): Promise<RedisSearch> {
  const work = join(cache, `redis.partial-${process.pid}`);
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  try {
    let fetched = await run('apt-get', ['download', ...PACKAGES], work);
    if (fetched.status !== 0 && process.getuid?.() === 0) {
      // A slim image ships without package lists; only root may fetch them.
      await run('apt-get', ['update'], work);
      fetched = await run('apt-get', ['download', ...PACKAGES], work);
    }
    if (fetched.status !== 0)
      return { missing: `apt-get could not download redis-server: ${lastLine(fetched.output)}` };
    for (const file of readdirSync(work).filter((name) => name.endsWith('.deb'))) {
      const unpacked = await run('dpkg', ['-x', file, 'tree'], work);
      if (unpacked.status !== 0) return { missing: `dpkg could not unpack ${file}: ${lastLine(unpacked.output)}` };
    }
    if (!existsSync(join(cache, 'redis'))) renameSync(join(work, 'tree'), join(cache, 'redis'));
    const found = fromFolder(join(cache, 'redis'));
    return found === undefined ? { missing: 'the unpacked redis-server does not run on this system' } : { found };
  } catch (error) {
    const raced = fromFolder(join(cache, 'redis'));
    return raced === undefined ? { missing: `redis-server could not be unpacked: ${String(error)}` } : { found: raced };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function run(command: string, args: readonly string[], cwd: string): Promise<{ status: number; output: string }> {
  return new Promise((done) => {
    const child = spawn(command, [...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'], timeout: APT_MS });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output = (output + text).slice(-4_000);
      });
    }
    child.once('error', (error) => done({ status: -1, output: String(error) }));
    child.once('close', (status) => done({ status: status ?? -1, output }));
  });
}

const lastLine = (text: string) => text.trim().split('\n').at(-1) ?? '';
