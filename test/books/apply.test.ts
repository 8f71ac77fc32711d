import { createServer } from 'node:net';
import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { flatten } from '../../src/supervision/inspect.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, type ClientSummary, firstSummary, startBooks } from './harness.ts';

const KERNEL = 'grpc: { port: 0 }\nhttp: { port: 0 }\ntopology: { healthDeadline: 3s, stableFor: 200ms }\n';
const OTHERS = 'klines: { enabled: false }\ningest: { enabled: false }\n';
const ONE_SYMBOL = `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
feeds: { binance: {}, bitstamp: {} }
`;
const TWO_SYMBOLS = ONE_SYMBOL.replace(
  'feeds:',
  '  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }\nfeeds:',
);
const MOVED = TWO_SYMBOLS.replace('bitstamp: {} }', 'bitstamp: { thread: elsewhere } }').replace(
  'idle: park } }',
  'idle: park }, elsewhere: { kind: loop } }',
);

const isWhole = ({ bids, asks, venues }: ClientSummary) =>
  bids.length > 0 && asks.length > 0 && venues.every(({ live }) => live);
const priceOf = ({ bids }: ClientSummary) => bids[0]!.price;

let simulator: Simulator;
let program: Program;
let port: number;
const levels: string[] = [];
const apply = (topology: string, kernel = KERNEL) =>
  program.control.apply({ files: { 'kernel.yaml': kernel, 'topology.yaml': `${topology}${OTHERS}` } });
const paths = () =>
  flatten(program.system.tree())
    .map((info) => info.path)
    .sort();

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, seed: 5, rate: 20 });
  ({ program, port } = await startBooks(simulator, ONE_SYMBOL, '', {
    onConfigured: ({ kernel }) => levels.push(kernel.log.level),
  }));
});
afterAll(async () => {
  await program?.stop();
  await simulator?.stop();
});

describe('the running program', () => {
  it('takes a symbol more while it runs, and serves it', async () => {
    await expect(firstSummary(port, { symbols: ['ETH-USD'] }, () => true)).rejects.toThrow('is not served');
    expect(await apply(TWO_SYMBOLS)).toMatchObject({ kind: 'applied' });
    const summary = await firstSummary(port, { symbols: ['ETH-USD'] }, ({ venues }) =>
      venues.every(({ live }) => live),
    );
    expect(summary.bids).toHaveLength(10);
  });

  it('serves what it took also after its publisher began anew', async () => {
    const publisher = () => flatten(program.system.tree()).find(({ path }) => path === '/serving/publisher');
    program.system.restart('/serving/publisher');
    await expect.poll(publisher, { timeout: 10_000 }).toMatchObject({ incarnation: 2, state: 'running' });
    port = ((await program.system.summary('/serving/publisher')) as { port: number }).port;
    await firstSummary(port, { symbols: ['ETH-USD'] }, () => true);
  });

  it('takes other supervision and another log level without a word to its subscribers', async () => {
    const watch = new BookWatch(port, ['BTC-USD']);
    await expect.poll(() => watch.received).toBeGreaterThan(0);
    const supervision = 'supervision: { serving: { intensity: 3, backoff: { min: 7ms } }, feeds: { period: 7s } }\n';
    expect(await apply(`${TWO_SYMBOLS}${supervision}`, `${KERNEL}log: { level: debug }\n`)).toMatchObject({
      kind: 'applied',
    });
    expect(levels.at(-1)).toBe('debug');
    const before = watch.received;
    await expect.poll(() => watch.received).toBeGreaterThan(before);
    watch.close();
    expect(await apply(TWO_SYMBOLS)).toMatchObject({ kind: 'applied' });
  });

  it('moves an exchange to another thread, and gives up the thread that nobody is on', async () => {
    expect(await apply(MOVED)).toMatchObject({ kind: 'applied' });
    expect(paths()).toContain('/threads/elsewhere');
    expect(paths()).not.toContain('/threads/feed-bitstamp');
    await firstSummary(port, { symbols: ['BTC-USD'] }, ({ venues }) => venues.every(({ live }) => live));
  });

  it('gives each instrument its own book when the names at the venues are corrected', async () => {
    const own = await firstSummary(port, { symbols: ['BTC-USD'] }, isWhole);
    const swapped = TWO_SYMBOLS.replace('BTCUSDT, bitstamp: btcusd', 'X, bitstamp: x')
      .replace('ETHUSDT, bitstamp: ethusd', 'BTCUSDT, bitstamp: btcusd')
      .replace('X, bitstamp: x', 'ETHUSDT, bitstamp: ethusd');
    expect(await apply(swapped)).toMatchObject({ kind: 'applied' });
    const far = (summary: ClientSummary) => isWhole(summary) && priceOf(summary) < priceOf(own) / 2;
    await firstSummary(port, { symbols: ['BTC-USD'] }, far);
    expect(await apply(TWO_SYMBOLS)).toMatchObject({ kind: 'applied' });
    const again = await firstSummary(port, { symbols: ['BTC-USD'] }, isWhole);
    for (const { price } of [...again.bids, ...again.asks]) expect(price / priceOf(own)).toBeCloseTo(1, 0);
  });

  it('serves the same prices at another scale, also to a publisher that takes another default afterwards', async () => {
    const own = priceOf(await firstSummary(port, { symbols: ['BTC-USD'] }, isWhole));
    const scaled = TWO_SYMBOLS.replace('BTC-USD: { venues', 'BTC-USD: { scale: 10, venues');
    for (const topology of [scaled, `${scaled}book: { defaultSymbol: ETH-USD }\n`, TWO_SYMBOLS]) {
      expect(await apply(topology)).toMatchObject({ kind: 'applied' });
      const summary = await firstSummary(port, { symbols: ['BTC-USD'] }, isWhole);
      expect(priceOf(summary) / own, topology).toBeCloseTo(1, 0);
    }
  });

  it('follows every book when symbols go to another connection and come back', async () => {
    for (const connections of [2, 1, 2, 1]) {
      const topology = TWO_SYMBOLS.replace('bitstamp: {} }', `bitstamp: { connections: ${connections} } }`);
      expect(await apply(topology)).toMatchObject({ kind: 'applied' });
      for (const symbol of ['BTC-USD', 'ETH-USD']) {
        const sequenceOf = ({ venues }: ClientSummary) =>
          BigInt(venues.find(({ name, live }) => name === 'bitstamp' && live)?.sequence ?? 0);
        const first = await firstSummary(port, { symbols: [symbol] }, isWhole);
        await firstSummary(port, { symbols: [symbol] }, (summary) => sequenceOf(summary) > sequenceOf(first));
      }
    }
  });

  it('tells its subscribers to come again when other books are merged', async () => {
    const watch = new BookWatch(port, ['BTC-USD']);
    await expect.poll(() => watch.received).toBeGreaterThan(0);
    expect(await apply(ONE_SYMBOL)).toMatchObject({ kind: 'applied' });
    await expect.poll(() => watch.error).toMatchObject({ code: status.UNAVAILABLE });
    watch.close();
    expect(await apply(MOVED)).toMatchObject({ kind: 'applied' });
  });

  it('is not touched by a file that is wrong', async () => {
    const before = paths();
    const reply = await apply(MOVED.replace('idle: park', 'idle: sleepy'));
    expect(reply).toMatchObject({ kind: 'invalid', issues: [{ line: 2, path: 'threads.merger.idle' }] });
    expect(paths()).toEqual(before);
  });

  it('goes back when a venue does not send from its new address, and says why', async () => {
    const reply = await apply(MOVED.replace('binance: {}', 'binance: { wsUrl: "ws://127.0.0.1:1" }'));
    expect(reply).toMatchObject({
      kind: 'rolled-back',
      reason: expect.stringMatching(/^not healthy by the deadline: \/feeds\/binance \(.*ECONNREFUSED/),
    });
    await firstSummary(port, { symbols: ['BTC-USD'] }, ({ venues }) => venues.every(({ live }) => live));
  });

  it('goes back when the new topology does not come up', async () => {
    const blocker = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => blocker.once('listening', resolve));
    const { port: taken } = blocker.address() as { port: number };
    const before = paths();
    const reply = await apply(MOVED, KERNEL.replace('grpc: { port: 0 }', `grpc: { port: ${taken} }`));
    blocker.close();
    expect(reply).toMatchObject({ kind: 'rolled-back', code: 'TW_TOPOLOGY_ROLLED_BACK' });
    expect(paths()).toEqual(before);
    const { port: again } = (await program.system.summary('/serving/publisher')) as { port: number };
    await firstSummary(again, {}, () => true);
  });
});
