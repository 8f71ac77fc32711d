import type { KnownVenue } from '../../protocols/venue.ts';
import type { TopologyConfig } from './topology-schema.ts';

type Klines = TopologyConfig['klines'];

/** The file with the venues of bars and of discovery, where it leaves them to us. */
export interface SettledTopology extends TopologyConfig {
  readonly klines: Klines & {
    readonly venues: readonly string[];
    readonly discovery: Klines['discovery'] & { readonly venues: readonly string[] };
  };
}

/** Bars are made of every connected venue that can show and fill holes; of these, all that tell their symbols are looked at. */
export function settleVenues(topology: TopologyConfig, known: readonly KnownVenue[]): SettledTopology {
  const { klines, feeds } = topology;
  const { discovery } = klines;
  const able = (ability: 'makesBars' | 'tellsSymbols') => known.filter((one) => one[ability]).map(({ id }) => id);
  const venues = klines.venues ?? able('makesBars').filter((venue) => feeds[venue]?.trades === true);
  const telling = able('tellsSymbols').filter((venue) => venues.includes(venue));
  const looked = discovery.enabled ? (discovery.venues ?? telling) : [];
  return { ...topology, klines: { ...klines, venues, discovery: { ...discovery, venues: looked } } };
}
