import { join } from 'node:path';
import { diskFs } from '../src/actors/spill/file-system.ts';
import { SpillStore } from '../src/actors/spill/spill-store.ts';
import { decodeEnvelope, isRefusal } from '../src/protocols/envelope.ts';
import type { EventRow } from '../src/protocols/ingest.ts';
import { type BenchOptions, median, ROUNDS } from './harness.ts';
import { emptied, makeEvents, openWriter, rowsOf, type Servers } from './ingest.servers.ts';

const EVENTS = 20_000;
const CHUNK = 2_000;

/** Spilled segments back into Postgres: read, checked, decoded, stored, erased. The median of 15 segments. */
export async function measureReplay(servers: Servers, options: BenchOptions): Promise<void> {
  await emptied(servers);
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    rates.push(await replayOnce(servers, join(servers.folder, `replay-${round}`), rowsOf(makeEvents(EVENTS, round))));
  }
  options.report('replay', median(rates), 'events/s');
}

async function replayOnce(servers: Servers, folder: string, rows: readonly EventRow[]): Promise<number> {
  const spill = await SpillStore.open({
    ...{ folder, fs: diskFs, segmentBytes: 16 << 20, segmentAgeMs: 60_000, bytesMax: 2 ** 40, freeBytesMin: 0 },
    nowSeconds: () => 0,
    reached: () => undefined,
  });
  for (let at = 0; at < rows.length; at += CHUNK) {
    await spill.append(rows.slice(at, at + CHUNK).map(({ event, ...row }) => ({ ...row, envelope: event.raw })));
  }
  const store = openWriter(servers.postgresUrl);
  await store.prepare();
  const started = performance.now();
  for (;;) {
    const chunk = await spill.nextChunk(CHUNK);
    if (chunk === undefined) break;
    const replayed = chunk.records.flatMap(({ envelope, ...record }) => {
      const event = decodeEnvelope(envelope);
      return isRefusal(event) ? [] : [{ ...record, event }];
    });
    await store.write(replayed);
    await spill.commit(chunk);
  }
  const seconds = (performance.now() - started) / 1_000;
  await store.close();
  return rows.length / seconds;
}
