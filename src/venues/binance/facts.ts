import type { VenueFacts } from '../../protocols/venue.ts';

export const BINANCE: VenueFacts = {
  id: 'binance',
  title: 'Binance spot',
  // The combined endpoint: depth20 frames carry no symbol, so the envelope's stream name is what routes them.
  wsUrl: 'wss://stream.binance.com:9443/stream',
  rest: {
    url: 'https://api.binance.com',
    weightPerMinute: 6000,
    weightHeader: 'x-mbx-used-weight-1m',
    time: { path: '/api/v3/time', field: 'serverTime' },
  },
  symbolForm: { separator: '', case: 'upper', caseInStreams: 'lower' },
  streams: {
    book: {
      name: '{symbol}@depth20@100ms',
      content: 'snapshot',
      cadence: { kind: 'timer', quietAfterMs: 1_000, staleAfterMs: 5_000 },
      gapProof: 'last-update-id',
      handover: 'sequence',
    },
    'book-delta': {
      name: '{symbol}@depth@100ms',
      content: 'delta',
      cadence: { kind: 'change', quietAfterMs: 2_000, firstFrameWithinMs: 60_000, evidenceWithinMs: 45_000 },
      gapProof: 'update-range',
      handover: 'sequence',
    },
    trades: {
      name: '{symbol}@aggTrade',
      content: 'events',
      cadence: { kind: 'change', quietAfterMs: 10_000, firstFrameWithinMs: 300_000, evidenceWithinMs: 45_000 },
      gapProof: 'dense-trade-id',
      handover: 'sequence',
    },
    tickers: {
      name: '!miniTicker@arr',
      content: 'events',
      cadence: { kind: 'timer', quietAfterMs: 5_000, staleAfterMs: 15_000 },
      gapProof: 'none',
      handover: 'snapshot',
    },
  },
  limits: {
    streamsPerConnection: 1024,
    streamsPerFrame: 100,
    frameBytes: 4096,
    framesPerSecond: 5,
    // A pong for the server's ping counts as a frame, and must never be the one too many.
    framesReserved: 1,
    maxAgeMs: 24 * 3_600_000,
    connects: { count: 300, windowMs: 300_000 },
    subscribeWithinMs: undefined,
  },
  keepalive: { kind: 'server-ping', everyMs: 20_000, answerWithinMs: 60_000 },
  numberForm: 'string',
  tradeSide: 'buyer-is-maker-flag',
  acksUnknownSymbols: true,
  ackWithinMs: 5_000,
};
