import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { copyText, type NamedBar } from './rows.ts';

/** Rows without indices or constraints, gone at the end of the transaction. */
const STAGE = 'CREATE TEMP TABLE IF NOT EXISTS kline_stage (LIKE klines) ON COMMIT DELETE ROWS';

/** Copies bars to the stage, and does the rest of the work in the same transaction. */
export async function staged<T>(client: pg.Client, bars: readonly NamedBar[], work: () => Promise<T>): Promise<T> {
  await client.query(STAGE);
  await client.query('BEGIN');
  try {
    await pipeline(Readable.from([copyText(bars)]), client.query(copyFrom('COPY kline_stage FROM STDIN')));
    const done = await work();
    await client.query('COMMIT');
    return done;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
