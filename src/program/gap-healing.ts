import { GapHealer, type HealStats } from '../actors/kline-backfill/gap-healer.ts';
import { LossCheck } from '../actors/kline-backfill/loss-check.ts';
import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import type { KlineStore } from '../actors/kline-persistence/store.ts';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { compileIntervals } from '../protocols/kline.ts';
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
  /** These bars have a new revision where they are stored. */
  readonly onRevised: (bars: readonly NamedBar[]) => void;
  /** The intervals that are made; undefined while nobody makes bars. */
  readonly intervals: () => readonly string[] | undefined;
}

/** Heals stored gaps of the venues that keep a history of their bars or of their trades, each within its own budget. */
export function gapHealers(venues: readonly Venue[], options: GapHealingOptions): GapHealer[] {
  return venues.flatMap((venue) => healerOf(venue, options) ?? []);
}

function healerOf(venue: Venue, options: GapHealingOptions): GapHealer | undefined {
  const { settings, link, repair, symbols, intervals } = options;
  const { facts, history } = venue;
  const bars = history?.bars ?? (history?.windows && barsOfTrades(history.windows, () => repair(venue).nowUs()));
  if (bars === undefined || link === undefined) return undefined;
  const common = {
    venue: facts.id,
    use: <T>(work: (store: KlineStore) => Promise<T>) => link.use(work),
    history: bars,
    restUrl: () => repair(venue).restUrl,
    budget: { perMinute: facts.rest.weightPerMinute, share: WEIGHT_SHARE },
    nameOf: (index: number) => {
      const symbol = symbols.at(index);
      return symbol?.venue === facts.id ? symbol.symbol : undefined;
    },
    plan: () => {
      const names = intervals();
      return names === undefined ? undefined : compileIntervals(names);
    },
    nowUs: () => repair(venue).nowUs(),
    nowMs: () => Date.now(),
  };
  const disprove = (symbol: number, fromUs: bigint, toUs: bigint) =>
    repair(venue).tell(symbol, { kind: 'disproved', symbol, fromUs, toUs });
  // Dense ids show every trade that is missing.
  const isSparse = facts.streams.trades?.gapProof === 'ordered-trade-id';
  return new GapHealer({
    ...common,
    ...(isSparse && { losses: new LossCheck({ ...common, disprove }) }),
    settings,
    onRevised: options.onRevised,
    release: () => link.close(),
    taken: (symbol, { fromUs, toUs }) =>
      void repair(venue).tell(symbol, { kind: 'rebuild-taken', symbol, fromUs, toUs }),
  });
}

/** Of all venues together; undefined where nothing is healed. */
export function healingOf(healers: readonly GapHealer[]): HealStats | undefined {
  if (healers.length === 0) return undefined;
  const all = healers.map(({ stats }) => stats);
  const sum = (figure: 'gaps' | 'healed' | 'disproved' | 'unproven' | 'failed') =>
    all.reduce((total, stats) => total + stats[figure], 0);
  const trouble = all.find((stats) => stats.trouble !== undefined)?.trouble;
  return {
    gaps: sum('gaps'),
    healed: sum('healed'),
    disproved: sum('disproved'),
    unproven: sum('unproven'),
    failed: sum('failed'),
    trouble,
  };
}
