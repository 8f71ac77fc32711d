import type { Venue } from '../venue.ts';
import { KRAKEN } from './facts.ts';
import { krakenDialect } from './protocol.ts';
import { krakenSimulation } from './simulator.ts';

export const kraken: Venue = { facts: KRAKEN, dialect: krakenDialect, simulation: krakenSimulation };
