import { TapeworksError } from '../protocols/errors/index.ts';
import type { KnownVenue } from '../protocols/venue.ts';
import { binance } from './binance/index.ts';
import { bitstamp } from './bitstamp/index.ts';
import { coinbase } from './coinbase/index.ts';
import { kraken } from './kraken/index.ts';
import { knownVenue, type Venue } from './venue.ts';

/** The venues. A new one is a folder beside these and one line here. */
export const VENUES: readonly Venue[] = [binance, bitstamp, kraken, coinbase];

export const KNOWN_VENUES: readonly KnownVenue[] = VENUES.map(knownVenue);

export function venueNamed(id: string): Venue {
  const found = VENUES.find((venue) => venue.facts.id === id);
  if (found !== undefined) return found;
  const known = VENUES.map((venue) => venue.facts.id).join(', ');
  throw new TapeworksError('TW_VENUE_UNKNOWN', `there is no venue "${id}"; known are ${known}`, { venue: id });
}
