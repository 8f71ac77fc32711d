import type { VenueFacts } from '../../protocols/venue.ts';

export const COINBASE: VenueFacts = {
  id: 'coinbase',
  title: 'Coinbase Advanced Trade',
  wsUrl: 'wss://advanced-trade-ws.coinbase.com',
  rest: { url: 'https://api.coinbase.com', weightPerMinute: 600, weightHeader: undefined },
  symbolForm: { separator: '-', case: 'upper', caseInStreams: 'upper' },
  streams: {
    'book-delta': {
      name: 'level2:{symbol}',
      content: 'delta',
      // A snapshot follows the ack at once; the heartbeats stream ticks every second.
      cadence: { kind: 'change', quietAfterMs: 3_000, firstFrameWithinMs: 10_000, evidenceWithinMs: 10_000 },
      gapProof: 'connection-sequence',
      handover: 'snapshot',
    },
    trades: {
      name: 'market_trades:{symbol}',
      content: 'events',
      cadence: { kind: 'change', quietAfterMs: 10_000, firstFrameWithinMs: 300_000, evidenceWithinMs: 10_000 },
      gapProof: 'connection-sequence',
      handover: 'sequence',
    },
  },
  limits: {
    streamsPerConnection: 1024,
    streamsPerFrame: 50,
    frameBytes: 8192,
    framesPerSecond: 8,
    framesReserved: 1,
    maxAgeMs: undefined,
    connects: { count: 300, windowMs: 300_000 },
    subscribeWithinMs: 5_000,
  },
  // Also what keeps idle channels open: without it they are closed after 60 to 90 s.
  keepalive: { kind: 'stream', stream: 'heartbeats', everyMs: 1_000 },
  numberForm: 'string',
  tradeSide: 'maker',
  acksUnknownSymbols: false,
  ackWithinMs: 5_000,
};
