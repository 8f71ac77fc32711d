// Bars of a venue that keeps none, made from all trades of its last hour or day.
//
//   trades:   a b |  c d   |        | e f | g        given: the bars of c d, of the quiet window after it, and of e f.
//   windows:      | from   |        |     |          a and b show that nothing of the first is cut off, g that the last is over;
//                                                    so does the time, where nothing has been traded since.
import { type Interval, type TradedBar, windowAt, windowOpenUs } from '../protocols/kline.ts';
import type { RestResult } from '../protocols/rest.ts';
import type { Trade } from '../protocols/trade-record.ts';
import type { BarHistory, TradeWindows } from './history.ts';

/** Bars that are asked for at once: a list of trades is long, so as many as it has. */
const PAGE_MAX = 86_400;
/** By less than this a list may be behind the venue's clock. */
const BEHIND_US = 60_000_000n;

/** `nowUs` is the venue's time. */
export function barsOfTrades(windows: TradeWindows, nowUs: () => bigint): BarHistory {
  return {
    weight: 2 * windows.weight,
    pageMax: PAGE_MAX,
    async fetch(restUrl, name, interval, fromUs, limit): Promise<RestResult<TradedBar[]>> {
      const symbol = { name, index: 0 };
      const overUs = nowUs() - BEHIND_US;
      let answer = await windows.fetch(restUrl, symbol, 'hour');
      if (answer.ok && !reachesBefore(answer.value, fromUs)) answer = await windows.fetch(restUrl, symbol, 'day');
      return answer.ok ? { ...answer, value: barsFrom(answer.value, interval, fromUs, limit, overUs) } : answer;
    },
  };
}

function reachesBefore(trades: readonly Trade[], us: bigint): boolean {
  return trades.some(({ timeUs }) => timeUs < us);
}

/** Those that the trades prove to be whole. Trades are in the order of their ids, which is not always that of their times. */
export function barsFrom(
  trades: readonly Trade[],
  interval: Interval,
  fromUs: bigint,
  limit: number,
  overUs = 0n,
): TradedBar[] {
  const windows = trades.map(({ timeUs }) => windowAt(interval, timeUs));
  const wanted = windowAt(interval, fromUs);
  const oldest = windows.reduce((least, window) => Math.min(least, window), Number.POSITIVE_INFINITY);
  const newest = windows.reduce((most, window) => Math.max(most, window), Math.max(wanted, windowAt(interval, overUs)));
  const first = Math.max(wanted, oldest + 1);
  const traded = new Map<number, Trade[]>();
  let price = 0n;
  for (const [at, trade] of trades.entries()) {
    const window = windows[at]!;
    if (window < first) price = trade.price;
    const others = traded.get(window);
    if (others === undefined) traded.set(window, [trade]);
    else others.push(trade);
  }
  const bars: TradedBar[] = [];
  for (let window = first; window < Math.min(newest, wanted + limit); window++) {
    const bar = barOf(traded.get(window) ?? [], price, interval, window);
    price = bar.close;
    bars.push(bar);
  }
  return bars;
}

/** A window without a trade carries the price before it. */
function barOf(trades: readonly Trade[], before: bigint, interval: Interval, window: number): TradedBar {
  const open = trades[0]?.price ?? before;
  const bar = {
    ...{ openUs: windowOpenUs(interval, window), closeUs: windowOpenUs(interval, window + 1) - 1n },
    ...{ open, high: open, low: open, close: trades.at(-1)?.price ?? before },
    ...{ firstId: trades[0]?.firstId ?? 0n, lastId: trades.at(-1)?.lastId ?? 0n },
    ...{ trades: BigInt(trades.length), volume: 0n, quoteVolume: 0n, takerVolume: 0n, takerQuoteVolume: 0n },
  };
  for (const { price, amount, takerBuy } of trades) {
    if (price > bar.high) bar.high = price;
    if (price < bar.low) bar.low = price;
    bar.volume += amount;
    bar.quoteVolume += price * amount;
    if (!takerBuy) continue;
    bar.takerVolume += amount;
    bar.takerQuoteVolume += price * amount;
  }
  return bar;
}
