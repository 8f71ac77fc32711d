import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { loadProtos } from '../../src/actors/publisher/grpc-server.ts';
import type { Program } from '../../src/program/program.ts';
import type { BarView } from '../../src/protocols/console-api.ts';
import type { ServerAvailability } from '../../src/servers/index.ts';
import { startPostgres } from '../../src/servers/postgres.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { ABSENT, programOn, until } from '../books/harness.ts';
import { stoppedAfterEach } from '../stops.ts';
import { closedBars, completeBars, expectTruth } from './harness.ts';

const TOPOLOGY = `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines: { workers: 2, intervals: [1s, 1m], grace: 300ms, discovery: { enabled: false } }
ingest: { enabled: false }
`;
const BARS_WANTED = 3;
const SYMBOLS = ['binance:BTCUSDT', 'binance:ETHUSDT', 'bitstamp:btcusd', 'bitstamp:ethusd'];

const afterwards = stoppedAfterEach();

async function simulate(): Promise<Simulator> {
  const simulator = await startSimulator({ port: 0, seed: 5, rate: 50 });
  afterwards(() => simulator.stop());
  return simulator;
}

async function start(simulator: Simulator, postgres: ServerAvailability = ABSENT, topology = TOPOLOGY) {
  const program = programOn(simulator, topology, { postgres });
  afterwards(() => program.stop());
  const outcome = await program.start();
  expect(outcome).toMatchObject({ kind: 'applied' });
  return program;
}

/** Waits until bars of both Binance symbols were repaired, and none is a gap any more. */
async function untilHealed(program: Program, repaired: number): Promise<void> {
  const closed = new Map<string, readonly BarView[]>();
  const symbols = SYMBOLS.slice(0, 2);
  const stop = program.klines.live.listen(() => {
    for (const symbol of symbols) void closedBars(program, symbol).then((bars) => closed.set(symbol, bars));
  });
  const isHealed = (bars: readonly BarView[] = []) =>
    bars.filter(({ quality }) => quality === 'repaired').length >= repaired &&
    bars.every(({ quality }) => quality !== 'gap');
  await until(
    () => symbols.every((symbol) => isHealed(closed.get(symbol))),
    () =>
      [...closed]
        .map(([symbol, bars]) => `${symbol} ${bars.map((bar) => `${bar.openAtMs}:${bar.quality}:${bar.revision}`)}`)
        .join('\n'),
  );
  stop();
}

async function untilBars(program: Program, wanted: number): Promise<void> {
  const counts = new Map<string, number>();
  const stop = program.klines.live.listen(() => {
    for (const symbol of SYMBOLS) void completeBars(program, symbol).then((bars) => counts.set(symbol, bars.length));
  });
  await until(
    () => SYMBOLS.every((symbol) => (counts.get(symbol) ?? 0) >= wanted),
    () => JSON.stringify([...counts]),
  );
  stop();
}

interface GrpcBar {
  readonly symbol: string;
  readonly interval: string;
  readonly open_time_us: string;
  readonly close_exact: string;
  readonly quote_volume_exact: string;
  readonly closed: boolean;
  readonly quality: string;
}
type KlinesClient = Client & {
  Subscribe(request: object): NodeJS.ReadableStream & { cancel(): void };
  History(request: object, done: (error: Error | null, page: { bars: GrpcBar[]; next_page: string }) => void): void;
};

/** What a subscriber hears of closed bars is what history pages show, and the pages have no seam. */
async function sameOverGrpc(program: Program, wanted: number): Promise<void> {
  const { klines } = loadPackageDefinition(loadProtos(['klines.proto'])) as unknown as {
    klines: { Klines: ServiceClientConstructor };
  };
  const client = new klines.Klines(program.grpcAddress!, credentials.createInsecure()) as unknown as KlinesClient;
  const heard = new Map<string, GrpcBar>();
  const call = client.Subscribe({ venue: 'binance', symbols: ['BTCUSDT'], intervals: ['1s'], closed_only: true });
  call.on('error', () => {});
  call.on('data', ({ bars }: { bars: GrpcBar[] }) => {
    for (const bar of bars) heard.set(bar.open_time_us, bar);
  });
  await until(() => heard.size >= wanted, 'closed bars');
  call.cancel();
  const page = (request: object) =>
    new Promise<{ bars: GrpcBar[]; next_page: string }>((resolve, reject) => {
      const query = { venue: 'binance', symbol: 'BTCUSDT', interval: '1s', ...request };
      client.History(query, (error, found) => (error === null ? resolve(found) : reject(error)));
    });
  const first = await page({ limit: wanted });
  const second = await page({ limit: 500, page: first.next_page });
  const all = new Map([...first.bars, ...second.bars].map((bar) => [bar.open_time_us, bar]));
  expect(all.size).toBe(first.bars.length + second.bars.length);
  for (const [openUs, bar] of heard) expect(all.get(openUs)).toEqual(bar);
  await expect(page({ symbol: 'NONE' })).rejects.toThrow('"binance:NONE" is not served');
  client.close();
}

describe('bars of the running program', () => {
  it("equal the venue's own to the last digit, for every symbol, without any database", async () => {
    const simulator = await simulate();
    const program = await start(simulator);
    expect(program.klines.bars.catalogue()).toMatchObject({ symbols: SYMBOLS.toSorted(), intervals: ['1s', '1m'] });
    const heard: BarView[] = [];
    program.klines.bars.listen('binance:BTCUSDT', '1m', (bar) => heard.push(bar));
    await untilBars(program, BARS_WANTED);
    for (const symbol of SYMBOLS) expectTruth(simulator, symbol, await completeBars(program, symbol));
    expect(heard[0]).toMatchObject({ quality: 'partial-first' });
    await sameOverGrpc(program, BARS_WANTED);
    const reason = 'bars are served and not stored: TW_SERVER_START_FAILED';
    expect(program.health().parts).toContainEqual({ name: 'klines', status: 'DEGRADED', reason });
  }, 60_000);

  it('heal when trades are dropped on the way, and when a worker ends', async () => {
    const simulator = await simulate();
    const program = await start(simulator);
    await untilBars(program, 1);
    simulator.fault({ kind: 'dropped-trades', venue: 'binance', symbol: 'BTCUSDT', count: 5 });
    simulator.fault({ kind: 'dropped-trades', venue: 'binance', symbol: 'ETHUSDT', count: 5 });
    await untilHealed(program, 1);
    program.system.restart('/klines/worker-0');
    const before = (await closedBars(program, SYMBOLS[0]!)).length;
    await untilBars(program, before + BARS_WANTED);
    await untilHealed(program, 1);
    for (const symbol of SYMBOLS.slice(0, 2)) expectTruth(simulator, symbol, await closedBars(program, symbol));
  }, 90_000);

  it('are made of symbols that the venue lists while the program runs, where the patterns let them in', async () => {
    const discovering = TOPOLOGY.replace('enabled: false } }', 'venues: [binance] }, symbols: { exclude: ["SOL*"] } }');
    const simulator = await simulate();
    const program = await start(simulator, ABSENT, discovering);
    simulator.fault({ kind: 'new-listing', venue: 'binance', symbol: 'WORM-USD' });
    const listed = () => program.klines.bars.catalogue().symbols;
    let bars: readonly BarView[] = [];
    const stop = program.klines.live.listen(() => {
      if (!listed().includes('binance:WORMUSDT')) return;
      void completeBars(program, 'binance:WORMUSDT').then((found) => {
        bars = found;
      });
    });
    await until(
      () => bars.length >= 2,
      () => listed().join(', '),
    );
    stop();
    expectTruth(simulator, 'binance:WORMUSDT', bars);
    expect(listed().filter((symbol) => symbol.startsWith('binance:SOL'))).toEqual([]);
    expect(new Set(listed()).size).toBe(listed().length);
  }, 90_000);

  it('are in the database when the program has ended, and served from there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tapeworks-bars-'));
    afterwards(async () => rmSync(folder, { recursive: true, force: true }));
    chmodSync(folder, 0o755);
    const server = await startPostgres({ folder: join(folder, 'postgres') });
    afterwards(() => server.stop());
    const postgres = { state: 'up', url: server.url, origin: 'embedded', stop: async () => {} } as const;
    const simulator = await simulate();
    const program = await start(simulator, postgres);
    await untilBars(program, BARS_WANTED);
    expect(program.health().parts).toContainEqual({ name: 'klines', status: 'OK', reason: '' });
    await program.stop();
    const again = await start(simulator, postgres);
    await untilHealed(again, 1);
    const served = await closedBars(again, SYMBOLS[0]!);
    await again.stop();
    expect(served.map(({ openAtMs }) => openAtMs - served[0]!.openAtMs)).toEqual(served.map((_, at) => at * 1000));
    expectTruth(simulator, SYMBOLS[0]!, served);
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    const { rows } = await client.query(
      `SELECT open::float8 AS open, close::float8 AS close, volume::float8 AS volume, trades::int AS trades, quality
       FROM klines WHERE venue = 'binance' AND symbol = 'BTCUSDT' AND "interval" = '1s' AND closed
       AND open_time = ANY($1) ORDER BY open_time`,
      [served.map(({ openAtMs }) => new Date(openAtMs))],
    );
    await client.end();
    expect(rows).toEqual(
      served.map(({ open, close, volume, trades, quality }) => ({
        ...{ open: Number(open), close: Number(close), volume: Number(volume) },
        ...{ trades, quality },
      })),
    );
  }, 90_000);
});
