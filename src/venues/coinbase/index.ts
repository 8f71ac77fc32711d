import type { Venue } from '../venue.ts';
import { COINBASE } from './facts.ts';
import { coinbaseDialect } from './protocol.ts';
import { coinbaseSimulation } from './simulator.ts';

export const coinbase: Venue = { facts: COINBASE, dialect: coinbaseDialect, simulation: coinbaseSimulation };
