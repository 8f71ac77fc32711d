// What another process has replaced in the table of bars, told over Postgres itself: whoever listens reads the bars there.
import type pg from 'pg';
import { type Interval, isInterval } from '../../protocols/kline.ts';
import { type BarRow, barFromRow, type NamedBar, SELECT_BAR, timeText } from './rows.ts';

/** Bars of one series that have a new revision. */
export interface HealedNews {
  readonly venue: string;
  readonly symbol: string;
  readonly interval: Interval;
  readonly opensUs: readonly bigint[];
}

const CHANNEL = 'tapeworks_klines_healed';
/** A notification holds less than 8,000 bytes; an opening takes 17 of them. */
const OPENS_MAX = 400;

/** Told when the transaction is committed, and only then. */
export async function tellHealed(client: pg.Client, news: HealedNews): Promise<void> {
  const { venue, symbol, interval, opensUs } = news;
  for (let at = 0; at < opensUs.length; at += OPENS_MAX) {
    const part = { venue, symbol, interval, opensUs: opensUs.slice(at, at + OPENS_MAX).map(Number) };
    await client.query('SELECT pg_notify($1, $2)', [CHANNEL, JSON.stringify(part)]);
  }
}

export async function hearHealed(client: pg.Client, hear: (news: HealedNews) => void): Promise<void> {
  client.on('notification', ({ channel, payload }) => {
    const news = channel === CHANNEL ? newsFrom(payload ?? '') : undefined;
    if (news !== undefined) hear(news);
  });
  await client.query(`LISTEN ${CHANNEL}`);
}

/** Whoever may connect may notify: what is no news of ours is left. */
export function newsFrom(payload: string): HealedNews | undefined {
  try {
    const { venue, symbol, interval, opensUs } = JSON.parse(payload) as Readonly<Record<string, unknown>>;
    if (typeof interval !== 'string' || !isInterval(interval) || !Array.isArray(opensUs)) return undefined;
    return { venue: String(venue), symbol: String(symbol), interval, opensUs: opensUs.slice(0, OPENS_MAX).map(BigInt) };
  } catch {
    return undefined;
  }
}

/** The bars as they are now, in order. */
export async function readHealed(
  client: pg.Client,
  { venue, symbol, interval, opensUs }: HealedNews,
): Promise<NamedBar[]> {
  const { rows } = await client.query<BarRow>(
    `SELECT ${SELECT_BAR} FROM klines WHERE venue = $1 AND symbol = $2 AND "interval" = $3
     AND open_time = ANY($4::timestamptz[]) AND closed ORDER BY klines.open_time`,
    [venue, symbol, interval, opensUs.map(timeText)],
  );
  return rows.map(barFromRow);
}
