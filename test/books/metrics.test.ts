import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Program } from '../../src/program/program.ts';
import { type Simulator, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { BookWatch, startBooks, until } from './harness.ts';

let simulator: Simulator;
let program: Program;
let watch: BookWatch;

beforeAll(async () => {
  simulator = await startSimulator({ port: 0, seed: 4, rate: 50 });
  const started = await startBooks(
    simulator,
    `
threads: { merger: { kind: pinned, cpu: last, idle: park } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } } }
feeds: { binance: { reconnect: { min: 10ms, max: 20ms } }, bitstamp: {} }
`,
  );
  program = started.program;
  watch = new BookWatch(started.port, []);
  await until(() => watch.venues('BTC-USD').length === 2 && watch.received > 50, 'both venues');
});
afterAll(async () => {
  watch?.close();
  await program?.stop();
  await simulator?.stop();
});

const scrape = async () => {
  const response = await fetch(new URL('/metrics', program.consoleUrl));
  expect(response.status).toBe(200);
  return response.text();
};
const readingOf = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')[1] ?? Number.NaN,
  );

describe('the metrics of the order book', () => {
  it('count frames, errors, reconnections and merges by exchange, and say who is up', async () => {
    const counters = (venue: string) => program.exchanges.all().find((status) => status.venue === venue)?.counters;
    const areLive = () => {
      const streams = program.exchanges.all().flatMap((status) => status.streams);
      return streams.length === 4 && streams.every(({ phase }) => phase === 'live');
    };
    await until(areLive, 'both venues');
    simulator.fault({ kind: 'garbage', venue: 'bitstamp', count: 2 });
    simulator.fault({ kind: 'disconnect', venue: 'binance' });
    await until(() => counters('bitstamp')?.errors === 2 && counters('binance')?.reconnections === 1, 'the faults');
    await until(() => areLive() && counters('binance')!.messages > 50, 'both venues to be back');
    const text = await scrape();
    expect(readingOf(text, 'orderbook_messages_total{exchange="binance"}')).toBeGreaterThan(50);
    expect(readingOf(text, 'orderbook_errors_total{exchange="bitstamp"}')).toBe(2);
    expect(readingOf(text, 'orderbook_reconnections_total{exchange="binance"}')).toBe(1);
    expect(readingOf(text, 'orderbook_reconnections_total{exchange="bitstamp"}')).toBe(0);
    expect(readingOf(text, 'orderbook_rotation_lost_updates_total{exchange="binance"}')).toBe(0);
    expect(readingOf(text, 'orderbook_exchange_up{exchange="binance"}')).toBe(1);
    expect(readingOf(text, 'orderbook_feeds{exchange="bitstamp",state="live"}')).toBe(2);
    expect(readingOf(text, 'orderbook_merges_total')).toBeGreaterThanOrEqual(watch.received);
    // The merger of this test sleeps between frames.
    expect(readingOf(text, 'orderbook_merges_helped_total')).toBeGreaterThan(0);
    expect(readingOf(text, 'orderbook_subscribers')).toBe(1);
  });

  it('have 16 buckets from 100 ns to 100 ms for decoding and for the whole way', async () => {
    const text = await scrape();
    for (const name of ['orderbook_decode_duration_seconds', 'orderbook_e2e_duration_seconds']) {
      const labels = name.includes('decode') ? 'exchange="binance",' : '';
      const buckets = text
        .split('\n')
        .filter((line) => line.startsWith(`${name}_bucket{`) && line.includes(labels) && !line.includes('+Inf'));
      const bounds = buckets.map((line) => Number(/le="([^"]+)"/.exec(line)![1]));
      expect([bounds.length, bounds[0], bounds[15]]).toEqual([16, 1e-7, 0.1]);
      expect(text).toMatch(new RegExp(`${name}_count(\\{[^}]*\\})? [1-9]`));
    }
  });
});

describe('what the dashboard is given', () => {
  it('is the book that subscribers get', async () => {
    const view = program.booksView.latest('BTC-USD')!;
    expect(program.booksView.catalogue()).toEqual({ symbols: ['BTC-USD'], venues: ['binance', 'bitstamp'] });
    await until(() => Number(watch.latest.get('BTC-USD')!.sequence) >= view.sequence, 'the subscriber to be as far');
    expect(view.bids).toHaveLength(10);
    expect(Number(view.spread)).toBeCloseTo(Number(view.asks[0]!.price) - Number(view.bids[0]!.price), 6);
    expect(view.venues.map(({ name, merged }) => [name, merged])).toEqual([
      ['binance', true],
      ['bitstamp', true],
    ]);
    const { count, p50Us, p99Us, maxUs } = program.booksView.latency()!;
    expect(count).toBeGreaterThan(0);
    expect(p50Us).toBeLessThanOrEqual(p99Us);
    expect(p99Us).toBeLessThanOrEqual(maxUs * 1.125);
    expect(program.booksView.latest('DOGE-USD')).toBeUndefined();
  });
});
