import type { Venue, Walker } from '../venue.ts';
import { COINBASE } from './facts.ts';
import { coinbaseDialect } from './protocol.ts';
import { coinbaseSimulation } from './simulator.ts';

const walker: Walker = {
  routeBy: () => 'symbol',
  walk: 'decodeCoinbase',
};

export const coinbase: Venue = { facts: COINBASE, dialect: coinbaseDialect, simulation: coinbaseSimulation, walker };
