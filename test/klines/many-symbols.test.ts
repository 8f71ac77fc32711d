import { describe, expect, it } from 'vitest';
import { binance } from '../../src/venues/binance/index.ts';
import { startSimulator } from '../../src/venues/simulation/simulator.ts';
import { programOn, until } from '../books/harness.ts';
import { stoppedAfterEach } from '../stops.ts';

const TOPOLOGY = (connections: number) => `
instruments:
  BTC-USD: { venues: { binance: BTCUSDT } }
feeds: { binance: { connections: ${connections} } }
book: { enabled: false }
klines: { workers: 2, intervals: [1m], venues: [binance], repair: false, symbols: { include: ["N*USDT", BTCUSDT] } }
ingest: { enabled: false }
`;
const LISTED = 1_500;
const PATIENCE_MS = 60_000;
const SYMBOLS = Array.from({ length: LISTED }, (_, at) => `N${at.toString(36).toUpperCase().padStart(3, '0')}-USD`);

const afterwards = stoppedAfterEach();

interface Figures {
  readonly placed: number;
  readonly symbols: number;
}

async function start(connections: number) {
  const simulator = await startSimulator({
    port: 0,
    seed: 3,
    rate: 1,
    venues: [binance],
    symbols: ['BTC-USD', ...SYMBOLS],
  });
  afterwards(() => simulator.stop());
  const program = programOn(simulator, TOPOLOGY(connections));
  afterwards(() => program.stop());
  expect(await program.start()).toMatchObject({ kind: 'applied' });
  /** Waits until all symbols were found and so many of them have their worker. */
  const placed = async (count: number): Promise<void> => {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const figures = (await program.system.summary('/klines/symbols')) as Figures;
      if (figures.symbols === LISTED + 1 && figures.placed === count) return;
      if (performance.now() > deadline) throw new Error(`${count} should be placed: ${JSON.stringify(figures)}`);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  };
  return { program, placed };
}

describe('more symbols than one connection may carry', () => {
  it('are shared out between the connections, within the limits of the venue', async () => {
    const { program, placed } = await start(2);
    await placed(LISTED + 1);
    const streamsOf = () => program.exchanges.all().reduce((sum, { streams }) => sum + streams.length, 0);
    await until(() => streamsOf() >= LISTED + 1, 'all streams to be shown');
    expect(streamsOf()).toBe(LISTED + 1);
    for (const { streams } of program.exchanges.all()) expect(streams.length).toBeLessThanOrEqual(1024);
    expect(program.klines.shares.unserved()).toEqual([]);
    expect(new Set(program.klines.symbols.all().map(({ index }) => index)).size).toBe(LISTED + 1);
  }, 90_000);

  it('are refused by name where there is no further connection', async () => {
    const { program, placed } = await start(1);
    const carried = 1024 - 1 - 2;
    await placed(carried + 1);
    const unserved = program.klines.shares.unserved();
    expect(unserved).toHaveLength(LISTED - carried);
    const klines = program.health().parts.find(({ name }) => name === 'klines');
    expect(klines?.reason).toMatch(/TW_KLINE_NO_STREAM_LEFT: binance:N\w+USDT, .* and \d+ more/);
    const metrics = await program.klines.metrics();
    expect(metrics).toContain(`kline_symbols{state="unserved"} ${LISTED - carried}`);
    expect(metrics).toContain(`kline_symbol_unserved{venue="binance",symbol="${unserved[0]!.slice(8)}"} 1`);
    expect(program.klines.bars.catalogue().symbols).not.toContain(unserved[0]);
    await until(
      () => program.exchanges.all().every(({ streams }) => streams.length === carried + 1),
      'all streams to be shown',
    );
  }, 90_000);
});
