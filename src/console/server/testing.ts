// What the console's tests share: a small real system, a console on a free port, and a client without manners.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Health } from '../../protocols/console-api.ts';
import type { ConsoleSettings } from '../../protocols/topology.ts';
import { actor } from '../../supervision/spec.ts';
import { supervisor } from '../../supervision/supervisor-spec.ts';
import { ActorSystem } from '../../supervision/system.ts';
import type { ConsoleSources } from '../sources.ts';
import { type Console, createConsole } from './console.ts';

export const TOKEN = 'a-token-for-tests-only-0123456789';

export function tokenFile(): string {
  const file = join(mkdtempSync(join(tmpdir(), 'tapeworks-console-')), 'token');
  writeFileSync(file, `${TOKEN}\n`, { mode: 0o600 });
  return file;
}

export const SETTINGS: ConsoleSettings = {
  host: '127.0.0.1',
  port: 0,
  tls: null,
  tokenFile: null,
  allowedHosts: ['console.example'],
  control: false,
  metrics: true,
  labelValuesMax: 1000,
  maxConnections: 50,
  maxDashboards: 4,
  maxBodyBytes: 4096,
  requestTimeoutMs: 2000,
};

export type CounterMessage = 'count' | 'crash';

export interface Bench {
  readonly system: ActorSystem;
  readonly console: Console;
  readonly counter: { tell(message: CounterMessage): unknown };
  health: Health;
  stop(): Promise<void>;
}

/** A system with /jobs/counter, and its console. */
export async function openConsole(
  settings: Partial<ConsoleSettings> = {},
  more: Partial<ConsoleSources> = {},
): Promise<Bench> {
  const counter = actor<CounterMessage, number>({
    id: 'counter',
    backoff: { minMs: 1, maxMs: 1, jitter: 0, resetAfterMs: 1000 },
    behaviour: {
      init: () => 0,
      receive(state, message) {
        if (message === 'crash') throw new Error('asked to <b>crash</b>');
        return state + 1;
      },
      summary: (state) => ({ counted: state }),
    },
  });
  const system = new ActorSystem({ children: [supervisor({ id: 'jobs', children: [counter] })] });
  await system.start();
  const bench: Omit<Bench, 'console'> & { console?: Console } = {
    system,
    counter: counter.ref,
    health: 'OK',
    async stop() {
      await bench.console?.stop();
      await system.stop();
    },
  };
  const sources: ConsoleSources = {
    actors: system,
    health: () => ({
      status: bench.health,
      parts: [{ name: 'control', status: bench.health, reason: bench.health === 'OK' ? '' : 'said so by the test' }],
    }),
    isReady: () => bench.health !== 'DOWN',
    isSimulated: true,
    ...more,
  };
  const console = await createConsole({ ...SETTINGS, ...settings }, sources);
  return Object.assign(bench, { console });
}

export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Sends bytes as they are and reads until the other side closes. */
export function sendRaw(port: number, bytes: string | Buffer, host = '127.0.0.1'): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = connect({ port, host }, () => socket.write(bytes));
    const chunks: Buffer[] = [];
    socket.on('data', (chunk) => chunks.push(chunk));
    // A refusal may come while we still send; what counts is what was read by then.
    socket.on('error', () => {});
    socket.on('close', () => resolve(parseAnswer(Buffer.concat(chunks).toString('latin1'))));
  });
}

function parseAnswer(text: string): RawAnswer {
  const end = text.indexOf('\r\n\r\n');
  const [first = '', ...lines] = text.slice(0, end < 0 ? text.length : end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(first.split(' ')[1] ?? 0), headers, body: end < 0 ? '' : text.slice(end + 4) };
}
