import type { TopologyConfig } from './topology-schema.ts';

/** The venues that make bars unless the file says otherwise: their trades carry ids that show what is missing. */
const USUAL = ['binance', 'bitstamp'] as const;
/** Of these, the one with a stream of all its symbols. */
const DISCOVERABLE = 'binance';

export function klineVenues({ klines, feeds }: TopologyConfig): readonly string[] {
  return klines.venues ?? USUAL.filter((venue) => feeds[venue]?.trades === true);
}

export function discoveryVenues(topology: TopologyConfig): readonly string[] {
  const { discovery } = topology.klines;
  if (!discovery.enabled) return [];
  return discovery.venues ?? klineVenues(topology).filter((venue) => venue === DISCOVERABLE);
}
