import { describe, expect, it } from 'vitest';
import type { ExchangeStatus, StreamStatus } from '../protocols/exchange.ts';
import type { ActorInfo } from '../supervision/inspect.ts';
import { judgeHealth } from './health.ts';

const TREE: ActorInfo = {
  ...{ path: '/', kind: 'supervisor', state: 'running', thread: 'main', incarnation: 1, restarts: 0, messages: 0 },
  ...{ lastFailure: undefined, mailbox: undefined, unhandled: 0, waitMs: undefined, processingMs: undefined },
  children: [],
};

function bookOf(venue: string, told: Pick<StreamStatus, 'phase' | 'reason' | 'ageMs'>): ExchangeStatus {
  const counts = { frames: 0, duplicates: 0, gaps: 0, lost: 0 };
  const stream: StreamStatus = {
    name: 'book',
    kind: 'book',
    instrument: 'BTC-USD',
    downReason: '',
    ...counts,
    ...told,
  };
  const counters = { messages: 0, errors: 0, errorsByCode: {}, reconnections: 0, rotations: 0, rotationsFailed: 0 };
  return {
    ...{ path: `/feeds/${venue}`, venue, refused: [], streams: [stream] },
    connection: { state: 'open', sinceMs: 0, url: '', reason: 'open', provenBy: 'ping' },
    counters: { ...counters, tradesRefused: 0 },
  };
}

const LIVE = { phase: 'live', reason: 'frames-flow', ageMs: 3 } as const;
const QUIET = { phase: 'quiet', reason: 'no-change-but-alive', ageMs: 20_000 } as const;
const SILENT = { phase: 'quiet', reason: 'acked-then-silent', ageMs: null } as const;

const ALL_SILENT = 'no venue sends books: one is out (acked-then-silent), two is out (acked-then-silent)';

describe('books', () => {
  it.each([
    ['are well while each venue has one, be it quiet', [LIVE, QUIET], 'OK', ''],
    ['lack that of a venue which has sent none yet', [LIVE, SILENT], 'DEGRADED', 'two is out (acked-then-silent)'],
    ['are down while no venue has sent one', [SILENT, SILENT], 'DOWN', ALL_SILENT],
  ] as const)('%s', (_what, [one, two], status, reason) => {
    const exchanges = [bookOf('one', one), bookOf('two', two)];
    const health = judgeHealth({ tree: TREE, exchanges, missing: [], absent: [], others: [] });
    expect(health.status).toBe(status);
    expect(health.parts.find(({ name }) => name === 'books')).toEqual({ name: 'books', status, reason });
  });
});
