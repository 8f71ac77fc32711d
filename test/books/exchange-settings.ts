import type { ExchangeSettings } from '../../src/protocols/topology.ts';

/** An exchange that tests make without a topology: quick to come back, ordinary in all else. */
export const EXCHANGE_SETTINGS: Omit<ExchangeSettings, 'venue' | 'symbols'> = {
  ...{ connection: 0, wsUrl: null, restUrl: null, trades: true, depth: 10 },
  book: 'venue-default',
  ...{ staleAfterMs: 5_000, aliveWithinMs: null, handshakeTimeoutMs: 5_000, rotateAfterMs: null },
  maxFrameBytes: 65_536,
  reconnect: { minMs: 10, maxMs: 50, jitter: 1, resetAfterMs: 60_000 },
};
