import type pg from 'pg';
import type { Interval } from '../../protocols/kline.ts';
import { tellHealed } from '../kline-persistence/healed-news.ts';
import {
  type BarRow,
  barFromRow,
  FILL_STAGED,
  type NamedBar,
  timeFromEpoch,
  timeText,
} from '../kline-persistence/rows.ts';
import { staged } from '../kline-persistence/staging.ts';

/** A span of history of one symbol and interval: bars that open at `fromUs` or later, and have closed by `toUs`. */
export interface BackfillSpan {
  readonly venue: string;
  readonly symbol: string;
  readonly interval: Interval;
  readonly fromUs: bigint;
  readonly toUs: bigint;
}

/** How far it has come: bars that open before `nextUs` are stored. */
export interface BackfillProgress {
  readonly nextUs: bigint;
  readonly bars: number;
}

const key = ({ venue, symbol, interval, fromUs }: BackfillSpan) => [venue, symbol, interval, timeText(fromUs)];

/** Writes filled history and how far it has come in one transaction, so that a crash leaves no page half done. */
export class BackfillStore {
  readonly #client: pg.Client;

  constructor(client: pg.Client) {
    this.#client = client;
  }

  /** Where an earlier run from the same time on stopped; undefined where there was none. */
  async progress(span: BackfillSpan): Promise<BackfillProgress | undefined> {
    const { rows } = await this.#client.query<{ next: string; bars: string }>(
      `SELECT extract(epoch from next_time)::text AS next, bars::text FROM kline_backfill
       WHERE venue = $1 AND symbol = $2 AND "interval" = $3 AND from_time = $4`,
      key(span),
    );
    const [row] = rows;
    return row === undefined ? undefined : { nextUs: timeFromEpoch(row.next), bars: Number(row.bars) };
  }

  /** Makes the partitions of the months of a page. */
  async prepare(fromUs: bigint, toUs: bigint): Promise<void> {
    await this.#client.query(
      `SELECT ensure_klines_partition(month::date) FROM generate_series(
         date_trunc('month', $1::timestamptz AT TIME ZONE 'utc'), $2::timestamptz AT TIME ZONE 'utc', '1 month') month`,
      [timeText(fromUs), timeText(toUs)],
    );
  }

  /** Answers how many of the bars were not there before, or were there incomplete. */
  async keep(span: BackfillSpan, bars: readonly NamedBar[], nextUs: bigint): Promise<number> {
    const client = this.#client;
    return staged(client, bars, async () => {
      const { rows } = await client.query<BarRow>(FILL_STAGED);
      // Those who stream bars want to know of new revisions, not of a past that they never had.
      const revised = rows.filter(({ revision }) => Number(revision) > 1).map((row) => barFromRow(row).bar.openUs);
      await tellHealed(client, { ...span, opensUs: revised });
      await client.query(
        `INSERT INTO kline_backfill (venue, symbol, "interval", from_time, next_time, bars)
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (venue, symbol, "interval", from_time)
         DO UPDATE SET next_time = excluded.next_time, bars = kline_backfill.bars + excluded.bars, updated_at = now()`,
        [...key(span), timeText(nextUs), rows.length],
      );
      return rows.length;
    });
  }
}
