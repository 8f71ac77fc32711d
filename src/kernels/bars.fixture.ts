// What tests of the bars kernel share: trades a second apart, and what the kernel makes of them.
import type { Bar } from '../protocols/kline.ts';
import { TRADE, TRADE_BYTES, TRADE_LOSS } from '../protocols/trade-layout.ts';
import { type Trade, tradeRecords } from '../protocols/trade-record.ts';
import { BARS_DEFAULTS, BarsKernel, type BarsLimits, barsOf, READER } from './bars.ts';

export const START_US = 1_763_000_040_000_000n;
export const SECOND_US = 1_000_000n;

export function kernelWith(intervals: readonly string[], more: Partial<BarsLimits> = {}): BarsKernel {
  return new BarsKernel({ ...BARS_DEFAULTS, symbolsMax: 8, globalsMax: 32, ...more, intervals });
}

/** Trade number n, n seconds after the start, with ids that run along. */
export function trade(n: number, more: Partial<Trade> = {}): Trade {
  const id = BigInt(n);
  const timeUs = START_US + id * SECOND_US;
  const ids = { firstId: id, lastId: id, sequence: id };
  return { symbol: 3, takerBuy: false, timeUs, price: 100n + id, amount: 10n, ...ids, ...more };
}

export function apply(kernel: BarsKernel, ...trades: Trade[]): number {
  kernel.input.set(tradeRecords(trades));
  return kernel.apply(trades.length);
}

/** A mark in the feed that trades of the symbol may be missing. */
export function lossOf(symbol: number): Uint8Array {
  const record = new Uint8Array(TRADE_BYTES);
  const view = new DataView(record.buffer);
  view.setUint32(TRADE.symbol, symbol, true);
  view.setUint32(TRADE.flags, TRADE_LOSS, true);
  return record;
}

export function read(kernel: BarsKernel): Bar[] {
  const bars = barsOf(kernel.snapshot(READER.persistence), kernel.plan);
  kernel.commit(READER.persistence);
  return bars;
}

export const tickTo = (kernel: BarsKernel, seconds: number) =>
  kernel.tick(0, START_US + BigInt(seconds) * SECOND_US, 0n);
export const brief = (bars: readonly Bar[]) =>
  bars.map((bar) => `${Number((bar.openUs - START_US) / SECOND_US)} ${bar.quality} r${bar.revision} n${bar.trades}`);
