// The real program in a process of its own: embedded servers, simulated venues, the collector and every plane, with its own
// data folder and ports, and control switched on.
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import pg from 'pg';
import { startCommand } from '../../src/program/child-process.ts';
import type { HealthView } from '../../src/protocols/console-api.ts';
import { embeddedPostgresUrl } from '../../src/servers/postgres.ts';
import { embeddedRedisUrl } from '../../src/servers/redis.ts';
import { freePort } from '../../src/servers/server-process.ts';
import type { FaultRequest } from '../../src/venues/simulation/faults.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const TOKEN = 'a-token-for-the-browser-tests-only';

/** What `tapeworks up --json` prints when it is ready. */
interface Ready {
  readonly dashboard: string;
  readonly health: HealthView;
  readonly servers: Readonly<Record<'postgres' | 'redis', { readonly state: 'up' | 'down'; readonly reason?: string }>>;
}

export interface RunningProgram {
  readonly url: string;
  readonly token: string;
  /** Why the ingest plane cannot run on this machine; undefined where it does. */
  readonly withoutRedis: string | undefined;
  /** Makes a simulated venue misbehave. */
  fault(request: FaultRequest): Promise<void>;
  /** Ends what was asked of the venues. */
  heal(): Promise<void>;
  /** Adds an entry to the stream of events, past every producer. */
  addEvent(envelope: string | Buffer): Promise<void>;
  /** Runs a statement in the program's Postgres. */
  sql(statement: string): Promise<readonly unknown[]>;
  stop(): Promise<void>;
}

export interface ProgramChanges {
  /** Changes the shipped topology before it is started. */
  readonly topology?: (shipped: string) => string;
}

/** The shipped topology with bars of a second, so that a test need not wait for a minute. */
export const withSeconds = (shipped: string) => shipped.replace('intervals: [1m,', 'intervals: [1s, 1m,');

export async function startProgram({ topology = withSeconds }: ProgramChanges = {}): Promise<RunningProgram> {
  const folder = mkdtempSync(join(tmpdir(), 'tapeworks-browser-'));
  // The embedded Postgres runs as a user who must be able to enter.
  chmodSync(folder, 0o755);
  const simulationPort = await freePort();
  writeConfiguration(folder, simulationPort, topology);
  const data = join(folder, 'data');
  // A Redis that was fetched once serves all runs.
  const cache = join(ROOT, '.tapeworks/cache');
  mkdirSync(cache, { recursive: true });
  mkdirSync(data);
  symlinkSync(cache, join(data, 'cache'));
  const program = await startCommand(['up', '--json', '--config', join(folder, 'config')], {
    DATABASE_URL: '',
    REDIS_URL: '',
  });
  const { dashboard, servers } = JSON.parse(program.firstLine) as Ready;
  const faults = `http://127.0.0.1:${simulationPort}/_sim/faults`;
  let redis: Redis | undefined;
  return {
    ...{ url: dashboard, token: TOKEN },
    withoutRedis: servers.redis.state === 'up' ? undefined : (servers.redis.reason ?? 'Redis is down'),
    fault: (request) => post(faults, request),
    heal: async () => {
      await fetch(faults, { method: 'DELETE' });
    },
    async addEvent(envelope) {
      redis ??= new Redis(embeddedRedisUrl(join(data, 'redis'))!, { protocol: 2 });
      await redis.xadd('events', '*', 'envelope', envelope);
    },
    async sql(statement) {
      const client = new pg.Client(embeddedPostgresUrl(join(data, 'postgres')));
      await client.connect();
      const { rows } = await client.query(statement);
      await client.end();
      return rows;
    },
    async stop() {
      redis?.disconnect();
      // It takes its servers along, however long that takes on a busy machine.
      process.kill(program.pid, 'SIGTERM');
      await program.whenEnded();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function writeConfiguration(folder: string, simulationPort: number, topology: (shipped: string) => string): void {
  const config = join(folder, 'config');
  cpSync(join(ROOT, 'config'), config, { recursive: true });
  writeFileSync(join(folder, 'token'), TOKEN, { mode: 0o600 });
  writeFileSync(
    join(config, 'kernel.yaml'),
    `http: { port: 0 }
grpc: { port: 0 }
auth: { tokenFile: ${join(folder, 'token')} }
control: { enabled: true }
data: ${join(folder, 'data')}
simulation: { port: ${simulationPort}, seed: 7 }
`,
  );
  const file = join(config, 'topology.yaml');
  writeFileSync(file, topology(readFileSync(file, 'utf8')));
}

async function post(url: string, body: unknown): Promise<void> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}: ${await answer.text()}`);
}
