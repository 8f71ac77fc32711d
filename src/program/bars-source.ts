import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { type HistoryQuery, joinWithLive } from '../actors/kline-persistence/store.ts';
import type { BarsSource } from '../console/sources.ts';
import type { BarsCatalogue, BarView } from '../protocols/console-api.ts';
import { decimal, END_OF_TIME_US, isInterval, PRICE_DIGITS, QUOTE_DIGITS } from '../protocols/kline.ts';
import type { LiveBars } from './live-bars.ts';

export interface BarsViewOptions {
  readonly live: LiveBars;
  /** Symbols as `venue:SYMBOL`. */
  readonly catalogue: () => BarsCatalogue;
  /** Stored bars, newest first; nothing where nothing is stored. Rejects while the database does not answer. */
  readonly stored: (query: HistoryQuery) => Promise<readonly NamedBar[]>;
}

export interface BarsPage {
  /** Newest first. */
  readonly bars: readonly NamedBar[];
  /** There may be more, although these are fewer than were asked for. */
  readonly isCut: boolean;
}

/** Bars for whoever asks: stored ones joined with those in memory, and changes as they come. */
export class BarsView implements BarsSource {
  readonly #options: BarsViewOptions;

  constructor(options: BarsViewOptions) {
    this.#options = options;
  }

  catalogue(): BarsCatalogue {
    return this.#options.catalogue();
  }

  async history(symbol: string, interval: string, limit: number): Promise<readonly BarView[]> {
    const [venue, name] = namesOf(symbol);
    if (!isInterval(interval)) return [];
    const query = { venue, symbol: name, interval, beforeUs: END_OF_TIME_US, limit };
    const { bars } = await this.page(query).catch(() => ({ bars: [] }));
    return bars.map(viewOf).reverse();
  }

  /** Without an answer from the database, what is in memory is still served; rejects where that is nothing. */
  async page(query: HistoryQuery): Promise<BarsPage> {
    const { venue, symbol, interval, beforeUs, limit } = query;
    const stored = await this.#options.stored(query).catch((error: Error) => error);
    const live = this.#options.live.series(venue, symbol, interval);
    const isCut = stored instanceof Error;
    const bars = joinWithLive(isCut ? [] : stored, live, beforeUs, limit);
    if (isCut && bars.length === 0) throw stored;
    return { bars, isCut };
  }

  listen(symbol: string, interval: string, listener: (bar: BarView) => void): () => void {
    const [venue, name] = namesOf(symbol);
    return this.#options.live.listen((bars) => {
      for (const named of bars) {
        if (named.venue === venue && named.symbol === name && named.bar.interval === interval) listener(viewOf(named));
      }
    });
  }
}

/** `binance:BTCUSDT` is BTCUSDT of binance; a symbol may have colons of its own. */
export function namesOf(symbol: string): [venue: string, symbol: string] {
  const cut = symbol.indexOf(':');
  return [symbol.slice(0, cut), symbol.slice(cut + 1)];
}

function viewOf({ bar }: NamedBar): BarView {
  return {
    openAtMs: Number(bar.openUs / 1000n),
    closeAtMs: Number(bar.closeUs / 1000n),
    open: decimal(bar.open, PRICE_DIGITS),
    high: decimal(bar.high, PRICE_DIGITS),
    low: decimal(bar.low, PRICE_DIGITS),
    close: decimal(bar.close, PRICE_DIGITS),
    volume: decimal(bar.volume, PRICE_DIGITS),
    quoteVolume: decimal(bar.quoteVolume, QUOTE_DIGITS),
    takerVolume: decimal(bar.takerVolume, PRICE_DIGITS),
    trades: Number(bar.trades),
    quality: bar.quality,
    revision: bar.revision,
    closed: bar.closed,
  };
}
