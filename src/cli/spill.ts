import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { statesIn } from '../actors/kline-persistence/bar-spill.ts';
import { StoreLink } from '../actors/kline-persistence/store-link.ts';
import { namedBars, progressOf } from '../actors/kline-persistence/symbol-state.ts';
import { EventWriter } from '../actors/sink/event-writer.ts';
import { advanceNote, type DamageNote, type NoteState, readNotes } from '../actors/spill/damage-notes.ts';
import { diskFs } from '../actors/spill/file-system.ts';
import { lockFolder } from '../actors/spill/folder-lock.ts';
import { SEGMENT_NAME } from '../actors/spill/recovery.ts';
import { scanSegment } from '../actors/spill/segment-scan.ts';
import { type SpillChunk, SpillStore } from '../actors/spill/spill-store.ts';
import { BARS_LANE } from '../actors/spill/yard.ts';
import { decodeEnvelope, isRefusal } from '../protocols/envelope.ts';
import { readAction, type readArguments, usage } from './arguments.ts';
import { type Action, type Command, EXIT, type Options } from './command.ts';
import { DATA_OPTION, databaseUrl } from './data-folder.ts';

const OPTIONS = {
  folder: { type: 'string', value: 'FOLDER', about: 'the spill folder (spill in the data folder)', offers: 'folder' },
  data: { ...DATA_OPTION, about: 'the data folder; DATABASE_URL goes before its Postgres' },
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
  dump: { usage: 'SEGMENT [--json]', options: ['json'], offers: 'file' },
  replay: { usage: '[--folder FOLDER] [--dry-run] [--json]', options: ['folder', 'data', 'dry-run', 'json'] },
} as const satisfies Readonly<Record<string, Action>>;

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

const REPLAY_ROWS = 2_000;
const TIMEOUTS = { statementTimeoutMs: 60_000, queryTimeoutMs: 70_000, lockTimeoutMs: 10_000, partitionsAhead: 7 };

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
  examples: [
    'tapeworks spill verify',
    'tapeworks spill dump .tapeworks/spill/events/00000000000000000003.250.seg --json | head',
  ],
  async run(args) {
    const { action, words, values } = readAction(args, OPTIONS, ACTIONS, 1);
    if (action === 'dump') return dump(words[0], values);
    if (words.length > 0) throw usage(`"${words[0]}" is one word too many; --folder names another folder`);
    const folder = values.folder ?? join(values.data, 'spill');
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
  let found = 0;
  for (const { stream, path } of laneFolders(folder)) {
    for (const name of segmentsIn(path)) {
      found++;
      const bytes = await diskFs.size(join(path, name));
      const state = name.endsWith('.open') ? 'open' : 'sealed';
      print(
        values,
        { stream, segment: name, state, bytes },
        `${stream.padEnd(20)} ${name.padEnd(32)} ${state.padEnd(7)} ${bytes} bytes`,
      );
    }
  }
  return found === 0 ? nothingIn(folder, values) : EXIT.ok;
}

function nothingIn(folder: string, values: Values): number {
  if (values.json !== true) process.stderr.write(`no segments in ${folder}\n`);
  return EXIT.ok;
}

async function verify(folder: string, values: Values): Promise<number> {
  let damaged = 0;
  for (const { stream, path } of laneFolders(folder)) {
    for (const name of segmentsIn(path)) {
      if (process.stderr.isTTY) process.stderr.write(`reading ${stream} ${name}\r`);
      const scan = await scanSegment(diskFs, join(path, name));
      const ok = scan.damaged.length === 0 && scan.ordinals === scan.records;
      if (!ok) damaged++;
      const { records, bytes } = scan;
      print(
        values,
        { stream, segment: name, ok, records, bytes, damaged: scan.damaged },
        `${ok ? 'whole  ' : 'DAMAGED'} ${stream} ${name}: ${records} records, ${bytes} bytes`,
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

async function dump(path: string | undefined, values: Values): Promise<number> {
  if (path === undefined || !existsSync(path))
    throw usage(path === undefined ? 'give the path of a segment' : `there is no segment at ${path}`);
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
  const url = databaseUrl(values.data);
  const unlocks = [folder, ...lanes.flatMap(({ stream, path }) => (stream === BARS_LANE ? [path] : []))].map(
    lockFolder,
  );
  const warn = (text: string) => void process.stderr.write(`${text}\n`);
  const writer = new EventWriter({ url, connectTimeoutMs: 5_000, settings: TIMEOUTS, reached: () => undefined, warn });
  const link = new StoreLink({ url, prepares: true, nowUs: () => BigInt(Date.now()) * 1000n });
  try {
    for (const { stream, path } of lanes) {
      const keep =
        stream === BARS_LANE ? (chunk: SpillChunk) => keepBars(link, chunk) : await keepEvents(writer, values);
      const stored = values['dry-run'] === true ? await counted(path) : await replayed(path, keep);
      const word = values['dry-run'] === true ? 'would be offered' : 'stored';
      print(
        values,
        { stream, ...stored, dry_run: values['dry-run'] === true },
        `${stream}: ${stored.records} records ${word}, ${stored.duplicates} of them stored before`,
      );
    }
    return EXIT.ok;
  } finally {
    await Promise.all([writer.close(), link.close()]);
    for (const unlock of unlocks) unlock();
  }
}

async function counted(path: string): Promise<{ records: number; duplicates: number }> {
  let records = 0;
  for (const name of segmentsIn(path)) records += (await scanSegment(diskFs, join(path, name))).records;
  return { records, duplicates: 0 };
}

/** Stores a part of a segment; the answer is how many were stored before. */
type Keep = (chunk: SpillChunk) => Promise<number>;

async function keepEvents(writer: EventWriter, values: Values): Promise<Keep> {
  if (values['dry-run'] !== true) await writer.prepare();
  return async ({ records }) => {
    const rows = records.flatMap(({ envelope, ...record }) => {
      const event = decodeEnvelope(envelope, Number.POSITIVE_INFINITY, 512);
      return isRefusal(event) ? [] : [{ ...record, event }];
    });
    return (await writer.write(rows)).duplicates;
  };
}

async function keepBars(link: StoreLink, { records }: SpillChunk): Promise<number> {
  const states = statesIn(records);
  await link.use((store) => store.write(namedBars(states), progressOf(states)));
  return 0;
}

async function replayed(folder: string, keep: Keep): Promise<{ records: number; duplicates: number }> {
  const store = await SpillStore.open({
    ...{
      folder,
      fs: diskFs,
      segmentBytes: 1 << 26,
      segmentAgeMs: 60_000,
      bytesMax: Number.MAX_SAFE_INTEGER,
      freeBytesMin: 0,
    },
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

function print(values: Values, fields: object, text: string): void {
  process.stdout.write(`${values.json === true ? JSON.stringify(fields) : text}\n`);
}
