import { join } from 'node:path';
import type { SpillFs } from './file-system.ts';
import { type DamagedRange, type SegmentScan, scanSegment } from './segment-scan.ts';

// Start-up over whatever is in the folder. It repairs what a crash leaves (a torn tail), sets aside what it cannot
// explain (quarantine), counts what is gone, and goes on: a damaged file neither stops the kernel nor passes unseen.
//
//   00000000000000000042.open       being written, or left by a crash
//   00000000000000000042.1817.seg   finished, with 1,817 records: a cut-off file still says how many there were
//   quarantine/NAME.FROM-TO.bytes   damaged bytes, kept for a person to look at
//   quarantine/NAME.pending.json    what was lost from NAME; entries are to be fetched from Redis again
//   quarantine/NAME.settled.json    fetched again as far as Redis had them; red until acknowledged
//   quarantine/NAME.acknowledged.json

export const QUARANTINE = 'quarantine';
export const SEGMENT_NAME = /^(\d{20})\.(?:open|(\d+)\.seg)$/;
const COPY_BYTES = 1024 * 1024;

export interface Segment {
  readonly sequence: bigint;
  name: string;
  records: number;
  /** Bytes that hold whole records; anything beyond is not ours to read. */
  bytes: number;
  oldestEntryId: string | undefined;
}

/** What start-up found wrong with one file. */
export interface DamageNote {
  readonly segment: string;
  /** `torn`: only the tail of a file that was being written, which a crash explains. */
  readonly kind: 'torn' | 'damaged';
  /** Records that were made durable and are gone; exact where the name, the seal or the ordinals tell it. */
  readonly lost: number;
  readonly bytes: number;
  readonly ranges: readonly DamagedRange[];
  /** Set once the missing entries were looked for in Redis: how many of them were found and stored. */
  readonly recovered?: number;
}

export interface Recovery {
  readonly segments: Segment[];
  readonly nextSequence: bigint;
  readonly damage: readonly DamageNote[];
  /** Files that could not be handled at all, with the reason. */
  readonly unreadable: readonly string[];
}

export const segmentName = (sequence: bigint, count?: number) =>
  `${String(sequence).padStart(20, '0')}.${count === undefined ? 'open' : `${count}.seg`}`;

export async function recoverFolder(fs: SpillFs, folder: string): Promise<Recovery> {
  await fs.makeFolder(join(folder, QUARANTINE));
  const names = [...(await fs.list(folder))].filter((name) => SEGMENT_NAME.test(name)).sort();
  const segments: Segment[] = [];
  const unreadable: string[] = [];
  const damage: DamageNote[] = [];
  for (const name of names) {
    try {
      const { segment, note, trouble } = await recoverSegment(fs, folder, name);
      if (trouble !== undefined) unreadable.push(`${name}: ${trouble}`);
      if (segment !== undefined) segments.push(segment);
      if (note !== undefined) damage.push(note);
    } catch (error) {
      unreadable.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  // By the number inside the file: files whose names were swapped still replay in the order they were written.
  segments.sort((left, right) => (left.sequence < right.sequence ? -1 : left.sequence > right.sequence ? 1 : 0));
  const highest = names.reduce(
    (most, name) => (BigInt(name.slice(0, 20)) > most ? BigInt(name.slice(0, 20)) : most),
    -1n,
  );
  return { segments, nextSequence: highest + 1n, damage, unreadable };
}

async function recoverSegment(
  fs: SpillFs,
  folder: string,
  name: string,
): Promise<{ segment: Segment | undefined; note: DamageNote | undefined; trouble: string | undefined }> {
  const path = join(folder, name);
  const scan = await scanSegment(fs, path);
  const note = damageIn(name, scan);
  let trouble: string | undefined;
  if (note !== undefined) {
    // A full disk may refuse the copy; the records that are whole are replayed all the same.
    trouble = await setAside(fs, folder, note).catch(
      (error: Error) => `its damage could not be set aside: ${error.message}`,
    );
  }
  if (scan.records === 0 && trouble === undefined) {
    await fs.remove(path);
    await fs.syncFolder(folder);
    return { segment: undefined, note, trouble };
  }
  if (note?.kind === 'torn') {
    // Only tidiness: reading stops at the last whole record, whether or not the disk lets go of what follows it.
    trouble ??= await cutTail(fs, path, scan.wholeBytes).catch(
      (error: Error) => `its torn tail stays: ${error.message}`,
    );
  }
  return {
    segment: {
      sequence: scan.sequence ?? BigInt(name.slice(0, 20)),
      name,
      records: scan.records,
      bytes: scan.wholeBytes,
      oldestEntryId: scan.oldestEntryId,
    },
    note,
    trouble,
  };
}

function damageIn(name: string, scan: SegmentScan): DamageNote | undefined {
  const promised = Number(SEGMENT_NAME.exec(name)?.[2] ?? scan.sealedCount ?? scan.ordinals);
  const lost = Math.max(0, promised - scan.records, scan.ordinals - scan.records);
  if (lost === 0 && scan.damaged.length === 0) return undefined;
  const onlyTail = scan.damaged.every((range) => range.to === scan.bytes && range.from >= scan.wholeBytes);
  const torn = name.endsWith('.open') && lost === 0 && onlyTail;
  const bytes = scan.damaged.reduce((sum, range) => sum + range.to - range.from, 0);
  return { segment: name, kind: torn ? 'torn' : 'damaged', lost, bytes, ranges: scan.damaged };
}

async function cutTail(fs: SpillFs, path: string, length: number): Promise<undefined> {
  const file = await fs.open(path);
  try {
    await file.truncate(length);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Copies the damaged bytes and writes the note, unless an earlier start did. */
async function setAside(fs: SpillFs, folder: string, note: DamageNote): Promise<undefined> {
  const quarantine = join(folder, QUARANTINE);
  const known = await fs.list(quarantine);
  if (known.some((name) => name.startsWith(`${note.segment}.`) && name.endsWith('.json'))) return;
  for (const range of note.ranges) {
    await copyRange(
      fs,
      join(folder, note.segment),
      range,
      join(quarantine, `${note.segment}.${range.from}-${range.to}.bytes`),
    );
  }
  await writeNote(fs, folder, note, 'pending');
}

async function copyRange(fs: SpillFs, from: string, range: DamagedRange, to: string): Promise<void> {
  const file = await fs.create(to);
  try {
    for (let at = range.from; at < range.to; at += COPY_BYTES) {
      await file.append(await fs.read(from, at, Math.min(COPY_BYTES, range.to - at)));
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

export type NoteState = 'pending' | 'settled' | 'acknowledged';

export async function writeNote(fs: SpillFs, folder: string, note: DamageNote, state: NoteState): Promise<void> {
  const quarantine = join(folder, QUARANTINE);
  const file = await fs.create(join(quarantine, `${note.segment}.${state}.json`));
  try {
    await file.append(Buffer.from(`${JSON.stringify(note)}\n`));
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.syncFolder(quarantine);
}

/** The notes in a folder, by state. A note that cannot be read counts as pending: better to look twice. */
export async function readNotes(fs: SpillFs, folder: string): Promise<{ note: DamageNote; state: NoteState }[]> {
  const quarantine = join(folder, QUARANTINE);
  const found: { note: DamageNote; state: NoteState }[] = [];
  for (const name of await fs.list(quarantine).catch(() => [])) {
    const match = /^(.*)\.(pending|settled|acknowledged)\.json$/.exec(name);
    if (match === null) continue;
    const path = join(quarantine, name);
    const text = (await fs.read(path, 0, Math.min(await fs.size(path), COPY_BYTES))).toString();
    try {
      found.push({ note: JSON.parse(text) as DamageNote, state: match[2] as NoteState });
    } catch {
      found.push({ note: { segment: match[1]!, kind: 'damaged', lost: 0, bytes: 0, ranges: [] }, state: 'pending' });
    }
  }
  return found;
}

/** Moves a note on to its next state. */
export async function advanceNote(
  fs: SpillFs,
  folder: string,
  note: DamageNote,
  from: NoteState,
  to: NoteState,
): Promise<void> {
  await writeNote(fs, folder, note, to);
  await fs.remove(join(folder, QUARANTINE, `${note.segment}.${from}.json`));
  await fs.syncFolder(join(folder, QUARANTINE));
}
