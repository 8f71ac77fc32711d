import { GapHealer, type HealStats } from '../actors/kline-backfill/gap-healer.ts';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import type { HealSettings } from '../protocols/topology.ts';
import { barsOfTrades } from '../venues/bars-of-trades.ts';
import type { Venue } from '../venues/venue.ts';
import type { KlineSymbols } from './kline-symbols.ts';
import type { RepairerOptions } from './trade-fetch.ts';

/** Repairs of trades come first: as soon as the venue's weight is used beyond this share, healing waits. */
const WEIGHT_SHARE = 0.1;

export interface GapHealingOptions {
  readonly settings: () => HealSettings;
  /** Undefined where no bars are stored. */
  readonly link: StoreLink | undefined;
  readonly repair: (venue: Venue) => RepairerOptions;
  readonly symbols: KlineSymbols;
}

/** Heals stored gaps of the venues that keep a history of their bars or of their trades, each within its own budget. */
export function gapHealers(venues: readonly Venue[], options: GapHealingOptions): GapHealer[] {
  return venues.flatMap((venue) => healerOf(venue, options) ?? []);
}

function healerOf(venue: Venue, { settings, link, repair, symbols }: GapHealingOptions): GapHealer | undefined {
  const { facts, history } = venue;
  const bars = history?.bars ?? (history?.windows && barsOfTrades(history.windows));
  if (bars === undefined || link === undefined) return undefined;
  return new GapHealer({
    venue: facts.id,
    settings,
    use: (work) => link.use(work),
    release: () => link.close(),
    history: bars,
    restUrl: () => repair(venue).restUrl,
    budget: { perMinute: facts.rest.weightPerMinute, share: WEIGHT_SHARE },
    nameOf: (index) => {
      const symbol = symbols.at(index);
      return symbol?.venue === facts.id ? symbol.symbol : undefined;
    },
    taken: (symbol, { fromUs, toUs }) =>
      void repair(venue).tell(symbol, { kind: 'rebuild-taken', symbol, fromUs, toUs }),
    nowUs: () => repair(venue).nowUs(),
    nowMs: () => Date.now(),
  });
}

/** Of all venues together; undefined where nothing is healed. */
export function healingOf(healers: readonly GapHealer[]): HealStats | undefined {
  if (healers.length === 0) return undefined;
  const all = healers.map(({ stats }) => stats);
  const sum = (figure: 'gaps' | 'healed' | 'failed') => all.reduce((total, stats) => total + stats[figure], 0);
  const trouble = all.find((stats) => stats.trouble !== undefined)?.trouble;
  return { gaps: sum('gaps'), healed: sum('healed'), failed: sum('failed'), trouble };
}
