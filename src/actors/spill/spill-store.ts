import { join } from 'node:path';
import { TapeworksError } from '../../protocols/errors/index.ts';
import {
  encodeHeader,
  encodeRecords,
  encodeSeal,
  HEADER_BYTES,
  recordBytes,
  SEAL_BYTES,
  type SpillRecord,
} from '../../protocols/spill-layout.ts';
import { Turns } from '../../supervision/turns.ts';
import { advanceNote, type DamageNote, dropNote, readNotes, shareOut } from './damage-notes.ts';
import type { SpillFile, SpillFs } from './file-system.ts';
import { recoverFolder, type Segment, segmentName } from './recovery.ts';
import { olderOf, type SegmentItem, segmentItems } from './segment-scan.ts';

// Batches that Postgres could not take, on the disk before anyone acknowledges them.
//
//   append: tail segment   no segment --create, header, fsync, fsync folder--> open --write, fdatasync--> open
//                          open --64 MiB or replay wants it--> sealed (name says its count)
//   replay: head segment   oldest sealed --chunk by chunk--> all committed --unlink, fsync folder--> gone
//
// There is no file that says how far replay came: after a crash the head is offered again from its start, and the
// unique key in Postgres absorbs what was stored.

export interface SpillOptions {
  readonly folder: string;
  readonly fs: SpillFs;
  /** A segment of this size, or this old, is sealed after the next append. */
  readonly segmentBytes: number;
  readonly segmentAgeMs: number;
  /** All segments of all stores together; at this size appends are refused. */
  readonly bytesMax: number;
  /** What the stores of other streams hold. */
  bytesElsewhere?(): number;
  /** What must stay free on the disk. */
  readonly freeBytesMin: number;
  nowSeconds(): number;
  /** Told at the named points of a write; tests end the process there. */
  reached(point: SpillPoint): void;
}

export type SpillPoint =
  | 'spill-mid-write'
  | 'spill-before-sync'
  | 'spill-after-sync'
  | 'replay-before-unlink'
  | 'replay-after-unlink';

export type SpillInput = Omit<SpillRecord, 'ordinal'>;

/** A part of the head segment, in order. */
export interface SpillChunk {
  readonly records: readonly SpillRecord[];
  readonly segment: string;
  /** After this chunk's commit nothing of the segment is left to store. */
  readonly endsSegment: boolean;
}

interface Tail {
  readonly segment: Segment;
  readonly file: SpillFile;
  readonly createdSeconds: number;
}

/** The segment that is being replayed: its records, the next of them, and how many are stored. */
interface Head {
  readonly segment: Segment;
  readonly items: AsyncGenerator<SegmentItem>;
  next: SpillRecord | undefined;
  committed: number;
}

export class SpillStore {
  readonly #options: SpillOptions;
  readonly #segments: Segment[];
  #nextSequence: bigint;
  #tail: Tail | undefined;
  #head: Head | undefined;
  /** Appends and seals touch the same file, so each waits for the one before it. */
  readonly #turns = new Turns();
  readonly damage: readonly DamageNote[];
  readonly unreadable: readonly string[];

  private constructor(
    options: SpillOptions,
    segments: Segment[],
    nextSequence: bigint,
    found: { damage: readonly DamageNote[]; unreadable: readonly string[] },
  ) {
    this.#options = options;
    this.#segments = segments;
    this.#nextSequence = nextSequence;
    this.damage = found.damage;
    this.unreadable = found.unreadable;
  }

  /** Opens the folder and repairs what a crash left. What is in the files never makes it throw. */
  static async open(options: SpillOptions): Promise<SpillStore> {
    await options.fs.makeFolder(options.folder);
    const { segments, nextSequence, ...found } = await recoverFolder(options.fs, options.folder);
    return new SpillStore(options, segments, nextSequence, found);
  }

  /** Records on the disk that are not known to be stored. */
  get records(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.records, 0);
  }

  get bytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.bytes, 0);
  }

  get segments(): number {
    return this.#segments.length;
  }

  /** The entry that trimming must not pass: the oldest one that is only on this disk. */
  get oldestEntryId(): string | undefined {
    return this.#segments.reduce<string | undefined>(
      (oldest, segment) => olderOf(oldest, segment.oldestEntryId),
      undefined,
    );
  }

  /** Returns once the batch is on the disk. A refusal (full, broken) leaves nothing that was promised. */
  append(batch: readonly SpillInput[]): Promise<void> {
    return this.#turns.take(() => this.#append(batch));
  }

  async #append(batch: readonly SpillInput[]): Promise<void> {
    if (batch.length === 0) return;
    const size = batch.reduce((sum, record) => sum + recordBytes(record.envelope.length), 0);
    await this.#checkRoom(size);
    try {
      await this.#appendToTail(batch);
    } catch (error) {
      // A file whose sync failed may have dropped the pages it claims to hold: it is never synced again. The batch goes
      // to a new segment; what the old one synced before stays good.
      await this.#abandonTail();
      try {
        await this.#appendToTail(batch);
      } catch (second) {
        await this.#abandonTail();
        throw refusal(second, error);
      }
    }
    if (this.#isFinished(this.#tail)) await this.#seal();
  }

  #isFinished(tail: Tail | undefined): boolean {
    if (tail === undefined) return false;
    const { segmentBytes, segmentAgeMs, nowSeconds } = this.#options;
    return tail.segment.bytes >= segmentBytes || (nowSeconds() - tail.createdSeconds) * 1_000 >= segmentAgeMs;
  }

  async #checkRoom(size: number): Promise<void> {
    const { bytesMax, freeBytesMin, fs, folder } = this.#options;
    // Every segment ends in a seal, and a new one starts with a header.
    const wanted = size + HEADER_BYTES + SEAL_BYTES;
    const held = this.bytes + (this.#options.bytesElsewhere?.() ?? 0);
    if (held + wanted > bytesMax) {
      throw new TapeworksError('TW_SPILL_FULL', `the spill holds ${held} of ${bytesMax} bytes`);
    }
    const free = await fs.freeBytes(folder);
    if (free - wanted < freeBytesMin) {
      throw new TapeworksError(
        'TW_SPILL_FULL',
        `${free} bytes are free on the spill's disk, ${freeBytesMin} must stay`,
      );
    }
  }

  async #appendToTail(batch: readonly SpillInput[]): Promise<void> {
    this.#tail ??= await this.#createTail();
    const { segment, file } = this.#tail;
    const first = segment.records;
    const bytes = encodeRecords(batch.map((record, at) => ({ ...record, ordinal: first + at })));
    const half = bytes.length >> 1;
    await file.append(bytes.subarray(0, half));
    this.#options.reached('spill-mid-write');
    await file.append(bytes.subarray(half));
    this.#options.reached('spill-before-sync');
    await file.datasync();
    this.#options.reached('spill-after-sync');
    segment.records += batch.length;
    segment.bytes += bytes.length;
    for (const record of batch) segment.oldestEntryId = olderOf(segment.oldestEntryId, record.entryId);
  }

  async #createTail(): Promise<Tail> {
    const { fs, folder, nowSeconds } = this.#options;
    const sequence = this.#nextSequence++;
    const createdSeconds = nowSeconds();
    const name = segmentName(sequence);
    const file = await fs.create(join(folder, name));
    try {
      await file.append(encodeHeader(sequence, createdSeconds));
      await file.sync();
      await fs.syncFolder(folder);
    } catch (error) {
      await file.close().catch(() => undefined);
      await fs.remove(join(folder, name)).catch(() => undefined);
      throw error;
    }
    const segment: Segment = { sequence, name, records: 0, bytes: HEADER_BYTES, oldestEntryId: undefined };
    this.#segments.push(segment);
    return { segment, file, createdSeconds };
  }

  /** Leaves the tail as it is on the disk, cut back to its last promise where the disk still allows it. */
  async #abandonTail(): Promise<void> {
    const tail = this.#tail;
    if (tail === undefined) return;
    this.#tail = undefined;
    await tail.file.truncate(tail.segment.bytes).catch(() => undefined);
    await tail.file.close().catch(() => undefined);
    if (tail.segment.records === 0) await this.#forget(tail.segment).catch(() => undefined);
  }

  /** Finishes the segment that is being written, so that it can be replayed. */
  seal(): Promise<void> {
    return this.#turns.take(() => this.#seal());
  }

  async #seal(): Promise<void> {
    const tail = this.#tail;
    if (tail === undefined) return;
    this.#tail = undefined;
    const { fs, folder } = this.#options;
    try {
      await tail.file.append(encodeSeal(tail.segment.records));
      await tail.file.sync();
      const name = segmentName(tail.segment.sequence, tail.segment.records);
      await fs.rename(join(folder, tail.segment.name), join(folder, name));
      tail.segment.name = name;
      await fs.syncFolder(folder);
    } catch {
      // Without its seal the segment is as good: its records were synced one batch at a time.
    } finally {
      await tail.file.close().catch(() => undefined);
    }
  }

  /** The next records to store, oldest first; undefined when the spill is empty. */
  async nextChunk(recordsMax: number): Promise<SpillChunk | undefined> {
    const segment = this.#head?.segment ?? this.#segments[0];
    if (segment === undefined) return undefined;
    // In turn with appends: one that is just sealing the segment gives it another name.
    await this.#turns.take(() => (segment === this.#tail?.segment ? this.#seal() : Promise.resolve()));
    const { fs, folder } = this.#options;
    this.#head ??= {
      segment,
      items: segmentItems(fs, join(folder, segment.name), segment.bytes),
      next: undefined,
      committed: 0,
    };
    const head = this.#head;
    const records: SpillRecord[] = [];
    // One record more than is wanted, so that a chunk knows whether it is the last of its segment.
    for (;;) {
      if (head.next !== undefined) records.push(head.next);
      head.next = await nextRecord(head.items);
      const endsSegment = head.next === undefined;
      if (endsSegment || records.length >= recordsMax) return { records, segment: segment.name, endsSegment };
    }
  }

  /** Says that every record of the chunk is stored or dead-lettered. Erases the segment with its last chunk. */
  async commit(chunk: SpillChunk): Promise<void> {
    const head = this.#head;
    if (head === undefined || head.segment.name !== chunk.segment) return;
    head.segment.records -= chunk.records.length;
    head.committed += chunk.records.length;
    if (!chunk.endsSegment) return;
    this.#head = undefined;
    this.#options.reached('replay-before-unlink');
    await this.#forget(head.segment);
  }

  async #forget(segment: Segment): Promise<void> {
    const { fs, folder } = this.#options;
    this.#segments.splice(this.#segments.indexOf(segment), 1);
    await fs.remove(join(folder, segment.name));
    this.#options.reached('replay-after-unlink');
    await fs.syncFolder(folder);
  }

  /** Forgets how far replay came: the head segment will be offered again from its start. */
  rewind(): void {
    if (this.#head !== undefined) this.#head.segment.records += this.#head.committed;
    this.#head = undefined;
  }

  /** Damage whose entries were not yet looked for in Redis; while there is any, nothing may be trimmed there. */
  async pendingDamage(): Promise<readonly DamageNote[]> {
    const notes = await readNotes(this.#options.fs, this.#options.folder);
    return notes.filter(({ state }) => state === 'pending').map(({ note }) => note);
  }

  /** Damage that a person has not looked at yet. A torn tail that cost nothing is no damage. */
  async unacknowledgedDamage(): Promise<readonly DamageNote[]> {
    const notes = await readNotes(this.#options.fs, this.#options.folder);
    return notes
      .filter(({ state, note }) => state !== 'acknowledged' && note.kind === 'damaged')
      .map(({ note }) => note);
  }

  /** Notes that Redis was searched for what these notes tell of, and that `recovered` entries were stored. */
  async settleDamage(notes: readonly DamageNote[], recovered: number): Promise<void> {
    const { fs, folder } = this.#options;
    for (const [note, share] of shareOut(notes, recovered)) {
      const harmless = note.kind !== 'damaged' && share === 0;
      if (harmless && note.kind === 'open') {
        await dropNote(fs, folder, note);
        continue;
      }
      const settled: DamageNote = { ...note, kind: harmless ? note.kind : 'damaged', recovered: share };
      await advanceNote(fs, folder, settled, 'pending', harmless ? 'acknowledged' : 'settled');
    }
  }
}

async function nextRecord(items: AsyncGenerator<SegmentItem>): Promise<SpillRecord | undefined> {
  for (;;) {
    const { value, done } = await items.next();
    if (done) return undefined;
    if (value.kind === 'record') return value.record;
  }
}

function refusal(error: unknown, first: unknown): TapeworksError {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  const full = code === 'ENOSPC' || code === 'EDQUOT';
  const said = error instanceof Error ? error.message : String(error);
  return new TapeworksError(
    full ? 'TW_SPILL_FULL' : 'TW_SPILL_BROKEN',
    full ? `the spill's disk is full: ${said}` : `the spill cannot be written: ${said} (before that: ${String(first)})`,
    {},
    { cause: error },
  );
}
