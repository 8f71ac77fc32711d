import { join } from 'node:path';
import { type DamageNote, QUARANTINE, setAside } from './damage-notes.ts';
import type { SpillFs } from './file-system.ts';
import { type SegmentScan, scanSegment } from './segment-scan.ts';

// Start-up over whatever is in the folder. It repairs what a crash leaves (a torn tail), sets aside what it cannot
// explain (damage-notes.ts), counts what is gone, and goes on: a damaged file neither stops the kernel nor passes unseen.
//
//   00000000000000000042.open       being written, or left by a crash
//   00000000000000000042.1817.seg   finished, with 1,817 records: a cut-off file still says how many there were

export const SEGMENT_NAME = /^(\d{20})\.(?:open|(\d+)\.seg)$/;

export interface Segment {
  readonly sequence: bigint;
  name: string;
  records: number;
  /** Bytes that hold whole records; anything beyond is not ours to read. */
  bytes: number;
  oldestEntryId: string | undefined;
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
  return { segments, nextSequence: await nextSequence(fs, folder, names, segments), damage, unreadable };
}

/** Above every number that a file, its header or a note in the quarantine has had: none is ever used twice. */
async function nextSequence(
  fs: SpillFs,
  folder: string,
  names: readonly string[],
  segments: readonly Segment[],
): Promise<bigint> {
  const noted = (await fs.list(join(folder, QUARANTINE))).filter((name) => /^\d{20}\./.test(name));
  const used = [...names, ...noted].map((name) => BigInt(name.slice(0, 20)));
  const rising = [...used, ...segments.map(({ sequence }) => sequence)].sort((one, other) => (one < other ? -1 : 1));
  return (rising.at(-1) ?? -1n) + 1n;
}

async function recoverSegment(
  fs: SpillFs,
  folder: string,
  name: string,
): Promise<{ segment: Segment | undefined; note: DamageNote | undefined; trouble: string | undefined }> {
  const path = join(folder, name);
  const scan = await scanSegment(fs, path);
  const found = damageIn(name, scan);
  let note: DamageNote | undefined;
  let trouble: string | undefined;
  if (found !== undefined) {
    try {
      note = await setAside(fs, folder, found);
    } catch (error) {
      // A full disk may refuse the copy; the records that are whole are replayed all the same.
      note = { ...found, id: name };
      trouble = `its damage could not be set aside: ${(error as Error).message}`;
    }
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

/** What is wrong with a segment, if anything. */
export function damageIn(name: string, scan: SegmentScan): Omit<DamageNote, 'id'> | undefined {
  // The seal is the file's own word and cannot have changed places with another's, as a name can.
  const promised = scan.sealedCount ?? Number(SEGMENT_NAME.exec(name)?.[2] ?? scan.ordinals);
  const lost = Math.max(0, promised - scan.records, scan.ordinals - scan.records);
  const isOpen = name.endsWith('.open');
  if (lost === 0 && scan.damaged.length === 0) {
    if (!isOpen) return undefined;
    const after = scan.lastEntryId === undefined ? {} : { after: scan.lastEntryId };
    return { segment: name, kind: 'open', lost, bytes: 0, ranges: [], ...after };
  }
  const onlyTail = scan.damaged.every((range) => range.to === scan.bytes && range.from >= scan.wholeBytes);
  const bytes = scan.damaged.reduce((sum, range) => sum + range.to - range.from, 0);
  const kind = isOpen && lost === 0 && onlyTail ? 'torn' : 'damaged';
  return { segment: name, kind, lost, bytes, ranges: scan.damaged };
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
