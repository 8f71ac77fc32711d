// What any gRPC client can count on: the challenge's proto, reflection, health, limits, and that a slow one harms nobody.
import { execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import {
  type ChannelCredentials,
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { protoPath as HEALTH_PROTO } from 'grpc-health-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BookServiceStats } from '../../src/actors/publisher/book-service.ts';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, bookClient, type ClientSummary, firstSummary, startBooks, until } from './harness.ts';

const TOPOLOGY = `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
feeds: { binance: { trades: false }, bitstamp: { trades: false } }
`;
/** The client prints one object after the other, indented. */
const END_OF_OBJECT = /\n\}\s/;
const METHOD = 'orderbook.OrderbookAggregator/BookSummary';

const folder = mkdtempSync(join(tmpdir(), 'tapeworks-grpc-'));
let simulator: Simulator;
let program: Program;
let port: number;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, seed: 2, rate: 200 });
  ({ program, port } = await startBooks(simulator, TOPOLOGY));
});
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
  rmSync(folder, { recursive: true });
});

const statsOf = (of: Program) => of.system.summary('/serving/publisher') as Promise<BookServiceStats>;

interface StreamCall extends NodeJS.ReadableStream {
  cancel(): void;
}

/** The status with which a call ends, or 'served' once it brings something. */
function endOf(call: StreamCall): Promise<{ code: status; details: string } | 'served'> {
  return new Promise((resolve) => {
    call.on('data', () => {
      resolve('served');
      call.cancel();
    });
    call.on('error', (error) => resolve(error as unknown as { code: status; details: string }));
  });
}

describe('a client that knows only the challenge proto', () => {
  it('gets the default symbol for an empty request', async () => {
    const file = join(folder, 'challenge.proto');
    writeFileSync(
      file,
      `syntax = "proto3";
package orderbook;
service OrderbookAggregator { rpc BookSummary(Empty) returns (stream Summary); }
message Empty {}
message Summary { double spread = 1; repeated Level bids = 2; repeated Level asks = 3; }
message Level { string exchange = 1; double price = 2; double amount = 3; }
`,
    );
    const { orderbook } = loadPackageDefinition(loadSync(file)) as unknown as {
      orderbook: { OrderbookAggregator: ServiceClientConstructor };
    };
    const client = new orderbook.OrderbookAggregator(`127.0.0.1:${port}`, credentials.createInsecure());
    const call = (client as unknown as { BookSummary(request: object): StreamCall }).BookSummary({});
    const summary = await new Promise<Pick<ClientSummary, 'spread' | 'bids' | 'asks'>>((resolve, reject) => {
      call.on('data', (data) => resolve(data));
      call.on('error', reject);
    });
    call.on('error', () => {});
    call.cancel();
    client.close();
    expect(summary.bids).toHaveLength(10);
    expect(summary.asks).toHaveLength(10);
    expect(summary.bids[0]!.price).toBeGreaterThan(50_000);
    expect(summary.spread).toBeCloseTo(summary.asks[0]!.price - summary.bids[0]!.price, 6);
    expect(['binance', 'bitstamp']).toContain(summary.bids[0]!.exchange);
  });
});

describe('a client of another make, by reflection alone', () => {
  const require = createRequire(import.meta.url);
  const buf = join(
    dirname(require.resolve(`@bufbuild/buf-${process.platform}-${process.arch}/package.json`)),
    'bin',
    process.platform === 'win32' ? 'buf.exe' : 'buf',
  );
  const env = { ...process.env, HOME: folder, XDG_CACHE_HOME: folder, BUF_CACHE_DIR: join(folder, 'buf') };

  it('finds the methods', async () => {
    const words = [
      'curl',
      '--protocol',
      'grpc',
      '--http2-prior-knowledge',
      '--list-methods',
      `http://127.0.0.1:${port}`,
    ];
    const { stdout } = await promisify(execFile)(buf, words, { env, timeout: 20_000 });
    expect(stdout.split('\n')).toContain(METHOD);
    expect(stdout.split('\n')).toContain('grpc.health.v1.Health/Check');
  });

  it.each(['grpc-v1', 'grpc-v1alpha'])('asks for health, knowing nothing but %s reflection', async (protocol) => {
    const call = async (method: string, request: object) => {
      const words = ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '--reflect-protocol', protocol];
      const url = `http://127.0.0.1:${port}/grpc.health.v1.Health/${method}`;
      const { stdout } = await promisify(execFile)(buf, [...words, '-d', JSON.stringify(request), url], {
        ...{ env, timeout: 20_000 },
      });
      return JSON.parse(stdout) as object;
    };
    const service = 'orderbook.OrderbookAggregator';
    expect(await call('Check', { service })).toEqual({ status: 'SERVING' });
    expect(await call('List', {})).toMatchObject({ statuses: { [service]: { status: 'SERVING' } } });
  });

  it('streams summaries of the symbol and depth that it asks for', async () => {
    const request = JSON.stringify({ symbols: ['ETH-USD'], depth: 2 });
    const child = spawn(
      buf,
      ['curl', '--protocol', 'grpc', '--http2-prior-knowledge', '-d', request, `http://127.0.0.1:${port}/${METHOD}`],
      { env, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    let text = '';
    let complaint = '';
    child.stdout.on('data', (data: Buffer) => {
      text += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => {
      complaint += data.toString();
    });
    try {
      await until(
        () => END_OF_OBJECT.test(text),
        () => `a summary: ${complaint}`,
      );
    } finally {
      child.kill('SIGKILL');
    }
    const first = JSON.parse(text.slice(0, END_OF_OBJECT.exec(text)!.index + 2)) as { symbol: string; bids: object[] };
    expect(first.symbol).toBe('ETH-USD');
    expect(first.bids).toHaveLength(2);
  });
});

describe('health', () => {
  it.each(['', 'orderbook.OrderbookAggregator'])('of "%s" is SERVING', async (service) => {
    expect(await checkHealth(credentials.createInsecure(), port, service)).toBe('SERVING');
  });
});

function checkHealth(secrets: ChannelCredentials, at: number, service: string): Promise<string> {
  const loaded = loadPackageDefinition(loadSync(HEALTH_PROTO, { enums: String })) as unknown as {
    grpc: { health: { v1: { Health: ServiceClientConstructor } } };
  };
  const client = new loaded.grpc.health.v1.Health(`127.0.0.1:${at}`, secrets) as unknown as Client & {
    Check(request: object, answer: (error: Error | null, value: { status: string }) => void): void;
  };
  return new Promise<string>((resolve, reject) => {
    client.Check({ service }, (error, value) => (error === null ? resolve(value.status) : reject(error)));
  }).finally(() => client.close());
}

describe('a request that cannot be served', () => {
  it.each([
    [{ symbols: ['DOGE-USD'] }, status.NOT_FOUND, 'DOGE-USD'],
    [{ depth: 11 }, status.INVALID_ARGUMENT, 'depth'],
    [{ symbols: Array.from({ length: 501 }, () => 'BTC-USD') }, status.INVALID_ARGUMENT, 'symbols'],
    [{ symbols: ['x'.repeat(100_000)] }, status.RESOURCE_EXHAUSTED, 'larger than max'],
  ])('is refused with a reason: case %#', async (request, code, reason) => {
    const client = bookClient(port);
    const end = await endOf(client.BookSummary(request));
    client.close();
    expect(end).toMatchObject({ code, details: expect.stringContaining(reason) });
  });
});

describe('limits', () => {
  it('hold on subscribers, and leave room when one goes', async () => {
    const limited = await startBooks(simulator, TOPOLOGY, 'grpc: { port: 0, maxSubscribers: 2 }');
    try {
      const both = [new BookWatch(limited.port, []), new BookWatch(limited.port, [])];
      await until(() => both.every(({ received }) => received > 0), 'two subscribers to be served');
      const client = bookClient(limited.port);
      expect(await endOf(client.BookSummary({}))).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
      both[0]!.close();
      const subscribers = async () => (await statsOf(limited.program)).subscribers;
      for (let look = 0; look < 1_000 && (await subscribers()) > 1; look++) await sleep(5);
      expect(await endOf(client.BookSummary({}))).toBe('served');
      both[1]!.close();
      client.close();
    } finally {
      await limited.program.stop();
    }
  });
});

describe('TLS and a token', () => {
  it('keep out who does not have them, except for health checks, and the token can be replaced', async () => {
    const [key, cert, token] = ['key.pem', 'cert.pem', 'token'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    const subject = ['-subj', '/CN=tapeworks test', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
    execFileSync('openssl', ['req', '-x509', ...curve, '-keyout', key, '-out', cert, ...subject], { stdio: 'ignore' });
    writeFileSync(token, 'correct-horse-battery\n');
    const secure = await startBooks(
      simulator,
      TOPOLOGY,
      `tls: { certFile: ${cert}, keyFile: ${key} }\nauth: { tokenFile: ${token} }`,
    );
    try {
      const trusted = credentials.createSsl(readFileSync(cert));
      const attempt = async (secrets: ChannelCredentials, bearer: string | undefined) => {
        const client = bookClient(secure.port, secrets);
        const metadata = new Metadata();
        if (bearer !== undefined) metadata.set('authorization', `Bearer ${bearer}`);
        const end = await endOf(client.BookSummary({}, metadata));
        client.close();
        return end === 'served' ? end : end.code;
      };
      expect(await attempt(trusted, 'correct-horse-battery')).toBe('served');
      expect(await attempt(trusted, 'wrong-horse-batteries')).toBe(status.UNAUTHENTICATED);
      expect(await attempt(trusted, undefined)).toBe(status.UNAUTHENTICATED);
      expect(await attempt(credentials.createInsecure(), 'correct-horse-battery')).toBe(status.UNAVAILABLE);
      expect(await checkHealth(trusted, secure.port, '')).toBe('SERVING');
      writeFileSync(token, 'another-horse-battery\n');
      await expect.poll(() => attempt(trusted, 'another-horse-battery'), { timeout: 10_000 }).toBe('served');
      expect(await attempt(trusted, 'correct-horse-battery')).toBe(status.UNAUTHENTICATED);
    } finally {
      await secure.program.stop();
    }
  });
});

describe('a subscriber that stops reading', () => {
  it('gets the latest when it reads again, and is told exactly what it missed, which nobody else did', async () => {
    const steady: ClientSummary[] = [];
    const slow: ClientSummary[] = [];
    const other = new BookWatch(port, ['BTC-USD'], (summary) => steady.push(summary));
    await until(() => steady.length > 0, 'the steady subscriber to be served');
    const client = bookClient(port);
    const call = client.BookSummary({ symbols: ['BTC-USD'] });
    call.on('error', () => {});
    call.on('data', (summary: ClientSummary) => slow.push(summary));
    await until(() => slow.length > 0, 'the slow subscriber to be served');
    call.pause();
    let skippedBefore = 0;
    await until(() => {
      void statsOf(program).then(({ skipped }) => {
        skippedBefore = skipped;
      });
      return steady.length > 400;
    }, 'hundreds of summaries');
    call.resume();
    await until(() => slow.some(({ skipped }) => Number(skipped) > 0), 'the slow one to be told');
    const told = slow.findIndex(({ skipped }) => Number(skipped) > 0);
    const [before, after] = [slow[told - 1]!, slow[told]!];
    await until(() => Number(steady.at(-1)!.sequence) > Number(after.sequence), 'the steady one to be as far');
    const missed = steady.filter(
      ({ sequence }) => Number(sequence) > Number(before.sequence) && Number(sequence) < Number(after.sequence),
    );
    expect(Number(after.skipped)).toBe(missed.length);
    expect(steady.every(({ skipped }) => Number(skipped) === 0)).toBe(true);
    expect(skippedBefore).toBe(0);
    call.cancel();
    client.close();
    other.close();
  });

  it('for too long is cut off, and the others are not', async () => {
    const strict = await startBooks(simulator, TOPOLOGY, 'grpc: { port: 0, cutSlowAfter: 300ms }');
    try {
      const other = new BookWatch(strict.port, ['BTC-USD']);
      const client = bookClient(strict.port);
      const call = client.BookSummary({ symbols: ['BTC-USD'] });
      const end = new Promise<{ code: status }>((resolve) => {
        call.on('error', (error) => resolve(error as unknown as { code: status }));
      });
      await new Promise<void>((resolve) => {
        call.on('data', () => resolve());
      });
      call.pause();
      let stats: BookServiceStats | undefined;
      await until(() => {
        void statsOf(strict.program).then((found) => {
          stats = found;
        });
        return stats?.cut === 1;
      }, 'the slow subscriber to be cut');
      call.resume();
      expect(await end).toMatchObject({ code: status.RESOURCE_EXHAUSTED });
      const { received } = other;
      await until(() => other.received > received + 20, 'the other to go on');
      expect(other.error).toBeUndefined();
      other.close();
      client.close();
    } finally {
      await strict.program.stop();
    }
  });

  it('with a minimum interval is not slow: it gets the latest at its own pace', async () => {
    const summary = await firstSummary(
      port,
      { symbols: ['BTC-USD'], min_interval_ms: 50 },
      ({ sequence }) => Number(sequence) > 0,
    );
    expect(summary.skipped).toBe('0');
  });
});
