import { parseDeadLetter } from '../../src/protocols/dead-letter.ts';
import { ledgerOf } from '../../src/protocols/ingest-snapshot.ts';
import { uuidToUlid } from '../../src/protocols/ulid.ts';
import { SOURCE } from '../ingest/load.ts';
import { canonical, digest } from './producer.ts';
import type { World } from './world.ts';

/** What the oracle finds wrong; all 0 when nothing acknowledged was lost, doubled, invented, spoiled or overtaken. */
export interface Verdict {
  readonly missing: number;
  readonly duplicate: number;
  readonly spurious: number;
  readonly corrupt: number;
  readonly dlq_gap: number;
  readonly balance: number;
  readonly pending: number;
  /** Events of a connection that were stored before an older one of the same connection. */
  readonly disorder: number;
}

export const FLAWLESS: Verdict = {
  ...{ missing: 0, duplicate: 0, spurious: 0, corrupt: 0, dlq_gap: 0, balance: 0, pending: 0, disorder: 0 },
};

export const spell = (verdict: Verdict): string =>
  Object.entries(verdict)
    .map(([name, count]) => `${name} ${count}`)
    .join(' ');

export interface StoredRow {
  readonly id: string;
  readonly connection: string;
  readonly payload: { readonly sequence: number };
  /** The transaction that stored it. One connection to Postgres serves a stream, so they rise in the order of commits. */
  readonly transaction: number;
}

/** How many rows were committed before an older row of their connection. */
export function disorderIn(rows: readonly StoredRow[]): number {
  const latest = new Map<string, number>();
  let count = 0;
  for (const row of [...rows].sort((one, other) => one.payload.sequence - other.payload.sequence)) {
    const before = latest.get(row.connection) ?? 0;
    if (row.transaction < before) count++;
    latest.set(row.connection, Math.max(before, row.transaction));
  }
  return count;
}

/** Compares the producer's journal with Postgres, the dead-letter stream and the ledger. */
export class Oracle {
  readonly #world: World;
  /** Rows that earlier judgements have seen; from then on only their number is looked at. */
  #judged = 0;

  constructor(world: World) {
    this.#world = world;
  }

  async judge(): Promise<Verdict> {
    const { good, bad } = this.#world.producer;
    const { rows, earlier } = await this.#stored();
    const stored = new Map(rows.map((row) => [row.id, row.payload]));
    const missing = [...good].filter(([id, record]) => record.acked && !stored.has(id)).length;
    const spurious = [...stored.keys()].filter((id) => !good.has(id)).length;
    const corrupt = [...stored].filter(
      ([id, payload]) => good.has(id) && good.get(id)!.payload !== digest(canonical(payload)),
    ).length;
    const letters = await this.#letters();
    const gaps = bad.filter(({ stream, entryId, code, raw }) => {
      const letter = letters.get(`${stream}/${entryId}`);
      return letter?.code !== code || letter.raw !== raw;
    });
    return {
      missing: missing + Math.max(0, this.#judged - earlier),
      duplicate: rows.length - stored.size,
      spurious: spurious + Math.max(0, earlier - this.#judged),
      corrupt,
      dlq_gap: gaps.length,
      balance: await this.#imbalance(),
      pending: await this.#world.pending(),
      disorder: disorderIn(rows),
    };
  }

  /** Begins a new page of the journal: what was judged is not read again. */
  async turnPage(): Promise<void> {
    const { producer, client } = this.#world;
    await producer.turnPage();
    const [found] = await this.#world.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM events WHERE source = '${SOURCE}'`,
    );
    this.#judged = found!.n;
    await client.del(this.#world.deadLetters);
  }

  async #stored(): Promise<{ rows: readonly StoredRow[]; earlier: number }> {
    const { pageFrom } = this.#world.producer;
    const ours = `FROM events WHERE source = '${SOURCE}' AND ts_event`;
    const rows = await this.#world.query<StoredRow>(
      `SELECT id, connection_id AS connection, payload, xmin::text::int AS transaction ${ours} >= ${pageFrom}`,
    );
    const [old] = await this.#world.query<{ n: number }>(`SELECT count(*)::int AS n ${ours} < ${pageFrom}`);
    return { rows: rows.map((row) => ({ ...row, id: uuidToUlid(row.id) })), earlier: old!.n };
  }

  /** A ledger that cannot be read is no balance. */
  async #imbalance(): Promise<number> {
    const facts = await this.#world.facts();
    return facts.reduce((sum, found) => {
      const ledger = ledgerOf({ facts: found, spill: { records: 0, bytes: 0, segments: 0 } });
      return sum + Math.abs(ledger?.balance ?? 1);
    }, 0);
  }

  async #letters(): Promise<Map<string, { code: string; raw: string }>> {
    const found = new Map<string, { code: string; raw: string }>();
    let from = '-';
    for (;;) {
      const entries = await this.#world.client.xrangeBuffer(this.#world.deadLetters, from, '+', 'COUNT', 200);
      if (entries.length === 0) return found;
      for (const [, fields] of entries) {
        const letter = parseDeadLetter(fields);
        if (letter !== undefined)
          found.set(`${letter.stream}/${letter.entryId}`, { code: letter.code, raw: digest(letter.raw) });
      }
      from = `(${entries.at(-1)![0].toString()}`;
    }
  }
}
