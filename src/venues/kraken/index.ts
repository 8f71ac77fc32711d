import type { Venue, Walker } from '../venue.ts';
import { BOOK_DEPTH, KRAKEN } from './facts.ts';
import { krakenDialect } from './protocol.ts';
import { krakenSimulation } from './simulator.ts';

const walker: Walker = {
  routeBy: () => 'symbol',
  walk: 'decodeKraken',
  bookCut: BOOK_DEPTH,
};

export const kraken: Venue = { facts: KRAKEN, dialect: krakenDialect, simulation: krakenSimulation, walker };
