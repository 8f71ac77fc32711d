import type pg from 'pg';
import { type Bar, INTERVAL_NAMES, type Interval } from '../../protocols/kline.ts';
import {
  addLost,
  countGaps,
  type DeepSpan,
  findGaps,
  type GapBar,
  type GapQuery,
  type LostWindows,
  markGaps,
  type RollUp,
  rollUpGaps,
} from './gap-bars.ts';
import { type HealedNews, readHealed } from './healed-news.ts';
import {
  type BarRow,
  barFromRow,
  FILL_STAGED,
  latestOfEach,
  type NamedBar,
  SELECT_BAR,
  timeFromEpoch,
  timeText,
  UPSERT_STAGED,
} from './rows.ts';
import { staged } from './staging.ts';

/** Where a symbol goes on after a restart. */
export interface Progress {
  readonly venue: string;
  readonly symbol: string;
  readonly nextSequence: bigint;
  readonly lastUs: bigint;
  readonly sinceUs: bigint;
}

export interface Recovered extends Progress {
  /** Of each interval the newest closed bar and those after it, in order. */
  readonly bars: readonly Bar[];
}

export interface HistoryQuery {
  readonly venue: string;
  readonly symbol: string;
  readonly interval: Interval;
  /** Bars that open before this time, newest first. */
  readonly beforeUs: bigint;
  readonly limit: number;
}

export const MIGRATIONS = new URL('./migrations/', import.meta.url);
const SAVE_PROGRESS = `INSERT INTO kline_progress
SELECT * FROM unnest($1::text[], $2::text[], $3::numeric[], $4::timestamptz[], $5::timestamptz[])
ON CONFLICT (venue, symbol) DO UPDATE SET next_sequence = excluded.next_sequence, last_time = excluded.last_time
WHERE excluded.next_sequence >= kline_progress.next_sequence`;
/** By the key's index alone, a few steps for each symbol and interval, however long the history is. */
const TAILS = `SELECT ${SELECT_BAR} FROM (
  SELECT tail.* FROM kline_progress at CROSS JOIN unnest($2::text[]) AS length CROSS JOIN LATERAL (
    SELECT * FROM klines WHERE venue = at.venue AND symbol = at.symbol AND "interval" = length AND open_time >= coalesce(
      (SELECT max(open_time) FROM klines
       WHERE venue = at.venue AND symbol = at.symbol AND "interval" = length AND closed), '-infinity')
  ) tail WHERE at.venue = $1
) tails ORDER BY open_time`;
export const HISTORY_LIMIT_MAX = 1000;

/** The klines table on one connection. Writing the same batch twice is safe: revisions make it so. */
export class KlineStore {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Makes the partitions of the months from one before to some ahead. */
  async prepare(nowUs: bigint, monthsAhead: number): Promise<void> {
    await this.#client.query(
      `SELECT ensure_klines_partition((($1::timestamptz AT TIME ZONE 'utc') + n * interval '1 month')::date)
       FROM generate_series(-1, $2::int) n`,
      [timeText(nowUs), monthsAhead],
    );
  }

  /** Resolves when the database answers. */
  async ping(): Promise<void> {
    await this.#client.query('SELECT 1');
  }

  /** Stores bars and progress in one transaction: a restart finds bars and sequence of the same moment. */
  async write(bars: readonly NamedBar[], progress: readonly Progress[]): Promise<void> {
    await staged(this.#client, latestOfEach(bars), async () => {
      await this.#client.query(UPSERT_STAGED);
      await this.#client.query(SAVE_PROGRESS, [
        progress.map((one) => one.venue),
        progress.map((one) => one.symbol),
        progress.map((one) => one.nextSequence.toString()),
        progress.map((one) => timeText(one.lastUs)),
        progress.map((one) => timeText(one.sinceUs)),
      ]);
    });
  }

  /** Gap bars, at most so many, and how many there are in all. */
  async gaps(query: GapQuery): Promise<{ readonly bars: readonly GapBar[]; readonly total: number }> {
    const bars = await findGaps(this.#client, query);
    return { bars, total: await countGaps(this.#client, query) };
  }

  /** Marks stored bars of a span as gaps, at most `MARKED_MAX`, and answers what they are now: their next revision. */
  markGaps(span: DeepSpan): Promise<NamedBar[]> {
    return markGaps(this.#client, span);
  }

  /** Adds those of the windows that are not stored, as gaps. */
  addLost(lost: LostWindows): Promise<NamedBar[]> {
    return addLost(this.#client, lost);
  }

  /** Replaces gap bars by the sum of their parts where all of these are whole, and answers what they are now. */
  rollUp(what: RollUp): Promise<NamedBar[]> {
    return rollUpGaps(this.#client, what);
  }

  /** Replaces incomplete bars by the venue's own, and answers what they are now. */
  async fill(bars: readonly NamedBar[]): Promise<NamedBar[]> {
    return staged(this.#client, bars, async () => {
      const { rows } = await this.#client.query<BarRow>(FILL_STAGED);
      return rows.map(barFromRow);
    });
  }

  /** What another process has replaced. */
  healed(news: HealedNews): Promise<NamedBar[]> {
    return readHealed(this.#client, news);
  }

  /** The symbols of a venue whose bars are stored. */
  async symbols(venue: string): Promise<string[]> {
    const found = await this.#client.query<{ symbol: string }>(
      'SELECT symbol FROM kline_progress WHERE venue = $1 ORDER BY symbol',
      [venue],
    );
    return found.rows.map(({ symbol }) => symbol);
  }

  /** What a restart needs of a venue: its symbols, where they stand, and their newest bars. */
  async recover(venue: string): Promise<Recovered[]> {
    const progress = await this.#client.query<{ symbol: string; next: string; last: string; since: string }>(
      `SELECT symbol, next_sequence::text AS next, extract(epoch from last_time)::text AS last,
       extract(epoch from since)::text AS since FROM kline_progress WHERE venue = $1 ORDER BY symbol`,
      [venue],
    );
    const newest = await this.#client.query<BarRow>(TAILS, [venue, INTERVAL_NAMES]);
    const bars = newest.rows.map(barFromRow);
    return progress.rows.map((row) => ({
      venue,
      symbol: row.symbol,
      nextSequence: BigInt(row.next),
      lastUs: timeFromEpoch(row.last),
      sinceUs: timeFromEpoch(row.since),
      bars: bars.filter((named) => named.symbol === row.symbol).map((named) => named.bar),
    }));
  }

  /** One page of history, newest first. The opening of its last bar is where the next page begins. */
  async history({ venue, symbol, interval, beforeUs, limit }: HistoryQuery): Promise<NamedBar[]> {
    const { rows } = await this.#client.query<BarRow>(
      `SELECT ${SELECT_BAR} FROM klines WHERE venue = $1 AND symbol = $2 AND "interval" = $3 AND open_time < $4
       ORDER BY klines.open_time DESC LIMIT $5`,
      [venue, symbol, interval, timeText(beforeUs), Math.min(limit, HISTORY_LIMIT_MAX)],
    );
    return rows.map(barFromRow);
  }
}

/**
 * Joins a page of stored bars (newest first) with bars still in memory: each window once, the higher revision, and of
 * the same revision the one in memory, which is never older.
 */
export function joinWithLive(
  stored: readonly NamedBar[],
  live: readonly NamedBar[],
  beforeUs: bigint,
  limit: number,
): NamedBar[] {
  const windows = new Map(stored.map((named) => [named.bar.openUs, named]));
  for (const named of live) {
    const known = windows.get(named.bar.openUs);
    if (named.bar.openUs < beforeUs && (known === undefined || named.bar.revision >= known.bar.revision)) {
      windows.set(named.bar.openUs, named);
    }
  }
  const newestFirst = [...windows.values()].sort((a, b) => (a.bar.openUs > b.bar.openUs ? -1 : 1));
  return newestFirst.slice(0, limit);
}
