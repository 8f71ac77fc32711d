import { existsSync, readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { advanceNote, type DamageNote, type NoteState, readNotes } from '../actors/spill/damage-notes.ts';
import { diskFs } from '../actors/spill/file-system.ts';
import { damageIn, SEGMENT_NAME } from '../actors/spill/recovery.ts';
import { type SegmentScan, scanSegment } from '../actors/spill/segment-scan.ts';
import { readAction, type readArguments, usage } from './arguments.ts';
import { type Action, type Command, EXIT, type Options } from './command.ts';
import { DATA_OPTION, databaseUrl, spillFolder } from './data-folder.ts';
import { replayLanes } from './spill-replay.ts';

const OPTIONS = {
  folder: {
    type: 'string',
    value: 'FOLDER',
    about: 'the spill folder (that of the configuration, or of --data)',
    offers: 'folder',
  },
  data: DATA_OPTION,
  acknowledge: {
    type: 'boolean',
    about: "say that you have seen the damage, and turn the kernel's health green again",
  },
  'dry-run': { type: 'boolean', about: 'say what would be stored, and store nothing' },
  json: { type: 'boolean', about: 'one JSON object a segment, record or stream' },
} as const satisfies Options;

const ACTIONS = {
  list: { usage: '[--folder FOLDER] [--json]', options: ['folder', 'data', 'json'] },
  verify: { usage: '[--folder FOLDER] [--acknowledge] [--json]', options: ['folder', 'data', 'acknowledge', 'json'] },
  dump: { usage: 'SEGMENT [--folder FOLDER] [--json]', options: ['folder', 'data', 'json'], offers: 'file' },
  replay: { usage: '[--folder FOLDER] [--dry-run] [--json]', options: ['folder', 'data', 'dry-run', 'json'] },
} as const satisfies Readonly<Record<string, Action>>;

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

export const command: Command = {
  summary: 'look at spilled segments, check them, or store them by hand',
  usage: [],
  about: `
Segments hold what Postgres could not take, events by stream and K-lines in +klines; a running kernel replays them by itself. \`verify\` reads every byte and tells of damage, also of damage that was set aside before. \`replay\` stores segments without a kernel, and is refused while one runs.
`,
  actions: ACTIONS,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'fine',
    [EXIT.failed]: 'damage was found, or the folder is in use',
    [EXIT.unavailable]: 'there is no Postgres to store into',
  },
  examples: ['tapeworks spill verify', 'tapeworks spill dump 00000000000000000003.250.seg --json | head'],
  async run(args) {
    const { action, words, values } = readAction(args, OPTIONS, ACTIONS, 1);
    const folder = values.folder ?? relative('.', await spillFolder(values.data));
    if (action === 'dump') return dump(segmentAt(words[0], folder), values);
    if (words.length > 0) throw usage(`"${words[0]}" is one word too many; --folder names another folder`);
    if (action === 'list') return list(folder, values);
    return action === 'verify' ? verify(folder, values) : replay(folder, values);
  },
};

/** The folders of the streams; none where nothing was ever spilled. */
function laneFolders(folder: string): readonly { readonly stream: string; readonly path: string }[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => ({ stream: decodeURIComponent(entry.name), path: join(folder, entry.name) }));
}

const segmentsIn = (path: string) =>
  readdirSync(path)
    .filter((name) => SEGMENT_NAME.test(name))
    .sort();

async function list(folder: string, values: Values): Promise<number> {
  const total = { segments: 0, records: 0, bytes: 0 };
  for (const { stream, path } of laneFolders(folder)) {
    for (const name of segmentsIn(path)) {
      const found = statSync(join(path, name), { throwIfNoEntry: false });
      if (found === undefined) continue;
      const { size: bytes, mtime } = found;
      // A segment that is being written says how many records it has only to who reads all of it.
      const records = Number(SEGMENT_NAME.exec(name)?.[2] ?? Number.NaN);
      const state = name.endsWith('.open') ? 'open' : 'sealed';
      const written = mtime.toISOString();
      total.segments++;
      total.records += records || 0;
      total.bytes += bytes;
      print(
        values,
        { stream, segment: name, state, records: records || null, bytes, written, path: join(path, name) },
        `${stream.padEnd(20)} ${name.padEnd(32)} ${state.padEnd(7)} ${String(records || '?').padStart(9)} records ${bytes} bytes, last written ${written}`,
      );
    }
  }
  if (total.segments === 0) return nothingIn(folder, values);
  if (values.json !== true)
    process.stderr.write(
      `${total.segments} segments, ${total.records} records in the sealed ones, ${total.bytes} bytes; a running kernel stores them by itself\n`,
    );
  return EXIT.ok;
}

function nothingIn(folder: string, values: Values): number {
  if (values.json !== true) process.stderr.write(`no segments in ${folder}\n`);
  return EXIT.ok;
}

/** Undefined where a running kernel has stored and erased the segment meanwhile. */
async function scanned(path: string): Promise<SegmentScan | undefined> {
  try {
    return await scanSegment(diskFs, path);
  } catch (error) {
    if (existsSync(path)) throw error;
    return undefined;
  }
}

async function verify(folder: string, values: Values): Promise<number> {
  let damaged = 0;
  for (const { stream, path } of laneFolders(folder)) {
    for (const name of segmentsIn(path)) {
      if (process.stderr.isTTY) process.stderr.write(`reading ${stream} ${name}\r`);
      const scan = await scanned(join(path, name));
      if (scan === undefined) continue;
      const found = damageIn(name, scan);
      // One that is being written may end in the middle of a record while we read it.
      const ok = found?.kind !== 'damaged';
      if (!ok) damaged++;
      const { records, bytes } = scan;
      const word = found === undefined ? 'whole  ' : ok ? 'open   ' : 'DAMAGED';
      print(
        values,
        { stream, segment: name, ok, records, lost: found?.lost ?? 0, bytes, damaged: scan.damaged },
        `${word} ${stream} ${name}: ${records} records, ${bytes} bytes${ok ? '' : `, ${found?.lost} records lost`}`,
      );
    }
    for (const { note, state } of await readNotes(diskFs, path)) {
      if (state === 'acknowledged') continue;
      // What is still pending is to be looked for in Redis first; the kernel does that when it runs.
      const seen = values.acknowledge === true && state === 'settled';
      if (seen) await advanceNote(diskFs, path, note, 'settled', 'acknowledged');
      else if (note.kind === 'damaged') damaged++;
      print(
        values,
        { stream, ...note, state: seen ? 'acknowledged' : state },
        `${seen ? 'ACKNOWLEDGED' : 'QUARANTINED'} ${stream} ${note.segment}: ${tellOf(note, state)}`,
      );
    }
  }
  if (damaged === 0 && values.json !== true) print(values, {}, 'every segment is whole, and no damage waits for you');
  return damaged === 0 ? EXIT.ok : EXIT.failed;
}

function tellOf({ kind, lost, recovered = 0 }: DamageNote, state: NoteState): string {
  const what = kind === 'damaged' ? `${lost} lost` : `left ${kind} by a crash`;
  if (state === 'pending') return `${what}; a running kernel looks for it in Redis once Postgres takes rows`;
  const still = Math.max(0, lost - recovered);
  return `${what}, ${recovered} found again in Redis${still === 0 ? '' : `, ${still} GONE`}; --acknowledge says that you know`;
}

/** A segment by its path, or by its name in the spill folder. */
function segmentAt(word: string | undefined, folder: string): string {
  if (word === undefined) throw usage('give the name or the path of a segment, as `tapeworks spill list` shows it');
  if (existsSync(word)) return word;
  const found = laneFolders(folder)
    .map(({ path }) => join(path, word))
    .filter((path) => existsSync(path));
  if (found.length > 1) throw usage(`several streams have a segment ${word}; give a path: ${found.join(', ')}`);
  if (found[0] === undefined) throw usage(`there is no segment ${word}, neither as a path nor in ${folder}`);
  return found[0];
}

async function dump(path: string, values: Values): Promise<number> {
  await scanSegment(diskFs, path, ({ ordinal, entryId, tsKernel, deliveries, envelope }) => {
    const fields = {
      ordinal,
      entry_id: entryId,
      ts_kernel: String(tsKernel),
      deliveries,
      envelope: envelope.toString('utf8'),
    };
    print(values, fields, `${ordinal} ${entryId} ${fields.envelope}`);
  });
  return EXIT.ok;
}

async function replay(folder: string, values: Values): Promise<number> {
  const lanes = laneFolders(folder);
  if (lanes.length === 0) return nothingIn(folder, values);
  if (values['dry-run'] === true) {
    for (const { stream, path } of lanes) {
      const records = await counted(path);
      print(values, { stream, records, dry_run: true }, `${stream}: ${records} records would be offered to Postgres`);
    }
    return EXIT.ok;
  }
  for await (const { stream, records, duplicates } of replayLanes(folder, lanes, () => databaseUrl(values.data))) {
    const text = `${stream}: ${records} records stored, ${duplicates} of them stored before`;
    print(values, { stream, records, duplicates, dry_run: false }, text);
  }
  return EXIT.ok;
}

async function counted(path: string): Promise<number> {
  let records = 0;
  for (const name of segmentsIn(path)) records += (await scanned(join(path, name)))?.records ?? 0;
  return records;
}

function print(values: Values, fields: object, text: string): void {
  process.stdout.write(`${values.json === true ? JSON.stringify(fields) : text}\n`);
}
