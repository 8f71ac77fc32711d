import {
  type Bar,
  decimal,
  fromDecimal,
  isInterval,
  PRICE_DIGITS,
  QUALITIES,
  QUOTE_DIGITS,
  type Quality,
} from '../../protocols/kline.ts';

/** A bar with the names under which it is stored. */
export interface NamedBar {
  readonly venue: string;
  readonly symbol: string;
  readonly bar: Bar;
}

const KLINE_COLUMNS = [
  ...['venue', 'symbol', '"interval"', 'open_time', 'close_time', 'open', 'high', 'low', 'close', 'volume'],
  ...['quote_volume', 'taker_volume', 'taker_quote_volume', 'trades', 'first_id', 'last_id', 'closed', 'quality'],
  'revision',
] as const;
const KEY_COLUMNS = ['venue', 'symbol', '"interval"', 'open_time'];

const assignments = KLINE_COLUMNS.filter((column) => !KEY_COLUMNS.includes(column))
  .map((column) => `${column} = excluded.${column}`)
  .join(', ');

/**
 * Moves staged bars into the table. The higher revision wins; an open bar is replaced by any later state of itself. Rows
 * are sorted, so that two writers take the same locks in the same order.
 */
export const UPSERT_STAGED = `INSERT INTO klines SELECT * FROM kline_stage ORDER BY ${KEY_COLUMNS.join(', ')}
ON CONFLICT (${KEY_COLUMNS.join(', ')}) DO UPDATE SET ${assignments}
WHERE excluded.revision > klines.revision OR (excluded.revision = klines.revision AND NOT klines.closed)`;

export function timeText(us: bigint): string {
  const seconds = new Date(Number(us / 1000n)).toISOString().slice(0, 19);
  return `${seconds}.${(us % 1_000_000n).toString().padStart(6, '0')}Z`;
}

/** Microseconds of a time as Postgres prints it in UTC with extract(epoch): "1763000040.000000". */
export function timeFromEpoch(text: string): bigint {
  return fromDecimal(text, 6);
}

/** One line of COPY's text form. Venue and symbol names are letters, digits and a few signs; none needs an escape. */
function copyLine({ venue, symbol, bar }: NamedBar): string {
  const prices = [bar.open, bar.high, bar.low, bar.close, bar.volume].map((value) => decimal(value, PRICE_DIGITS));
  const quote = decimal(bar.quoteVolume, QUOTE_DIGITS);
  const takers = [decimal(bar.takerVolume, PRICE_DIGITS), decimal(bar.takerQuoteVolume, QUOTE_DIGITS)];
  const head = [escaped(venue), escaped(symbol), bar.interval, timeText(bar.openUs), timeText(bar.closeUs)];
  const ids = [bar.trades, bar.firstId, bar.lastId];
  return `${[...head, ...prices, quote, ...takers, ...ids, bar.closed ? 't' : 'f', bar.quality, bar.revision].join('\t')}\n`;
}

function escaped(text: string): string {
  return text.replace(/[\\\t\n\r]/g, (found) => `\\${{ '\\': '\\', '\t': 't', '\n': 'n', '\r': 'r' }[found]}`);
}

export function copyText(bars: readonly NamedBar[]): Buffer {
  return Buffer.from(bars.map(copyLine).join(''));
}

/** The latest state of each bar: an upsert may touch a row once only. */
export function latestOfEach(bars: readonly NamedBar[]): NamedBar[] {
  const latest = new Map<string, NamedBar>();
  for (const named of bars) {
    const key = `${named.venue}\t${named.symbol}\t${named.bar.interval}\t${named.bar.openUs}`;
    const known = latest.get(key);
    if (known === undefined || named.bar.revision >= known.bar.revision) latest.set(key, named);
  }
  return [...latest.values()];
}

/** The columns of a bar as text, in the order in which `barFromRow` takes them. */
export const SELECT_BAR = `venue, symbol, "interval", extract(epoch from open_time)::text AS open_s,
  extract(epoch from close_time)::text AS close_s, open::text, high::text, low::text, close::text, volume::text,
  quote_volume::text, taker_volume::text, taker_quote_volume::text, trades::text, first_id::text, last_id::text, closed,
  quality, revision`;

const figures = KLINE_COLUMNS.filter((column) => ![...KEY_COLUMNS, 'revision', 'quality'].includes(column))
  .map((column) => `${column} = excluded.${column}`)
  .join(', ');

/**
 * Moves staged bars of the venue's own into the table. Bars that are there stay as they are, whatever their revision. Only
 * one that calls itself incomplete is replaced, and that is its next revision. Answers what is stored now.
 */
export const FILL_STAGED = `INSERT INTO klines SELECT * FROM kline_stage ORDER BY ${KEY_COLUMNS.join(', ')}
ON CONFLICT (${KEY_COLUMNS.join(', ')}) DO UPDATE SET ${figures}, quality = 'repaired', revision = klines.revision + 1
WHERE klines.closed AND klines.quality IN ('gap', 'partial-first') RETURNING ${SELECT_BAR}`;

export type BarRow = Readonly<Record<Exclude<(typeof KLINE_COLUMNS)[number], '"interval"'>, string>> & {
  readonly interval: string;
  readonly open_s: string;
  readonly close_s: string;
};

export function barFromRow(row: BarRow): NamedBar {
  const price = (text: string) => fromDecimal(text, PRICE_DIGITS);
  const quote = (text: string) => fromDecimal(text, QUOTE_DIGITS);
  const interval = isInterval(row.interval) ? row.interval : '1m';
  const quality: Quality = QUALITIES.find((name) => name === row.quality) ?? 'gap';
  const times = { openUs: timeFromEpoch(row.open_s), closeUs: timeFromEpoch(row.close_s) };
  const prices = { open: price(row.open), high: price(row.high), low: price(row.low), close: price(row.close) };
  const sums = { volume: price(row.volume), quoteVolume: quote(row.quote_volume) };
  const takers = { takerVolume: price(row.taker_volume), takerQuoteVolume: quote(row.taker_quote_volume) };
  const ids = { firstId: BigInt(row.first_id), lastId: BigInt(row.last_id), trades: BigInt(row.trades) };
  const state = { closed: String(row.closed) === 'true', revision: Number(row.revision), nextSequence: 0n };
  const bar: Bar = { symbol: 0, interval, quality, ...times, ...prices, ...sums, ...takers, ...ids, ...state };
  return { venue: row.venue, symbol: row.symbol, bar };
}
