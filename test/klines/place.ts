import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedPostgres, startPostgres } from '../../src/servers/postgres.ts';
import { type Simulator, type SimulatorOptions, startSimulator } from '../../src/venues/simulation/simulator.ts';
import { until } from '../books/harness.ts';

/** What a program that makes bars needs around it: a folder, a database and venues. */
export class KlinePlace {
  readonly folder: string;
  readonly simulator: Simulator;
  postgres: EmbeddedPostgres;

  private constructor(folder: string, simulator: Simulator, postgres: EmbeddedPostgres) {
    this.folder = folder;
    this.simulator = simulator;
    this.postgres = postgres;
  }

  static async open(options: SimulatorOptions): Promise<KlinePlace> {
    const folder = mkdtempSync(join(tmpdir(), 'tapeworks-klines-'));
    // Postgres may run under another account.
    chmodSync(folder, 0o755);
    const postgres = await startPostgres({ folder: join(folder, 'postgres') });
    return new KlinePlace(folder, await startSimulator({ port: 0, ...options }), postgres);
  }

  async close(): Promise<void> {
    await this.simulator.stop();
    await this.postgres.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** What a process of the program is told of all this. */
  ordersFor(venues: readonly string[]) {
    const endpoints = Object.fromEntries(venues.map((venue) => [venue, this.simulator.endpoints(venue)]));
    return { endpoints, postgresUrl: this.postgres.url, folder: join(this.folder, 'data') };
  }

  async restartPostgres(): Promise<void> {
    const { port } = new URL(this.postgres.url);
    this.postgres = await startPostgres({ folder: join(this.folder, 'postgres'), port: Number(port) });
  }

  async query<R extends pg.QueryResultRow>(text: string): Promise<R[]> {
    const client = new pg.Client({
      ...{ connectionString: this.postgres.url, connectionTimeoutMillis: 2_000, options: '-c timezone=UTC' },
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return (await client.query<R>(text)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  /** Waits until a query finds enough. */
  async untilRows(sql: string, isEnough: (rows: number) => boolean, more: () => string = () => ''): Promise<void> {
    let found: number | undefined;
    let asking: Promise<void> | undefined;
    const ask = async () => {
      found = await this.query(sql).then(
        (rows) => rows.length,
        () => undefined,
      );
      asking = undefined;
    };
    await until(
      () => {
        asking ??= ask();
        return found !== undefined && isEnough(found);
      },
      () => `${found} rows of ${sql} ${more()}`,
    );
    await asking;
  }
}
