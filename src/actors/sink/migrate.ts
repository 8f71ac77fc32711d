import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import type pg from 'pg';
import { TapeworksError } from '../../protocols/errors/index.ts';

export interface Migration {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/** Any number that no other program is likely to take as its lock. */
const LOCK = 7_281_904_417n;

const MIGRATIONS_TABLE =
  'CREATE TABLE tapeworks_migrations (name text PRIMARY KEY, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())';

/** The `NNNN_name.sql` files of a folder, in order. */
export function readMigrations(folder: URL = new URL('./migrations/', import.meta.url)): readonly Migration[] {
  return readdirSync(folder)
    .filter((name) => /^\d{4}_\w+\.sql$/.test(name))
    .sort()
    .map((name) => {
      const sql = readFileSync(new URL(name, folder), 'utf8');
      return { name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    });
}

/**
 * Applies what is missing, each file in a transaction of its own. Kernels that start together take turns on a lock. A
 * file that changed after it was applied is refused: the database would not be what the file says.
 */
export async function migrate(client: pg.ClientBase, migrations: readonly Migration[]): Promise<readonly string[]> {
  await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    // A role that may only read and insert can run on tables that someone else has made.
    const { rows: known } = await client.query("SELECT 1 WHERE to_regclass('tapeworks_migrations') IS NOT NULL");
    if (known.length === 0) await client.query(MIGRATIONS_TABLE);
    const { rows } = await client.query<{ name: string; checksum: string }>(
      'SELECT name, checksum FROM tapeworks_migrations',
    );
    const applied = new Map(rows.map((row) => [row.name, row.checksum]));
    const fresh = migrations.filter((migration) => !applied.has(migration.name));
    for (const { name, checksum } of migrations) {
      if ((applied.get(name) ?? checksum) !== checksum) {
        throw new TapeworksError('TW_MIGRATION_CHANGED', `${name} was changed after it was applied to this database`);
      }
    }
    for (const migration of fresh) await apply(client, migration);
    return fresh.map((migration) => migration.name);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [LOCK]);
  }
}

async function apply(client: pg.ClientBase, { name, sql, checksum }: Migration): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(sql);
    await client.query('INSERT INTO tapeworks_migrations (name, checksum) VALUES ($1, $2)', [name, checksum]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}
