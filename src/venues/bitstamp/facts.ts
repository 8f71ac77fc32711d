import type { Cadence, VenueFacts } from '../../protocols/venue.ts';

// Change-driven: a quiet book was seen silent for 49 s, and no frame is sent on subscribing. Our heartbeat every 20 s
// is answered, which is the proof of life.
const ON_CHANGE: Cadence = {
  kind: 'change',
  quietAfterMs: 5_000,
  firstFrameWithinMs: 90_000,
  evidenceWithinMs: 45_000,
};

export const BITSTAMP: VenueFacts = {
  id: 'bitstamp',
  title: 'Bitstamp',
  wsUrl: 'wss://ws.bitstamp.net',
  rest: {
    url: 'https://www.bitstamp.net',
    weightPerMinute: 800,
    weightHeader: undefined,
    time: { path: '/api/v2/trading-pairs-info/' },
  },
  symbolForm: { separator: '', case: 'lower', caseInStreams: 'lower' },
  streams: {
    book: {
      name: 'order_book_{symbol}',
      content: 'snapshot',
      cadence: ON_CHANGE,
      gapProof: 'microtimestamp',
      handover: 'sequence',
    },
    trades: {
      name: 'live_trades_{symbol}',
      content: 'events',
      cadence: { ...ON_CHANGE, quietAfterMs: 10_000, firstFrameWithinMs: 300_000 },
      gapProof: 'ordered-trade-id',
      handover: 'sequence',
    },
  },
  limits: {
    streamsPerConnection: 1024,
    streamsPerFrame: 1,
    // Frames of 512 bytes and more end the connection.
    frameBytes: 511,
    framesPerSecond: 50,
    framesReserved: 2,
    maxAgeMs: 90 * 24 * 3_600_000,
    connects: { count: 300, windowMs: 300_000 },
    subscribeWithinMs: undefined,
  },
  keepalive: { kind: 'client-frame', everyMs: 20_000, text: '{"event":"bts:heartbeat"}' },
  numberForm: 'string',
  tradeSide: 'taker',
  acksUnknownSymbols: true,
  ackWithinMs: 5_000,
};
