// What bars are, said as plainly as possible: group the trades of a window, sort by id, add up with whole numbers of any
// size. The kernel must agree with it to the last digit.
import { type Interval, type TradedBar, windowAt, windowOpenUs } from '../../protocols/kline.ts';
import type { Trade } from '../../protocols/trade-record.ts';

const total = (trades: readonly Trade[], value: (trade: Trade) => bigint) =>
  trades.reduce((sum, trade) => sum + value(trade), 0n);

function barOf(interval: Interval, window: number, trades: readonly Trade[]): TradedBar {
  const byFirst = trades.toSorted((a, b) => (a.firstId < b.firstId ? -1 : 1));
  const byLast = trades.toSorted((a, b) => (a.lastId < b.lastId ? -1 : 1));
  const byPrice = trades.toSorted((a, b) => (a.price < b.price ? -1 : 1));
  const bought = trades.filter((trade) => trade.takerBuy);
  return {
    openUs: windowOpenUs(interval, window),
    closeUs: windowOpenUs(interval, window + 1) - 1n,
    open: byFirst[0]!.price,
    high: byPrice.at(-1)!.price,
    low: byPrice[0]!.price,
    close: byLast.at(-1)!.price,
    firstId: byFirst[0]!.firstId,
    lastId: byLast.at(-1)!.lastId,
    trades: total(trades, (trade) => trade.lastId - trade.firstId + 1n),
    volume: total(trades, (trade) => trade.amount),
    quoteVolume: total(trades, (trade) => trade.price * trade.amount),
    takerVolume: total(bought, (trade) => trade.amount),
    takerQuoteVolume: total(bought, (trade) => trade.price * trade.amount),
  };
}

function quietBar(interval: Interval, window: number, price: bigint): TradedBar {
  const openUs = windowOpenUs(interval, window);
  const closeUs = windowOpenUs(interval, window + 1) - 1n;
  const prices = { open: price, high: price, low: price, close: price };
  const sums = { volume: 0n, quoteVolume: 0n, takerVolume: 0n, takerQuoteVolume: 0n };
  return { openUs, closeUs, ...prices, firstId: 0n, lastId: 0n, trades: 0n, ...sums };
}

/** All bars of one symbol from its first trade's window to the window of `throughUs`, quiet ones included. */
export function oracleBars(trades: readonly Trade[], interval: Interval, throughUs: bigint): TradedBar[] {
  const windows = new Map<number, Trade[]>();
  for (const trade of trades) {
    const window = windowAt(interval, trade.timeUs);
    windows.set(window, [...(windows.get(window) ?? []), trade]);
  }
  const bars: TradedBar[] = [];
  const last = windowAt(interval, throughUs);
  for (let window = Math.min(...windows.keys()); window <= last; window++) {
    const inside = windows.get(window);
    bars.push(inside ? barOf(interval, window, inside) : quietBar(interval, window, bars.at(-1)!.close));
  }
  return bars;
}
