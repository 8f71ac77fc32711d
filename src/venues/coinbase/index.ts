import type { Venue, Walker } from '../venue.ts';
import { COINBASE } from './facts.ts';
import { coinbaseDialect } from './protocol.ts';
import { coinbaseSimulation } from './simulator.ts';

const walker: Walker = {
  routeBy: () => 'symbol',
  decode: (kernel, frame, receivedNs, route, decimals) =>
    kernel.walkers['decodeCoinbase']!(kernel.take(frame), route, decimals, receivedNs),
};

export const coinbase: Venue = { facts: COINBASE, dialect: coinbaseDialect, simulation: coinbaseSimulation, walker };
