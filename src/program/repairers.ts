import { FETCHED_VENUE, TradeFetch, type TradeFetchOptions, type TradeRepairer } from './trade-fetch.ts';
import { WINDOW_VENUE, WindowFetch } from './window-fetch.ts';

/** One for each venue that gives trades of the past, by number or by time. */
export function startRepairers(optionsOf: (venue: string) => TradeFetchOptions): ReadonlyMap<string, TradeRepairer> {
  return new Map<string, TradeRepairer>([
    [FETCHED_VENUE, new TradeFetch(optionsOf(FETCHED_VENUE))],
    [WINDOW_VENUE, new WindowFetch(optionsOf(WINDOW_VENUE))],
  ]);
}
