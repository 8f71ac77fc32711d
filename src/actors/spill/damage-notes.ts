import { join } from 'node:path';
import type { SpillFs } from './file-system.ts';
import type { DamagedRange } from './segment-scan.ts';

// What was found wrong with segments, in files of their own, so that it outlives restarts:
//
//   quarantine/ID.FROM-TO.bytes      damaged bytes, kept for a person to look at
//   quarantine/ID.pending.json       what was lost; the entries are to be looked for in Redis
//   quarantine/ID.settled.json       looked for; red until someone acknowledges it
//   quarantine/ID.acknowledged.json
//
// A note goes on by writing the next file before it removes the last one: where a crash leaves both, the later one counts.

export const QUARANTINE = 'quarantine';
const COPY_BYTES = 1024 * 1024;

/** What start-up found wrong with one file. */
export interface DamageNote {
  /** The segment's name, with a number behind it where an earlier note has that name. */
  readonly id: string;
  readonly segment: string;
  /**
   * `open`: whole as far as it can tell, but a crash left it, and bytes that a disk lost behind its last record would
   * leave no trace. `torn`: only the tail of a file that was being written, which a crash explains.
   */
  readonly kind: 'open' | 'torn' | 'damaged';
  /** Records that were made durable and are gone; exact where the name, the seal or the ordinals tell it. */
  readonly lost: number;
  readonly bytes: number;
  readonly ranges: readonly DamagedRange[];
  /** What may be lost came after this entry; undefined when it may be anywhere in the stream. */
  readonly after?: string;
  /** Set once the missing entries were looked for in Redis: how many of them were found and stored. */
  readonly recovered?: number;
}

const STATES = ['pending', 'settled', 'acknowledged'] as const;
export type NoteState = (typeof STATES)[number];

export interface FiledNote {
  readonly note: DamageNote;
  readonly state: NoteState;
}

/** Copies the damaged bytes and writes the note, unless an earlier start did. */
export async function setAside(fs: SpillFs, folder: string, found: Omit<DamageNote, 'id'>): Promise<DamageNote> {
  const notes = await readNotes(fs, folder);
  const known = notes.find(({ note }) => describesSame(note, found));
  if (known !== undefined) return known.note;
  const taken = new Set(notes.map(({ note }) => note.id));
  let id = found.segment;
  for (let again = 2; taken.has(id); again++) id = `${found.segment}~${again}`;
  const note: DamageNote = { ...found, id };
  for (const range of note.ranges) {
    const to = join(folder, QUARANTINE, `${id}.${range.from}-${range.to}.bytes`);
    await copyRange(fs, join(folder, note.segment), range, to);
  }
  await writeNote(fs, folder, note, 'pending');
  return note;
}

function describesSame(note: DamageNote, found: Omit<DamageNote, 'id'>): boolean {
  const { segment, lost, bytes, ranges } = found;
  const was = { segment: note.segment, lost: note.lost, bytes: note.bytes, ranges: note.ranges };
  return JSON.stringify(was) === JSON.stringify({ segment, lost, bytes, ranges });
}

async function copyRange(fs: SpillFs, from: string, range: DamagedRange, to: string): Promise<void> {
  // A start that was cut short may have left one.
  await fs.remove(to).catch(() => undefined);
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

/** Renamed into place: a note is there as a whole or not at all. */
async function writeNote(fs: SpillFs, folder: string, note: DamageNote, state: NoteState): Promise<void> {
  const quarantine = join(folder, QUARANTINE);
  const path = join(quarantine, `${note.id}.${state}.json`);
  await fs.remove(`${path}.new`).catch(() => undefined);
  const file = await fs.create(`${path}.new`);
  try {
    await file.append(Buffer.from(`${JSON.stringify(note)}\n`));
    await file.sync();
  } finally {
    await file.close();
  }
  await fs.rename(`${path}.new`, path);
  await fs.syncFolder(quarantine);
}

/** The notes in a folder, each in its last state. One that cannot be read counts as it is named, as damage. */
export async function readNotes(fs: SpillFs, folder: string): Promise<FiledNote[]> {
  const quarantine = join(folder, QUARANTINE);
  const found = new Map<string, FiledNote>();
  for (const name of await fs.list(quarantine).catch(() => [])) {
    const match = /^((.*?)(?:~\d+)?)\.(pending|settled|acknowledged)\.json$/.exec(name);
    if (match === null) continue;
    const [, id, segment, state] = match as unknown as [string, string, string, NoteState];
    const earlier = found.get(id);
    if (earlier !== undefined && STATES.indexOf(earlier.state) > STATES.indexOf(state)) continue;
    const path = join(quarantine, name);
    const text = (await fs.read(path, 0, Math.min(await fs.size(path), COPY_BYTES))).toString();
    found.set(id, { note: noteIn(text) ?? { id, segment, kind: 'damaged', lost: 0, bytes: 0, ranges: [] }, state });
  }
  return [...found.values()];
}

function noteIn(text: string): DamageNote | undefined {
  try {
    const note = JSON.parse(text) as Partial<DamageNote> | null;
    return typeof note?.id === 'string' && Array.isArray(note.ranges) ? (note as DamageNote) : undefined;
  } catch {
    return undefined;
  }
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
  await fs.remove(join(folder, QUARANTINE, `${note.id}.${from}.json`)).catch(() => undefined);
  await fs.syncFolder(join(folder, QUARANTINE));
}

/** Forgets a note that turned out to be of nothing. */
export async function dropNote(fs: SpillFs, folder: string, note: DamageNote): Promise<void> {
  await fs.remove(join(folder, QUARANTINE, `${note.id}.pending.json`)).catch(() => undefined);
  await fs.syncFolder(join(folder, QUARANTINE));
}

/** How many of the entries that were found in Redis each note may claim: the worst damage first. */
export function shareOut(notes: readonly DamageNote[], recovered: number): readonly [DamageNote, number][] {
  let left = recovered;
  const shares = [...notes]
    .sort((one, other) => other.lost - one.lost)
    .map((note): [DamageNote, number] => {
      const share = Math.min(left, note.lost);
      left -= share;
      return [note, share];
    });
  // More than anyone knew to be lost: the worst damaged file is the likeliest to have held them.
  if (shares[0] !== undefined) shares[0][1] += left;
  return shares;
}
