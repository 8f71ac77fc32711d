// Closed bars that call themselves a gap, as they are found in the table and replaced there.
import type pg from 'pg';
import { type Interval, isInterval, windowAt, windowOpenUs } from '../../protocols/kline.ts';
import { type BarRow, barFromRow, type NamedBar, SELECT_BAR, timeFromEpoch, timeText } from './rows.ts';

export interface GapQuery {
  readonly venue: string;
  /** Bars whose end lies in this span. */
  readonly fromUs: bigint;
  readonly toUs: bigint;
  /** Bars to leave out. */
  readonly without: readonly SeriesPast[];
  /** Bars that are not counted: they stay as they are. */
  readonly lasting: readonly SeriesPast[];
  readonly limit: number;
}

/** The bars of a series (`SYMBOL interval`) up to the one that opens at that time. */
export interface SeriesPast {
  readonly series: string;
  readonly untilUs: bigint;
}

export interface GapBar {
  readonly symbol: string;
  readonly interval: Interval;
  readonly openUs: bigint;
}

/** Bars of `interval` whose end lies in this span, and the interval that they are made of. */
export interface RollUp {
  readonly venue: string;
  readonly interval: Interval;
  readonly part: Interval;
  readonly fromUs: bigint;
  readonly toUs: bigint;
  readonly limit: number;
}

export interface DeepSpan {
  readonly venue: string;
  readonly symbol: string;
  readonly intervals: readonly Interval[];
  readonly fromUs: bigint;
  readonly toUs: bigint;
}

/** Windows of one series, from one to another, both included. */
export interface LostWindows {
  readonly venue: string;
  readonly symbol: string;
  readonly interval: Interval;
  readonly first: number;
  readonly last: number;
}

/** Bars that one statement marks. */
export const MARKED_MAX = 5_000;
/** Beyond this they are no longer counted one by one. */
const GAPS_COUNTED_MAX = 100_000;

const WHERE = `venue = $1 AND closed AND quality = 'gap' AND close_time >= $2 AND close_time < $3`;
const NOT_PAST = `NOT EXISTS (SELECT 1 FROM unnest($4::text[], $5::timestamptz[]) AS past(series, until)
WHERE past.series = symbol || ' ' || "interval" AND open_time <= past.until)`;
const FIND = `SELECT symbol, "interval", extract(epoch from open_time)::text AS open FROM klines
WHERE ${WHERE} AND ${NOT_PAST} ORDER BY close_time LIMIT $6`;
const COUNT = `SELECT count(*)::int AS gaps FROM (SELECT 1 FROM klines
WHERE ${WHERE} AND ${NOT_PAST} LIMIT ${GAPS_COUNTED_MAX}) found`;
/** Stored bars that lack trades which came too late for the kernel: they are gaps until the venue has been asked. */
const MARK = `WITH found AS (
  SELECT "interval", open_time FROM klines
  WHERE venue = $1 AND symbol = $2 AND "interval" = ANY($3::text[]) AND open_time <= $5 AND close_time >= $4
    AND closed AND quality IN ('complete', 'quiet', 'repaired') LIMIT ${MARKED_MAX}
), marked AS (
  UPDATE klines SET quality = 'gap', revision = revision + 1
  FROM found WHERE klines.venue = $1 AND klines.symbol = $2 AND klines."interval" = found."interval"
    AND klines.open_time = found.open_time AND closed AND quality IN ('complete', 'quiet', 'repaired')
  RETURNING klines.*
) SELECT ${SELECT_BAR} FROM marked`;

/** A window that nobody stored is a gap as well. Where nothing is stored before it, nobody watched. */
const ADD_LOST = `INSERT INTO klines
SELECT $1, $2, $3, opens, closes, price, price, price, price, 0, 0, 0, 0, 0, 0, 0, true, 'gap', 1
FROM unnest($4::timestamptz[], $5::timestamptz[]) AS lost(opens, closes), (
  SELECT close AS price FROM klines WHERE venue = $1 AND symbol = $2 AND "interval" = $3 AND open_time < $6
  ORDER BY open_time DESC LIMIT 1
) before ON CONFLICT DO NOTHING RETURNING ${SELECT_BAR}`;

/**
 * Gap bars whose parts are all stored and whole are the sum of these. The open is that of the part with the first id, not of the
 * first part: a trade may be stamped before the one that it follows. The newest come first, so that old bars that stay gaps hold up none.
 */
const ROLL_UP = `WITH gap AS (
  SELECT symbol, open_time, close_time FROM klines
  WHERE ${WHERE} AND "interval" = $4 ORDER BY close_time DESC LIMIT $6
), rolled AS (
  SELECT gap.symbol, gap.open_time,
    coalesce((array_agg(part.open ORDER BY part.first_id) FILTER (WHERE part.trades > 0))[1], min(part.close)) AS open,
    coalesce(max(part.high) FILTER (WHERE part.trades > 0), min(part.close)) AS high,
    coalesce(min(part.low) FILTER (WHERE part.trades > 0), min(part.close)) AS low,
    coalesce((array_agg(part.close ORDER BY part.last_id DESC) FILTER (WHERE part.trades > 0))[1], min(part.close)) AS close,
    sum(part.volume) AS volume, sum(part.quote_volume) AS quote_volume, sum(part.taker_volume) AS taker_volume,
    sum(part.taker_quote_volume) AS taker_quote_volume, sum(part.trades) AS trades,
    coalesce(min(part.first_id) FILTER (WHERE part.trades > 0), 0) AS first_id, max(part.last_id) AS last_id
  FROM gap JOIN klines part ON part.venue = $1 AND part.symbol = gap.symbol AND part."interval" = $5
    AND part.open_time >= gap.open_time AND part.open_time <= gap.close_time
  GROUP BY gap.symbol, gap.open_time, gap.close_time
  HAVING bool_and(part.closed AND part.quality IN ('complete', 'quiet', 'repaired')
      AND (part.trades = 0 OR part.first_id > 0))
    AND sum(part.close_time - part.open_time + interval '1 microsecond')
      = gap.close_time - gap.open_time + interval '1 microsecond'
), healed AS (
UPDATE klines SET open = rolled.open, high = rolled.high, low = rolled.low, close = rolled.close, volume = rolled.volume,
  quote_volume = rolled.quote_volume, taker_volume = rolled.taker_volume, taker_quote_volume = rolled.taker_quote_volume,
  trades = rolled.trades, first_id = rolled.first_id, last_id = rolled.last_id, quality = 'repaired', revision = revision + 1
FROM rolled WHERE klines.venue = $1 AND klines."interval" = $4 AND klines.symbol = rolled.symbol
  AND klines.open_time = rolled.open_time AND closed AND quality = 'gap'
RETURNING klines.*) SELECT ${SELECT_BAR} FROM healed`;

function pastColumns(past: readonly SeriesPast[]): [series: string[], untils: string[]] {
  return [past.map(({ series }) => series), past.map(({ untilUs }) => timeText(untilUs))];
}

/** The oldest first. */
export async function findGaps(client: pg.Client, query: GapQuery): Promise<GapBar[]> {
  const { venue, fromUs, toUs, without, limit } = query;
  const { rows } = await client.query<{ symbol: string; interval: string; open: string }>(FIND, [
    ...[venue, timeText(fromUs), timeText(toUs), ...pastColumns(without), limit],
  ]);
  return rows.flatMap(({ symbol, interval, open }) =>
    isInterval(interval) ? [{ symbol, interval, openUs: timeFromEpoch(open) }] : [],
  );
}

export async function countGaps(client: pg.Client, { venue, fromUs, toUs, lasting }: GapQuery): Promise<number> {
  const values = [venue, timeText(fromUs), timeText(toUs), ...pastColumns(lasting)];
  const { rows } = await client.query<{ gaps: number }>(COUNT, values);
  return rows[0]?.gaps ?? 0;
}

export async function markGaps(client: pg.Client, span: DeepSpan): Promise<NamedBar[]> {
  const { venue, symbol, intervals, fromUs, toUs } = span;
  const values = [venue, symbol, intervals, timeText(fromUs), timeText(toUs)];
  return (await client.query<BarRow>(MARK, values)).rows.map(barFromRow);
}

export async function addLost(client: pg.Client, lost: LostWindows): Promise<NamedBar[]> {
  const { venue, symbol, interval, first, last } = lost;
  const opens = Array.from({ length: last - first + 1 }, (_, at) => windowOpenUs(interval, first + at));
  const closes = opens.map((_, at) => timeText(windowOpenUs(interval, first + at + 1) - 1n));
  const values = [venue, symbol, interval, opens.map(timeText), closes, timeText(opens[0]!)];
  return (await client.query<BarRow>(ADD_LOST, values)).rows.map(barFromRow);
}

/** The windows of a deep span that are over at a time, some for each statement. */
export function lostWindows({ venue, symbol, intervals, fromUs, toUs }: DeepSpan, overUs: bigint): LostWindows[] {
  return intervals.flatMap((interval) => {
    const end = Math.min(windowAt(interval, toUs) + 1, windowAt(interval, overUs));
    const parts: LostWindows[] = [];
    for (let first = windowAt(interval, fromUs); first < end; first += MARKED_MAX) {
      parts.push({ venue, symbol, interval, first, last: Math.min(first + MARKED_MAX, end) - 1 });
    }
    return parts;
  });
}

export async function rollUpGaps(
  client: pg.Client,
  { venue, interval, part, fromUs, toUs, limit }: RollUp,
): Promise<NamedBar[]> {
  const values = [venue, timeText(fromUs), timeText(toUs), interval, part, limit];
  return (await client.query<BarRow>(ROLL_UP, values)).rows.map(barFromRow);
}
