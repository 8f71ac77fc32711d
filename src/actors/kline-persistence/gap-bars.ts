// Closed bars that call themselves a gap, as they are found in the table and replaced there.
import type pg from 'pg';
import { type Interval, isInterval } from '../../protocols/kline.ts';
import { timeFromEpoch, timeText } from './rows.ts';

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

export interface DeepSpan {
  readonly venue: string;
  readonly symbol: string;
  readonly intervals: readonly Interval[];
  readonly fromUs: bigint;
  readonly toUs: bigint;
}

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
const MARK = `UPDATE klines SET quality = 'gap', revision = revision + 1
WHERE venue = $1 AND symbol = $2 AND "interval" = ANY($3::text[]) AND open_time <= $5 AND close_time >= $4
  AND closed AND quality IN ('complete', 'quiet', 'repaired')`;

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

export async function markGaps(client: pg.Client, span: DeepSpan): Promise<number> {
  const { venue, symbol, intervals, fromUs, toUs } = span;
  const { rowCount } = await client.query(MARK, [venue, symbol, intervals, timeText(fromUs), timeText(toUs)]);
  return rowCount ?? 0;
}
