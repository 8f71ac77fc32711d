import type { VenueFacts } from '../../protocols/venue.ts';

/** Of those that Kraken serves: 10, 25, 100, 500 and 1000 levels a side. */
export const BOOK_DEPTH = 100;

export const KRAKEN: VenueFacts = {
  id: 'kraken',
  title: 'Kraken',
  wsUrl: 'wss://ws.kraken.com/v2',
  rest: { url: 'https://api.kraken.com', weightPerMinute: 60, weightHeader: undefined },
  symbolForm: { separator: '/', case: 'upper', caseInStreams: 'upper' },
  streams: {
    'book-delta': {
      name: `book.${BOOK_DEPTH}:{symbol}`,
      content: 'delta',
      // A snapshot follows the ack at once, so silence after an ack is suspect within seconds.
      cadence: { kind: 'change', quietAfterMs: 3_000, firstFrameWithinMs: 10_000, evidenceWithinMs: 30_000 },
      gapProof: 'checksum',
      handover: 'snapshot',
    },
    trades: {
      name: 'trade:{symbol}',
      content: 'events',
      cadence: { kind: 'change', quietAfterMs: 10_000, firstFrameWithinMs: 300_000, evidenceWithinMs: 30_000 },
      gapProof: 'dense-trade-id',
      handover: 'sequence',
    },
  },
  limits: {
    streamsPerConnection: 1024,
    streamsPerFrame: 50,
    frameBytes: 8192,
    framesPerSecond: 10,
    framesReserved: 1,
    maxAgeMs: undefined,
    connects: { count: 150, windowMs: 600_000 },
    subscribeWithinMs: undefined,
  },
  keepalive: { kind: 'client-frame', everyMs: 10_000, text: '{"method":"ping"}' },
  numberForm: 'number',
  tradeSide: 'taker',
  acksUnknownSymbols: false,
  ackWithinMs: 5_000,
};
