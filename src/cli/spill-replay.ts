import { statesIn } from '../actors/kline-persistence/bar-spill.ts';
import { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { namedBars, progressOf } from '../actors/kline-persistence/symbol-state.ts';
import { EventWriter } from '../actors/sink/event-writer.ts';
import { classifyFailure } from '../actors/sink/sqlstate.ts';
import { diskFs } from '../actors/spill/file-system.ts';
import { lockFolder } from '../actors/spill/folder-lock.ts';
import { type SpillChunk, SpillStore } from '../actors/spill/spill-store.ts';
import { BARS_LANE } from '../actors/spill/yard.ts';
import { decodeEnvelope, isRefusal } from '../protocols/envelope.ts';
import { TapeworksError } from '../protocols/errors/index.ts';

const REPLAY_ROWS = 2_000;
const TIMEOUTS = { statementTimeoutMs: 60_000, queryTimeoutMs: 70_000, lockTimeoutMs: 10_000, partitionsAhead: 7 };

export interface LaneFolder {
  readonly stream: string;
  readonly path: string;
}

export interface ReplayedLane {
  readonly stream: string;
  readonly records: number;
  readonly duplicates: number;
}

/** Stores the segments of all lanes without a kernel, which must not run meanwhile, and tells of each lane when it is done. */
export async function* replayLanes(
  folder: string,
  lanes: readonly LaneFolder[],
  database: () => Promise<string>,
): AsyncGenerator<ReplayedLane> {
  const held = [folder, ...lanes.flatMap(({ stream, path }) => (stream === BARS_LANE ? [path] : []))];
  const unlocks: (() => void)[] = [];
  try {
    for (const path of held) unlocks.push(lockFolder(path));
    yield* storeLanes(lanes, await database());
  } finally {
    for (const unlock of unlocks) unlock();
  }
}

async function* storeLanes(lanes: readonly LaneFolder[], url: string): AsyncGenerator<ReplayedLane> {
  const warn = (text: string) => void process.stderr.write(`${text}\n`);
  const writer = new EventWriter({ url, connectTimeoutMs: 5_000, settings: TIMEOUTS, reached: () => undefined, warn });
  const link = new StoreLink({ url, prepares: true, nowUs: () => BigInt(Date.now()) * 1000n });
  try {
    for (const { stream, path } of lanes) {
      if (stream !== BARS_LANE) await writer.prepare();
      const keep = (chunk: SpillChunk) => (stream === BARS_LANE ? keepBars(link, chunk) : keepEvents(writer, chunk));
      yield { stream, ...(await replayed(path, keep)) };
    }
  } finally {
    await Promise.all([writer.close(), link.close()]);
  }
}

/** Stores a part of a segment; the answer is how many were stored before. */
type Keep = (chunk: SpillChunk) => Promise<number>;

async function keepEvents(writer: EventWriter, { records }: SpillChunk): Promise<number> {
  const rows = records.map(({ envelope, ...record }) => {
    const event = decodeEnvelope(envelope, Number.POSITIVE_INFINITY, 512);
    if (isRefusal(event)) throw unstorable(record.entryId, `${event.code} ${event.reason}`);
    return { ...record, event };
  });
  try {
    return (await writer.write(rows)).duplicates;
  } catch (error) {
    const { class: kind, reason } = classifyFailure(error);
    throw kind === 'data' ? unstorable(`${rows[0]?.entryId} to ${rows.at(-1)?.entryId}`, reason) : error;
  }
}

const unstorable = (entries: string, reason: string) =>
  new TapeworksError('TW_SPILL_UNSTORABLE', `the record of entry ${entries} cannot be stored: ${reason}`);

async function keepBars(link: StoreLink, { records }: SpillChunk): Promise<number> {
  const states = statesIn(records);
  await link.use((store) => store.write(namedBars(states), progressOf(states)));
  return 0;
}

async function replayed(folder: string, keep: Keep): Promise<{ records: number; duplicates: number }> {
  const store = await SpillStore.open({
    ...{ folder, fs: diskFs, segmentBytes: 1 << 26, segmentAgeMs: 60_000 },
    ...{ bytesMax: Number.MAX_SAFE_INTEGER, freeBytesMin: 0 },
    nowSeconds: () => Math.floor(Date.now() / 1_000),
    reached: () => undefined,
  });
  const total = store.records;
  const sum = { records: 0, duplicates: 0 };
  for (;;) {
    const chunk = await store.nextChunk(REPLAY_ROWS);
    if (chunk === undefined) return sum;
    sum.duplicates += await keep(chunk);
    await store.commit(chunk);
    sum.records += chunk.records.length;
    if (process.stderr.isTTY) process.stderr.write(`${sum.records} of ${total}\r`);
  }
}
