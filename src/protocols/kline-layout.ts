// A bar record as the bars kernel writes it into a snapshot. 160 bytes, little-endian:
//
//   0        4        5       6      7     8        12     16      24       32   40   48  56    64       72      80
//   | symbol | interv.| qual. |closed|venue|revision|window| open_us|close_us| open|high|low|close|first_id|last_id|
//   80      88       104            120           136                152             160
//   | trades| volume | quote volume | taker volume| taker quote volume| next_sequence |
//
// interval is the index into the kernel's plan; sums are unsigned 128-bit, low half first.
import { type Bar, type IntervalPlan, QUALITIES } from './kline.ts';

export const BAR_RECORD_BYTES = 160;

export const BAR = {
  symbol: 0,
  interval: 4,
  quality: 5,
  closed: 6,
  venue: 7,
  revision: 8,
  window: 12,
  openUs: 16,
  closeUs: 24,
  open: 32,
  high: 40,
  low: 48,
  close: 56,
  firstId: 64,
  lastId: 72,
  trades: 80,
  volume: 88,
  quoteVolume: 104,
  takerVolume: 120,
  takerQuoteVolume: 136,
  nextSequence: 152,
} as const;

function unsigned128(view: DataView, at: number): bigint {
  return (view.getBigUint64(at + 8, true) << 64n) | view.getBigUint64(at, true);
}

function setUnsigned128(view: DataView, at: number, value: bigint): void {
  view.setBigUint64(at, BigInt.asUintN(64, value), true);
  view.setBigUint64(at + 8, value >> 64n, true);
}

export function readBar(view: DataView, at: number, plan: IntervalPlan): Bar {
  return {
    symbol: view.getUint32(at + BAR.symbol, true),
    interval: plan.names[view.getUint8(at + BAR.interval)]!,
    quality: QUALITIES[view.getUint8(at + BAR.quality)]!,
    closed: view.getUint8(at + BAR.closed) === 1,
    revision: view.getUint32(at + BAR.revision, true),
    openUs: view.getBigUint64(at + BAR.openUs, true),
    closeUs: view.getBigUint64(at + BAR.closeUs, true),
    open: view.getBigUint64(at + BAR.open, true),
    high: view.getBigUint64(at + BAR.high, true),
    low: view.getBigUint64(at + BAR.low, true),
    close: view.getBigUint64(at + BAR.close, true),
    firstId: view.getBigUint64(at + BAR.firstId, true),
    lastId: view.getBigUint64(at + BAR.lastId, true),
    trades: view.getBigUint64(at + BAR.trades, true),
    volume: unsigned128(view, at + BAR.volume),
    quoteVolume: unsigned128(view, at + BAR.quoteVolume),
    takerVolume: unsigned128(view, at + BAR.takerVolume),
    takerQuoteVolume: unsigned128(view, at + BAR.takerQuoteVolume),
    nextSequence: view.getBigUint64(at + BAR.nextSequence, true),
  };
}

export function writeBar(view: DataView, at: number, bar: Bar, plan: IntervalPlan, window: number): void {
  view.setUint32(at + BAR.symbol, bar.symbol, true);
  view.setUint8(at + BAR.interval, plan.names.indexOf(bar.interval));
  view.setUint8(at + BAR.quality, QUALITIES.indexOf(bar.quality));
  view.setUint8(at + BAR.closed, bar.closed ? 1 : 0);
  view.setUint8(at + BAR.venue, 0);
  view.setUint32(at + BAR.revision, bar.revision, true);
  view.setUint32(at + BAR.window, window, true);
  view.setBigUint64(at + BAR.openUs, bar.openUs, true);
  view.setBigUint64(at + BAR.closeUs, bar.closeUs, true);
  view.setBigUint64(at + BAR.open, bar.open, true);
  view.setBigUint64(at + BAR.high, bar.high, true);
  view.setBigUint64(at + BAR.low, bar.low, true);
  view.setBigUint64(at + BAR.close, bar.close, true);
  view.setBigUint64(at + BAR.firstId, bar.firstId, true);
  view.setBigUint64(at + BAR.lastId, bar.lastId, true);
  view.setBigUint64(at + BAR.trades, bar.trades, true);
  setUnsigned128(view, at + BAR.volume, bar.volume);
  setUnsigned128(view, at + BAR.quoteVolume, bar.quoteVolume);
  setUnsigned128(view, at + BAR.takerVolume, bar.takerVolume);
  setUnsigned128(view, at + BAR.takerQuoteVolume, bar.takerQuoteVolume);
  view.setBigUint64(at + BAR.nextSequence, bar.nextSequence, true);
}
