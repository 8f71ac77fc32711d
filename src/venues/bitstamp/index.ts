import type { Venue } from '../venue.ts';
import { BITSTAMP } from './facts.ts';
import { bitstampDialect } from './protocol.ts';

export const bitstamp: Venue = { facts: BITSTAMP, dialect: bitstampDialect };
