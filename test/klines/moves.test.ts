import { describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import type { BarView } from '../../src/protocols/console-api.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { programOn, until } from '../books/harness.ts';
import { stoppedAfterEach } from '../stops.ts';
import { exactBar, viewNumbers } from './view-truth.ts';

// Holes are left as they are: a trade that a move loses cannot be fetched again, and shows.
const TOPOLOGY = (workers: number, more = '') => `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } }
  ETH-USD: { venues: { binance: ETHUSDT, bitstamp: ethusd } }
  SOL-USD: { venues: { binance: SOLUSDT, bitstamp: solusd } }
  ETH-BTC: { venues: { binance: ETHBTC, bitstamp: ethbtc } }
feeds: { binance: {}, bitstamp: {} }
book: { enabled: false }
klines: { workers: ${workers}, intervals: [1s, 1m], grace: 500ms, repair: false, symbols: { exclude: [XRP*${more}] } }
ingest: { enabled: false }
`;
const CONFIGURED = ['BTCUSDT', 'ETHUSDT', 'SOLUSDT', 'ETHBTC'].map((symbol) => `binance:${symbol}`);
const FOUND = ['AAA', 'BBB', 'CCC', 'DDD', 'EEE', 'FFF'];
const CHANGES = process.env['TAPEWORKS_LONG'] === '1' ? [3, 1, 4, 2, 3, 1, 2, 4, 1, 3] : [3, 1, 4, 2];

const afterwards = stoppedAfterEach();

async function start(): Promise<{ simulator: Simulator; program: Program }> {
  // Three times the venue's own pace, and every trade of it in some bar.
  const simulator = await startSimulator({ port: 0, seed: 7, rate: 100 });
  afterwards(() => simulator.stop());
  const program = programOn(simulator, TOPOLOGY(2));
  afterwards(() => program.stop());
  expect(await program.start()).toMatchObject({ kind: 'applied' });
  return { simulator, program };
}

interface Figures {
  readonly placed: number;
  readonly symbols: number;
  readonly moved: number;
  readonly moving: number;
  readonly movesFailed: number;
  readonly discovered: number;
}

class Running {
  readonly program: Program;
  figures: Figures | undefined;
  readonly bars = new Map<string, Map<number, BarView>>();

  constructor(program: Program) {
    this.program = program;
    const timer = setInterval(async () => {
      this.figures = (await program.system.summary('/klines/symbols')) as Figures;
    }, 50);
    afterwards(async () => clearInterval(timer));
  }

  listen(symbols: readonly string[]): void {
    for (const symbol of symbols) {
      const windows = new Map<number, BarView>();
      this.bars.set(symbol, windows);
      this.program.klines.bars.listen(symbol, '1s', (bar) => windows.set(bar.openAtMs, bar));
    }
  }

  reached(what: string, is: (figures: Figures) => boolean): Promise<void> {
    return until(
      () => this.figures !== undefined && is(this.figures),
      () => `${what}: ${JSON.stringify(this.figures)}`,
    );
  }

  async apply(topology: string): Promise<void> {
    const kernel = 'grpc: { port: 0 }\nhttp: { port: 0 }\ntopology: { healthDeadline: 20s, stableFor: 0ms }\n';
    const reply = await this.program.control.apply({ files: { 'kernel.yaml': kernel, 'topology.yaml': topology } });
    expect(reply).toMatchObject({ kind: 'applied' });
    this.figures = undefined;
  }

  closed(symbol: string): BarView[] {
    return [...this.bars.get(symbol)!.values()].filter(({ closed }) => closed).sort((a, b) => a.openAtMs - b.openAtMs);
  }

  /** Bars that close from now on. */
  async more(symbols: readonly string[], count: number): Promise<void> {
    const before = new Map(symbols.map((symbol) => [symbol, this.closed(symbol).length]));
    await until(
      () => symbols.every((symbol) => this.closed(symbol).length >= before.get(symbol)! + count),
      () => JSON.stringify(symbols.map((symbol) => [symbol, this.closed(symbol).length, before.get(symbol)])),
    );
  }
}

describe('symbols that move between live workers', () => {
  it('lose no trade, whatever the number of workers becomes, and symbols found at run time move with them', async () => {
    const { simulator, program } = await start();
    const running = new Running(program);
    for (const name of FOUND) simulator.fault({ kind: 'new-listing', venue: 'binance', symbol: `${name}-USD` });
    const found = FOUND.map((name) => `binance:${name}USDT`);
    // The simulator lists one more by itself.
    await running.reached('all placed', ({ placed, symbols, discovered }) => discovered >= 7 && placed === symbols);
    const all = [...CONFIGURED, ...found];
    running.listen(all);
    await running.more(all, 2);
    let moved = 0;
    for (const workers of CHANGES) {
      await running.apply(TOPOLOGY(workers));
      await running.reached('settled', ({ placed, symbols, moving }) => moving === 0 && placed === symbols);
      expect(running.figures).toMatchObject({ movesFailed: 0 });
      expect(running.figures!.moved).toBeGreaterThan(moved);
      moved = running.figures!.moved;
      expect(new Set(program.klines.symbols.all().map(({ worker }) => worker)).size).toBe(workers);
      await running.more(all, 2);
    }
    for (const symbol of all) {
      const bars = running.closed(symbol).filter(({ quality }) => quality !== 'partial-first');
      expect(bars.map(({ openAtMs }) => openAtMs)).toEqual(bars.map((_, at) => bars[0]!.openAtMs + at * 1000));
      for (const bar of bars) {
        expect(['complete', 'quiet'], `${symbol} ${bar.openAtMs}`).toContain(bar.quality);
        expect(viewNumbers(bar), `${symbol} ${bar.openAtMs}`).toEqual(exactBar(simulator, symbol, bar.openAtMs));
      }
    }
  }, 120_000);

  it('are let go when a pattern excludes them, and come back when it does not', async () => {
    const { simulator, program } = await start();
    const running = new Running(program);
    const listed = () => program.klines.bars.catalogue().symbols;
    simulator.fault({ kind: 'new-listing', venue: 'binance', symbol: 'WORM-USD' });
    await until(() => listed().includes('binance:WORMUSDT'), 'the listing');
    await running.apply(TOPOLOGY(2, ', WORM*, SOL*'));
    await until(
      () => !listed().some((name) => /WORM|SOL/.test(name)),
      () => listed().join(),
    );
    await running.reached('placed', ({ placed, symbols }) => placed === symbols);
    await running.apply(TOPOLOGY(2));
    await until(() => ['binance:WORMUSDT', 'binance:SOLUSDT'].every((name) => listed().includes(name)), 'the return');
    await running.reached('placed again', ({ placed, symbols }) => placed === symbols);
  }, 60_000);
});
