import type { Venue } from '../venue.ts';
import { BINANCE } from './facts.ts';
import { binanceDialect } from './protocol.ts';

export const binance: Venue = { facts: BINANCE, dialect: binanceDialect };
