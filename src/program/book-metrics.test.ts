import { describe, expect, it } from 'vitest';
import type { ExchangeStatus, StreamStatus } from '../protocols/exchange.ts';
import { BookMetrics } from './book-metrics.ts';

type Told = Pick<StreamStatus, 'kind' | 'phase' | 'reason' | 'ageMs'>;

function statusOf(told: readonly Told[]): ExchangeStatus {
  const counts = { frames: 0, duplicates: 0, gaps: 0, lost: 0 };
  const named = { name: 'stream', instrument: 'BTC-USD', downReason: '', ...counts };
  const counters = { messages: 0, errors: 0, errorsByCode: {}, reconnections: 0, rotations: 0, rotationsFailed: 0 };
  return {
    ...{ path: '/feeds/one', venue: 'one', refused: [], streams: told.map((each) => ({ ...named, ...each })) },
    connection: { state: 'open', sinceMs: 0, url: '', reason: 'open', provenBy: 'ping' },
    counters: { ...counters, tradesRefused: 0 },
  };
}

const TRADES = { kind: 'trades', phase: 'live', reason: 'frames-flow', ageMs: 3 } as const;
const LIVE = { kind: 'book', phase: 'live', reason: 'frames-flow', ageMs: 3 } as const;
const QUIET = { kind: 'book-delta', phase: 'quiet', reason: 'no-change-but-alive', ageMs: 20_000 } as const;
const SILENT = { kind: 'book', phase: 'quiet', reason: 'acked-then-silent', ageMs: null } as const;
const STALE = { kind: 'book', phase: 'stale', reason: 'timer-missed', ageMs: 9_000 } as const;

describe('orderbook_exchange_up', () => {
  it.each([
    ['is 1 while a book flows', [LIVE], 1],
    ['is 1 while a book is quiet, and another is out', [QUIET, STALE], 1],
    ['is 0 while the book was acked and has sent nothing', [SILENT], 0],
    ['is 0 while trades flow and the book does not', [STALE, TRADES], 0],
    ['is 1 while trades flow and no book is wanted', [TRADES], 1],
  ])('%s', async (_what, streams, up) => {
    const metrics = new BookMetrics(
      () => [statusOf(streams)],
      async () => undefined,
    );
    expect(await metrics.text()).toContain(`orderbook_exchange_up{exchange="one"} ${up}\n`);
  });
});
