import type { Venue } from '../venue.ts';
import { BINANCE } from './facts.ts';
import { binanceDialect } from './protocol.ts';
import { binanceSimulation } from './simulator.ts';

export const binance: Venue = {
  facts: BINANCE,
  dialect: binanceDialect,
  simulation: binanceSimulation,
  walker: {
    routeBy: (kind) => (kind === 'book' ? 'stream' : 'symbol'),
    decode: (kernel, frame, receivedNs) => kernel.binance(frame, receivedNs),
  },
};
