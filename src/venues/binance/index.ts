import type { Venue, Walker } from '../venue.ts';
import { BINANCE } from './facts.ts';
import { binanceHistory } from './history.ts';
import { binanceDialect } from './protocol.ts';
import { binanceSimulation } from './simulator.ts';

const SNAPSHOT_LEVELS = 1000;

const walker: Walker = {
  routeBy: (kind) => (kind === 'book' ? 'stream' : 'symbol'),
  walk: 'decodeBinance',
  snapshot: {
    url: (restUrl, symbol) => `${restUrl}/api/v3/depth?symbol=${encodeURIComponent(symbol)}&limit=${SNAPSHOT_LEVELS}`,
    levels: SNAPSHOT_LEVELS,
  },
};

export const binance: Venue = {
  facts: BINANCE,
  dialect: binanceDialect,
  simulation: binanceSimulation,
  walker,
  history: binanceHistory,
};
