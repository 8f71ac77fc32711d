import type { Venue, Walker } from '../venue.ts';
import { BITSTAMP } from './facts.ts';
import { bitstampHistory } from './history.ts';
import { bitstampDialect } from './protocol.ts';
import { bitstampSimulation } from './simulator.ts';

const walker: Walker = {
  routeBy: () => 'stream',
  walk: 'decodeBitstamp',
};

export const bitstamp: Venue = {
  facts: BITSTAMP,
  dialect: bitstampDialect,
  simulation: bitstampSimulation,
  walker,
  history: bitstampHistory,
};
