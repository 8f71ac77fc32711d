import type { EventRow } from '../../protocols/ingest.ts';
import type { KernelIngestSettings } from '../../protocols/topology.ts';
import { wallClockNs } from '../../protocols/wall-clock.ts';
import type { EventStore } from '../sink/event-writer.ts';
import { classifyFailure } from '../sink/sqlstate.ts';
import { olderOf } from '../spill/segment-scan.ts';
import type { SpillStore } from '../spill/spill-store.ts';
import { decodeEntries } from './decode-entries.ts';
import type { RedisStream } from './redis-stream.ts';

const CHUNK = 1_000;

/**
 * After damage to the spill: offers every entry that the stream still holds and that is no longer pending to Postgres
 * once more. Those that are stored collide and count for nothing; what is inserted had been lost with the damaged bytes.
 * Nothing was trimmed meanwhile, because trimming stops at what is only in the spill, and altogether while damage is open.
 */
export async function refetchLost(
  redis: RedisStream,
  store: EventStore,
  spill: SpillStore,
  stream: string,
  settings: KernelIngestSettings,
): Promise<number> {
  const notes = await spill.pendingDamage();
  if (notes.length === 0) return 0;
  const { lastDelivered } = await redis.facts();
  // A note that tells after which entry something may be missing saves the way through all that lies before.
  const after = notes.every((note) => note.after !== undefined) ? notes.map((note) => note.after) : [undefined];
  const oldest = after.reduce(olderOf);
  let from = oldest === undefined ? '-' : `(${oldest}`;
  let recovered = 0;
  for (;;) {
    const entries = await redis.range(from, lastDelivered, CHUNK);
    if (entries.length === 0) break;
    from = `(${entries.at(-1)!.id}`;
    const { rows } = decodeEntries(entries, wallClockNs(), () => 1, stream, settings);
    const settled = await withoutPending(redis, rows);
    recovered += await stored(store, settled);
  }
  await spill.settleDamage(notes, recovered);
  return recovered;
}

/** Stores what is not there yet. A row that Postgres refused before is refused again; it has its dead letter. */
async function stored(store: EventStore, rows: readonly EventRow[]): Promise<number> {
  try {
    return (await store.write(rows)).inserted;
  } catch (error) {
    if (classifyFailure(error).class !== 'data') throw error;
    if (rows.length <= 1) return 0;
    const half = rows.length >> 1;
    return (await stored(store, rows.slice(0, half))) + (await stored(store, rows.slice(half)));
  }
}

async function withoutPending(redis: RedisStream, rows: readonly EventRow[]): Promise<readonly EventRow[]> {
  if (rows.length === 0) return rows;
  const pending = await redis.pendingBetween(rows[0]!.entryId, rows.at(-1)!.entryId, rows.length);
  return pending.size === 0 ? rows : rows.filter((row) => !pending.has(row.entryId));
}
