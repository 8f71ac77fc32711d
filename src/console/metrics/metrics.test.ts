import { describe, expect, it } from 'vitest';
import type { ExchangeStatus } from '../../protocols/exchange.ts';
import type { FeedPhase } from '../../protocols/venue.ts';
import { renderBookMetrics } from './book-metrics.ts';
import { Exposition } from './exposition.ts';

function status(venue: string, phase: FeedPhase, messages: number): ExchangeStatus {
  const stream = { name: 's', instrument: 'BTC-USD', reason: 'frames-flow', downReason: '', ageMs: 1 } as const;
  const counts = { frames: 0, duplicates: 0, gaps: 0, lost: 0 };
  return {
    path: `/feeds/${venue}`,
    venue,
    connection: { state: 'open', sinceMs: 0, url: '', reason: '' },
    streams: [{ ...stream, ...counts, kind: 'book', phase }],
    counters: {
      ...{ messages, errors: 2, errorsByCode: {}, reconnections: 1, rotations: 0, rotationsFailed: 0 },
      tradesRefused: 0,
    },
    refused: [],
  };
}

describe('the metrics of the order-book plane', () => {
  it('sum a venue over its connections, and count it as up while one of them has a book', () => {
    const text = renderBookMetrics({
      exchanges: [status('binance', 'stale', 5), status('binance', 'quiet', 7), status('kraken', 'down', 1)],
      merges: 9,
      uptimeSeconds: 3,
      frameToSummary: { bounds: [0.001, 0.01], counts: [4, 1, 2], sum: 0.5 },
    });
    const lines = text.split('\n');
    for (const line of [
      '# TYPE orderbook_messages_total counter',
      'orderbook_messages_total{exchange="binance"} 12',
      'orderbook_errors_total{exchange="binance"} 4',
      'orderbook_reconnections_total{exchange="kraken"} 1',
      'orderbook_exchange_up{exchange="binance"} 1',
      'orderbook_exchange_up{exchange="kraken"} 0',
      'orderbook_merges_total 9',
      'orderbook_e2e_duration_seconds_bucket{le="0.001"} 4',
      'orderbook_e2e_duration_seconds_bucket{le="0.01"} 5',
      'orderbook_e2e_duration_seconds_bucket{le="+Inf"} 7',
      'orderbook_e2e_duration_seconds_count 7',
    ]) {
      expect(lines).toContain(line);
    }
    expect(text.endsWith('\n')).toBe(true);
  });
});

const LIST = {
  frames_total: { type: 'counter', labels: ['exchange'], help: 'Frames.' },
  age_seconds: { type: 'gauge', labels: [], help: 'Age.' },
} as const;

describe('Prometheus text', () => {
  it('refuses a metric that is not listed, and labels other than the listed ones', () => {
    const text = new Exposition(LIST);
    expect(() => text.add('nonsense', {}, 1)).toThrow(/as it is listed/);
    expect(() => text.add('frames_total', {}, 1)).toThrow(/as it is listed/);
    expect(() => text.add('frames_total', { venue: 'x' }, 1)).toThrow(/as it is listed/);
    expect(() => text.histogram('age_seconds', {}, { bounds: [], counts: [], sum: 0 })).toThrow(/histogram/);
  });

  it('escapes what a label may hold', () => {
    const text = new Exposition(LIST);
    text.add('frames_total', { exchange: 'a"b\\c\nd' }, 1);
    expect(text.text).toContain('{exchange="a\\"b\\\\c\\nd"} 1');
  });
});
