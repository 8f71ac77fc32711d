// What a venue's REST service can tell of the past. The program asks by what is there, never by the venue's name.
import type { BarFigures, Interval, TradedBar } from '../protocols/kline.ts';
import type { RestResult } from '../protocols/rest.ts';
import type { Trade } from '../protocols/trade-record.ts';

export const WINDOWS_US = { minute: 60_000_000n, hour: 3_600_000_000n, day: 86_400_000_000n } as const;
export type WindowName = keyof typeof WINDOWS_US;

/** Of an instrument: its name at the venue, and the index that records of its trades carry. */
export interface HistorySymbol {
  readonly name: string;
  readonly index: number;
}

/** Trades from a number on: that by which the venue's stream of trades is continuous. */
export interface TradesById {
  /** Of one question, in the venue's own count. */
  readonly weight: number;
  /** The most that one answer holds. */
  readonly pageMax: number;
  /** Ascending. `restUrl` is everything before the path. */
  fetch(restUrl: string, symbol: HistorySymbol, fromId: bigint, limit: number): Promise<RestResult<Trade[]>>;
}

/** All trades of the last minute, hour or day. */
export interface TradeWindows {
  readonly weight: number;
  /** Ascending, and without holes: an answer of which a part cannot be read is refused whole. */
  fetch(restUrl: string, symbol: HistorySymbol, window: WindowName): Promise<RestResult<Trade[]>>;
}

/** The venue's own bars from a time on, with the ids of their trades where it tells them. */
export interface BarHistory {
  readonly weight: number;
  readonly pageMax: number;
  /** Ascending, those without trades included, the one that is open last. */
  fetch(
    restUrl: string,
    symbol: string,
    interval: Interval,
    fromUs: bigint,
    limit: number,
  ): Promise<RestResult<(BarFigures | TradedBar)[]>>;
}

export interface VenueHistory {
  /** Missing trades are fetched by number where that can be, else by time; a venue needs only one of the two. */
  readonly tradesById?: TradesById;
  readonly windows?: TradeWindows;
  readonly bars?: BarHistory;
}
