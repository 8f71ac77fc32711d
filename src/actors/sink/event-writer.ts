import pg from 'pg';
import type { EventRow } from '../../protocols/ingest.ts';
import type { SinkSettings } from '../../protocols/topology.ts';
import { OVERDUE, within } from '../../supervision/deadline.ts';
import { Turns } from '../../supervision/turns.ts';
import { copyIn } from './copy-in.ts';
import { COLUMNS, copyParts } from './copy-rows.ts';
import { cut } from './cut.ts';
import { migrate, readMigrations } from './migrate.ts';
import { classifyFailure, DUPLICATE_TABLE, UNIQUE_VIOLATION, WriteTimeout } from './sqlstate.ts';

/** What a write came to. Offering the same rows again is always safe: the ids make it so. */
export interface Written {
  readonly inserted: number;
  readonly duplicates: number;
}

/** Where rows are stored. Rejects with the server's error; sqlstate.ts says what that calls for. */
export interface EventStore {
  /** Connects where need be and sees to tables and partitions. */
  prepare(): Promise<void>;
  write(rows: readonly EventRow[]): Promise<Written>;
  close(): Promise<void>;
}

export type WritePoint = 'before-commit' | 'after-commit';

export interface EventWriterOptions {
  readonly url: string;
  readonly connectTimeoutMs: number;
  readonly settings: Pick<SinkSettings, 'statementTimeoutMs' | 'queryTimeoutMs' | 'lockTimeoutMs' | 'partitionsAhead'>;
  reached(point: WritePoint): void;
  /** What is unsafe about the server's settings, in words. */
  warn(text: string): void;
}

/** How long a statement that is under way holds up the end of the process. */
const CLOSE_MS = 1_000;
const PARTITIONS_EVERY_MS = 3_600_000;
const PARTITIONS_RETRY_MS = 60_000;
const STAGE = 'CREATE TEMP TABLE IF NOT EXISTS stage (LIKE events) ON COMMIT DELETE ROWS';
/** Sorted, so that two writers take the same locks in the same order. */
const UNSTAGE = `WITH stored AS (
  INSERT INTO events SELECT DISTINCT ON (part_day, id) * FROM stage ORDER BY part_day, id
  ON CONFLICT (part_day, id) DO NOTHING RETURNING 1
) SELECT count(*)::int AS inserted FROM stored`;

/**
 * Writes batches on one connection of its own, one at a time.
 *
 *   direct  COPY straight into events: one statement, one commit. A duplicate fails it, and nothing of it is stored.
 *   staged  COPY into a temporary table, then INSERT .. ON CONFLICT DO NOTHING, in one transaction.
 *
 * Duplicates are rare and come in runs (after a crash), so a batch goes direct, falls back to staged on a conflict, and
 * the next goes staged at once; the first batch without duplicates leads back to direct.
 */
export class EventWriter implements EventStore {
  readonly #options: EventWriterOptions;
  #client: pg.Client | undefined;
  #expectDuplicates = false;
  #partitionsAt = Number.NEGATIVE_INFINITY;
  readonly #turns = new Turns();

  constructor(options: EventWriterOptions) {
    this.#options = options;
  }

  prepare(): Promise<void> {
    return this.#inTurn(async (client) => {
      if (performance.now() - this.#partitionsAt < PARTITIONS_EVERY_MS) {
        await client.query('SELECT 1');
        return;
      }
      await migrate(client, readMigrations());
      await this.#checkSettings(client);
      const isMade = await this.#makePartitions(client);
      this.#partitionsAt = performance.now() - (isMade ? 0 : PARTITIONS_EVERY_MS - PARTITIONS_RETRY_MS);
    });
  }

  /**
   * False where someone who reads the default partition, such as a backup, or another writer that makes the same ones is in
   * the way. That holds up no row: until its day has a partition it goes to the default one, and is moved from there.
   */
  async #makePartitions(client: pg.Client): Promise<boolean> {
    try {
      await client.query(
        "SELECT ensure_events_partition((now() AT TIME ZONE 'utc')::date + n) FROM generate_series(-1, $1::int) n",
        [this.#options.settings.partitionsAhead],
      );
      return true;
    } catch (error) {
      const { code = '' } = error as { code?: string };
      if (code === DUPLICATE_TABLE || classifyFailure(error).class === 'contention') return false;
      throw error;
    }
  }

  write(rows: readonly EventRow[]): Promise<Written> {
    return this.#inTurn(async (client) => {
      if (rows.length === 0) return { inserted: 0, duplicates: 0 };
      const parts = copyParts(rows);
      if (!this.#expectDuplicates) {
        try {
          this.#options.reached('before-commit');
          await copyIn(client, `COPY events (${COLUMNS}) FROM STDIN (FORMAT binary)`, parts);
          this.#options.reached('after-commit');
          return { inserted: rows.length, duplicates: 0 };
        } catch (error) {
          if ((error as { code?: string }).code !== UNIQUE_VIOLATION) throw error;
        }
      }
      const inserted = await this.#stage(client, parts);
      this.#expectDuplicates = inserted < rows.length;
      return { inserted, duplicates: rows.length - inserted };
    });
  }

  async #stage(client: pg.Client, parts: readonly Buffer[]): Promise<number> {
    await client.query(STAGE);
    await client.query('BEGIN');
    try {
      await copyIn(client, `COPY stage (${COLUMNS}) FROM STDIN (FORMAT binary)`, parts);
      const { rows } = await client.query<{ inserted: number }>(UNSTAGE);
      this.#options.reached('before-commit');
      await client.query('COMMIT');
      this.#options.reached('after-commit');
      return rows[0]!.inserted;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  /** One piece of work at a time, each with a deadline. After it passes, the connection is given up. */
  #inTurn<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    return this.#turns.take(async () => {
      const client = await this.#connect();
      const { queryTimeoutMs } = this.#options.settings;
      try {
        const answer = await within(queryTimeoutMs, work(client));
        if (answer === OVERDUE) throw new WriteTimeout(`no answer in ${queryTimeoutMs} ms`);
        return answer;
      } catch (error) {
        // After an error of the server the connection is good; after any other its state is unknown.
        if (!/^[0-9A-Z]{5}$/.test((error as { code?: string }).code ?? '')) this.#discard(client);
        // Tables that are not what they were: the next look is a whole one.
        if (classifyFailure(error).class === 'schema') this.#partitionsAt = Number.NEGATIVE_INFINITY;
        throw error;
      }
    });
  }

  async #connect(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    const { url, connectTimeoutMs, settings } = this.#options;
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: connectTimeoutMs,
      statement_timeout: settings.statementTimeoutMs,
      lock_timeout: settings.lockTimeoutMs,
      idle_in_transaction_session_timeout: settings.queryTimeoutMs + settings.statementTimeoutMs,
      keepAlive: true,
      application_name: 'tapeworks-sink',
    });
    // Without a listener, a connection that breaks while it is idle would end the process.
    client.on('error', () => this.#discard(client));
    client.on('end', () => this.#discard(client));
    await client.connect();
    this.#client = client;
    // Whatever answers now may be another server, or one that was restored from a backup.
    this.#partitionsAt = Number.NEGATIVE_INFINITY;
    return client;
  }

  #discard(client: pg.Client): void {
    if (this.#client === client) this.#client = undefined;
    cut(client);
  }

  async #checkSettings(client: pg.Client): Promise<void> {
    const { rows } = await client.query<{ name: string; setting: string }>(
      "SELECT name, setting FROM pg_settings WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')",
    );
    for (const { name, setting } of rows) {
      if (setting === 'off')
        this.#options.warn(`Postgres runs with ${name} = off: a commit it has confirmed can be lost in a crash`);
    }
  }

  /** A statement that a frozen server does not answer is given up: its rows are offered again by whoever comes next. */
  async close(): Promise<void> {
    const isLate = (await within(CLOSE_MS, this.#turns.over)) === OVERDUE;
    if (isLate && this.#client !== undefined) this.#discard(this.#client);
    await this.#client?.end().catch(() => undefined);
    this.#client = undefined;
  }
}
