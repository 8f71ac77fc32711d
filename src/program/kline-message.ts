import type { NamedBar } from '../actors/kline-persistence/rows.ts';
import { decimal, PRICE_DIGITS, QUOTE_DIGITS } from '../protocols/kline.ts';

/** A bar as klines.proto spells it: each number as a double, and beside it to the last digit. */
export function messageOf({ venue, symbol, bar }: NamedBar): object {
  const exact = {
    open: decimal(bar.open, PRICE_DIGITS),
    high: decimal(bar.high, PRICE_DIGITS),
    low: decimal(bar.low, PRICE_DIGITS),
    close: decimal(bar.close, PRICE_DIGITS),
    volume: decimal(bar.volume, PRICE_DIGITS),
    quote_volume: decimal(bar.quoteVolume, QUOTE_DIGITS),
    taker_volume: decimal(bar.takerVolume, PRICE_DIGITS),
    taker_quote_volume: decimal(bar.takerQuoteVolume, QUOTE_DIGITS),
  };
  const numbers = Object.entries(exact).flatMap(([name, text]) => [
    [name, Number(text)],
    [`${name}_exact`, text],
  ]);
  return {
    venue,
    symbol,
    interval: bar.interval,
    open_time_us: bar.openUs.toString(),
    close_time_us: bar.closeUs.toString(),
    ...Object.fromEntries(numbers),
    trades: bar.trades.toString(),
    first_trade_id: bar.firstId.toString(),
    last_trade_id: bar.lastId.toString(),
    closed: bar.closed,
    quality: bar.quality.replace('-', '_').toUpperCase(),
    revision: bar.revision,
  };
}
