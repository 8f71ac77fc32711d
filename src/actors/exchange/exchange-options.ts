import type { ExchangeSettings } from '../../protocols/topology.ts';
import type { SharedHistogram } from '../../supervision/telemetry/histogram.ts';
import type { Venue } from '../../venues/venue.ts';
import type { Rehearsal } from './rehearsal.ts';
import type { BookTarget, TradeTarget } from './targets.ts';

export interface ExchangeOptions {
  readonly path: string;
  readonly venue: Venue;
  readonly settings: ExchangeSettings;
  readonly wsUrl: string;
  readonly restUrl: string;
  readonly books: BookTarget | undefined;
  /** Index of an instrument in the merged book; undefined where it is not merged, or not at this scale. */
  readonly bookIndex: (instrument: string, scale: number) => number | undefined;
  readonly trades: TradeTarget | undefined;
  readonly decodeTimes?: SharedHistogram;
  readonly rehearsal?: Rehearsal | undefined;
  readonly random: () => number;
}
