import { TapeworksError } from './errors/index.ts';

// Glossary. A *window* is a stretch of venue time that an interval cuts out, numbered from the epoch (months: year * 12 +
// month). A *bar* is what traded in a window. The *base* interval is the shortest that is served; the others are fed from
// it. A *revision* is 0 while the bar is open, 1 at its close, and one more each time a closed bar is amended.

const SECOND_US = 1_000_000;
const MINUTE_US = 60 * SECOND_US;
const HOUR_US = 60 * MINUTE_US;
const DAY_US = 24 * HOUR_US;

/** Length and first opening of each interval in microseconds. Months have no fixed length; weeks open on Monday, UTC. */
export const INTERVALS = {
  '1s': { lengthUs: SECOND_US, offsetUs: 0 },
  '1m': { lengthUs: MINUTE_US, offsetUs: 0 },
  '3m': { lengthUs: 3 * MINUTE_US, offsetUs: 0 },
  '5m': { lengthUs: 5 * MINUTE_US, offsetUs: 0 },
  '15m': { lengthUs: 15 * MINUTE_US, offsetUs: 0 },
  '30m': { lengthUs: 30 * MINUTE_US, offsetUs: 0 },
  '1h': { lengthUs: HOUR_US, offsetUs: 0 },
  '2h': { lengthUs: 2 * HOUR_US, offsetUs: 0 },
  '4h': { lengthUs: 4 * HOUR_US, offsetUs: 0 },
  '6h': { lengthUs: 6 * HOUR_US, offsetUs: 0 },
  '8h': { lengthUs: 8 * HOUR_US, offsetUs: 0 },
  '12h': { lengthUs: 12 * HOUR_US, offsetUs: 0 },
  '1d': { lengthUs: DAY_US, offsetUs: 0 },
  '3d': { lengthUs: 3 * DAY_US, offsetUs: 0 },
  '1w': { lengthUs: 7 * DAY_US, offsetUs: 4 * DAY_US },
  '1M': { lengthUs: 0, offsetUs: 0 },
} as const satisfies Record<string, { readonly lengthUs: number; readonly offsetUs: number }>;

export type Interval = keyof typeof INTERVALS;
export const INTERVAL_NAMES = Object.keys(INTERVALS) as readonly Interval[];

export function isInterval(name: string): name is Interval {
  return Object.hasOwn(INTERVALS, name);
}

export const QUALITIES = ['complete', 'partial-first', 'quiet', 'gap', 'repaired'] as const;
/**
 * - `complete`: every trade of the window is in it.
 * - `partial-first`: the symbol was not watched from the window's opening.
 * - `quiet`: nothing traded; the prices are the previous close.
 * - `gap`: trades of the window are known or suspected to be missing.
 * - `repaired`: it was a gap, and the missing trades have been fetched.
 */
export type Quality = (typeof QUALITIES)[number];

/** What traded in a window. Prices and amounts count 10^-8; quote sums, being products, count 10^-16. */
export interface BarFigures {
  readonly openUs: bigint;
  /** The last microsecond of the window. */
  readonly closeUs: bigint;
  readonly open: bigint;
  readonly high: bigint;
  readonly low: bigint;
  readonly close: bigint;
  readonly trades: bigint;
  readonly volume: bigint;
  readonly quoteVolume: bigint;
  readonly takerVolume: bigint;
  readonly takerQuoteVolume: bigint;
}

export interface TradedBar extends BarFigures {
  readonly firstId: bigint;
  readonly lastId: bigint;
}

export interface Bar extends TradedBar {
  readonly symbol: number;
  readonly interval: Interval;
  readonly quality: Quality;
  readonly closed: boolean;
  readonly revision: number;
  /** The sequence that the symbol expects next: all below it are in its bars, holes apart. */
  readonly nextSequence: bigint;
}

/** The intervals of a kernel, shortest first, and for each the one that feeds it (its index; 0 for the base). */
export interface IntervalPlan {
  readonly names: readonly Interval[];
  readonly feeders: readonly number[];
}

function feeds(child: Interval, parent: Interval): boolean {
  const { lengthUs, offsetUs } = INTERVALS[child];
  const target = INTERVALS[parent];
  if (lengthUs === 0 || DAY_US % lengthUs !== 0) return false;
  return target.lengthUs === 0 || (target.lengthUs % lengthUs === 0 && (target.offsetUs - offsetUs) % lengthUs === 0);
}

/** Orders the intervals and finds for each the longest shorter one whose windows tile its own. */
export function compileIntervals(names: readonly string[]): IntervalPlan {
  const unknown = names.find((name) => !isInterval(name));
  if (unknown !== undefined || names.length === 0) {
    const what = unknown === undefined ? 'no interval is configured' : `"${unknown}" is not an interval`;
    throw new TapeworksError('TW_KLINE_INTERVALS', `${what}; known are ${INTERVAL_NAMES.join(', ')}`);
  }
  const sorted = INTERVAL_NAMES.filter((name) => names.includes(name));
  const feeders = sorted.map((name, index) => {
    if (index === 0) return 0;
    const feeder = sorted.findLastIndex((child, at) => at < index && feeds(child, name));
    if (feeder >= 0) return feeder;
    throw new TapeworksError(
      'TW_KLINE_INTERVALS',
      `${name} bars cannot be made from ${sorted.slice(0, index).join(', ')}`,
    );
  });
  return { names: sorted, feeders };
}

/**
 * Of each interval the newest closed bar and those after it, in order: what a symbol goes on from. While late trades are
 * waited for, more than one bar is open.
 */
export function tailOf(bars: readonly Bar[]): Bar[] {
  const newestClosed = new Map<Interval, bigint>();
  for (const { interval, closed, openUs } of bars) {
    if (closed && openUs >= (newestClosed.get(interval) ?? 0n)) newestClosed.set(interval, openUs);
  }
  const tail = bars.filter(({ interval, openUs }) => openUs >= (newestClosed.get(interval) ?? 0n));
  const windows = new Map(tail.map((bar) => [`${bar.interval} ${bar.openUs}`, bar]));
  return [...windows.values()].sort((a, b) => (a.openUs < b.openUs ? -1 : 1));
}

/** Trades of this span of time are missing, and nobody knows which. */
export interface Lack {
  readonly fromUs: bigint;
  readonly toUs: bigint;
}

/**
 * What the bars that a symbol goes on from lack: the holes that made them gaps went with whoever knew them. A bar that was
 * only in doubt is proven by its ids, where these are dense; one that is not proven says all it can by the span of the
 * shortest such bar, or by its opening where the missing trades are before that.
 */
export function lacksOf(tail: readonly Bar[], dense: boolean): Lack[] {
  const lacks: Lack[] = [];
  for (const interval of INTERVAL_NAMES) {
    const series = tail.filter((bar) => bar.interval === interval);
    const isBase = series.length > 0 && !tail.some((bar) => isShorter(bar.interval, interval));
    for (const [at, bar] of series.entries()) {
      if (bar.closed || bar.quality !== 'gap' || (dense && isProven(bar, series[at - 1]))) continue;
      if (isBase) lacks.push({ fromUs: series[at - 1]?.closeUs ?? bar.openUs, toUs: bar.closeUs });
      else if (!lacks.some(({ fromUs, toUs }) => fromUs <= bar.closeUs && toUs >= bar.openUs))
        lacks.push({ fromUs: bar.openUs, toUs: bar.openUs });
    }
  }
  return lacks;
}

function isShorter(a: Interval, b: Interval): boolean {
  return INTERVAL_NAMES.indexOf(a) < INTERVAL_NAMES.indexOf(b);
}

/** Its ids have no hole, nor have those between it and the bar before it. */
function isProven({ trades, firstId, lastId }: Bar, before: Bar | undefined): boolean {
  if (trades !== lastId - firstId + 1n) return false;
  if (before === undefined || before.quality === 'quiet') return true;
  return before.trades > 0n && before.lastId + 1n === firstId;
}

/** The number of the window that a time falls in. */
export function windowAt(interval: Interval, timeUs: bigint): number {
  const { lengthUs, offsetUs } = INTERVALS[interval];
  if (lengthUs > 0) return Number((timeUs - BigInt(offsetUs)) / BigInt(lengthUs));
  const date = new Date(Number(timeUs / 1000n));
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** The opening of a window; the opening of `window + 1` is its end. */
export function windowOpenUs(interval: Interval, window: number): bigint {
  const { lengthUs, offsetUs } = INTERVALS[interval];
  if (lengthUs > 0) return BigInt(window) * BigInt(lengthUs) + BigInt(offsetUs);
  return BigInt(Date.UTC(Math.floor(window / 12), window % 12)) * 1000n;
}

/** A count of 10^-digits as the shortest exact decimal: (150000000n, 8) is "1.5". */
export function decimal(value: bigint, digits: number): string {
  if (value < 0n) return `-${decimal(-value, digits)}`;
  const text = value.toString().padStart(digits + 1, '0');
  const [whole, rest] = [text.slice(0, text.length - digits), text.slice(text.length - digits)];
  const fraction = rest.replace(/0+$/, '');
  return fraction === '' ? whole : `${whole}.${fraction}`;
}

/** Decimals that a bar keeps of prices and amounts, and of their products. */
export const PRICE_DIGITS = 8;
export const QUOTE_DIGITS = 16;
/** Later than any bar. */
export const END_OF_TIME_US = 1n << 52n;

const DECIMAL = /^(\d{1,30})(?:\.(\d{1,30}))?$/;
/** The count of 10^-digits that a decimal stands for. Digits beyond, unless zero, are refused rather than rounded. */
export function fromDecimal(text: string, digits: number): bigint {
  const match = DECIMAL.exec(text);
  const fraction = match?.[2] ?? '';
  if (match === null || /[1-9]/.test(fraction.slice(digits))) {
    throw new TapeworksError('TW_KLINE_DECIMAL', `"${text}" is not a decimal with at most ${digits} places`);
  }
  return BigInt(match[1]! + fraction.slice(0, digits).padEnd(digits, '0'));
}
