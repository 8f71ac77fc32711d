import type { Venue } from '../venues/venue.ts';
import { type RepairerOptions, TradeFetch, type TradeRepairer } from './trade-fetch.ts';
import { WindowFetch } from './window-fetch.ts';

/** One for each venue that gives trades of the past: by number where it can, else by time. */
export function startRepairers(
  venues: readonly Venue[],
  optionsOf: (venue: Venue) => RepairerOptions,
): ReadonlyMap<string, TradeRepairer> {
  return new Map(
    venues.flatMap((venue) => {
      const repairer = repairerOf(venue, optionsOf);
      return repairer === undefined ? [] : [[venue.facts.id, repairer] as const];
    }),
  );
}

function repairerOf(venue: Venue, optionsOf: (venue: Venue) => RepairerOptions): TradeRepairer | undefined {
  const { tradesById, windows } = venue.history ?? {};
  if (tradesById !== undefined) return new TradeFetch(tradesById, optionsOf(venue));
  return windows === undefined ? undefined : new WindowFetch(windows, optionsOf(venue));
}
