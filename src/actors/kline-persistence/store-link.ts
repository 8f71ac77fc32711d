import pg from 'pg';
import { within } from '../../supervision/deadline.ts';
import { Turns } from '../../supervision/turns.ts';
import { cut } from '../sink/cut.ts';
import { migrate, readMigrations } from '../sink/migrate.ts';
import { type HealedNews, hearHealed } from './healed-news.ts';
import { KlineStore, MIGRATIONS } from './store.ts';

export interface StoreLinkOptions {
  readonly url: string;
  /** Makes the tables and partitions on the first connection. Readers leave that to the writer. */
  readonly prepares: boolean;
  readonly nowUs: () => bigint;
  /** Another process has replaced bars; heard while there is a connection. */
  readonly onHealed?: (news: HealedNews) => void;
}

interface Open {
  readonly client: pg.Client;
  readonly store: KlineStore;
}

const CONNECT_WITHIN_MS = 5_000;
const STATEMENT_WITHIN_MS = 30_000;
/** What a server that does not answer may hold up an end or the next connection. */
const LEAVE_WITHIN_MS = 200;
const MONTHS_AHEAD = 2;
const PREPARE_EVERY_MS = 6 * 3_600_000;

/** A connection to the klines table that is made when it is needed, and anew after it broke. */
export class StoreLink {
  readonly #options: StoreLinkOptions;
  #open: Promise<Open> | undefined;
  readonly #turns = new Turns();
  #isMigrated = false;
  #preparedAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: StoreLinkOptions) {
    this.#options = options;
  }

  /** One after the other. Rejects with what went wrong; a connection on which something did is not used again. */
  use<T>(work: (store: KlineStore) => Promise<T>): Promise<T> {
    return this.#turns.take(() => this.#use(work));
  }

  async #use<T>(work: (store: KlineStore) => Promise<T>): Promise<T> {
    this.#open ??= this.#connect();
    const open = this.#open;
    try {
      const { store } = await open;
      await this.#prepare(store);
      return await work(store);
    } catch (error) {
      await this.#drop(open);
      throw error;
    }
  }

  /** Work that is under way has a moment to end; then the connection is cut. */
  async close(): Promise<void> {
    await within(LEAVE_WITHIN_MS, this.#turns.over);
    if (this.#open !== undefined) await this.#drop(this.#open);
  }

  async #connect(): Promise<Open> {
    const client = new pg.Client({
      connectionString: this.#options.url,
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
      statement_timeout: STATEMENT_WITHIN_MS,
      query_timeout: STATEMENT_WITHIN_MS,
      options: '-c timezone=UTC',
    });
    // Whoever uses the connection next learns of it; without a listener it would end the process.
    client.on('error', () => {});
    await client.connect();
    if (this.#options.prepares && !this.#isMigrated) {
      await migrate(client, readMigrations(MIGRATIONS));
      this.#isMigrated = true;
    }
    if (this.#options.onHealed !== undefined) await hearHealed(client, this.#options.onHealed);
    return { client, store: new KlineStore(client) };
  }

  async #prepare(store: KlineStore): Promise<void> {
    const nowMs = performance.now();
    if (!this.#options.prepares || nowMs - this.#preparedAtMs < PREPARE_EVERY_MS) return;
    await store.prepare(this.#options.nowUs(), MONTHS_AHEAD);
    this.#preparedAtMs = nowMs;
  }

  async #drop(open: Promise<Open>): Promise<void> {
    if (this.#open === open) this.#open = undefined;
    await within(
      LEAVE_WITHIN_MS,
      open.then(leave, () => undefined),
    );
  }
}

async function leave({ client }: Open): Promise<void> {
  await within(
    LEAVE_WITHIN_MS,
    client.end().catch(() => undefined),
  );
  cut(client);
}
