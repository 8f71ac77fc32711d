import { GapHealer } from '../actors/kline-backfill/gap-healer.ts';
import type { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { BinanceRest } from '../actors/trade-repair/binance-rest.ts';
import type { HealSettings } from '../protocols/topology.ts';
import { BINANCE } from '../venues/binance/facts.ts';
import type { KlineSymbols } from './kline-symbols.ts';
import type { TradeFetchOptions } from './trade-fetch.ts';

/** Repairs of trades come first: as soon as the venue's weight is used beyond this share, healing waits. */
const WEIGHT_SHARE = 0.1;

export interface GapHealingOptions {
  readonly settings: () => HealSettings;
  /** A connection of its own, so that neither writing nor reading bars waits for it; undefined where none are stored. */
  readonly link: StoreLink | undefined;
  readonly repair: () => TradeFetchOptions;
  readonly symbols: KlineSymbols;
}

/** Heals stored gaps of the venue that keeps a history of its bars. */
export function gapHealing({ settings, link, repair, symbols }: GapHealingOptions): GapHealer | undefined {
  if (link === undefined) return undefined;
  const venue = BINANCE.id;
  return new GapHealer({
    venue,
    settings,
    use: (work) => link.use(work),
    release: () => link.close(),
    klines: (symbol, interval, fromUs, limit) =>
      new BinanceRest(repair().restUrl).klines(symbol, interval, fromUs, limit),
    budget: { perMinute: BINANCE.rest.weightPerMinute, share: WEIGHT_SHARE },
    nameOf: (index) => {
      const symbol = symbols.at(index);
      return symbol?.venue === venue ? symbol.symbol : undefined;
    },
    taken: (symbol, { fromUs, toUs }) => void repair().tell(symbol, { kind: 'rebuild-taken', symbol, fromUs, toUs }),
    nowUs: () => repair().nowUs(),
    nowMs: () => Date.now(),
  });
}
