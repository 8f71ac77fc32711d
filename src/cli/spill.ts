import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { EventWriter } from '../actors/sink/event-writer.ts';
import { diskFs } from '../actors/spill/file-system.ts';
import { lockFolder } from '../actors/spill/folder-lock.ts';
import { advanceNote, readNotes, SEGMENT_NAME } from '../actors/spill/recovery.ts';
import { scanSegment } from '../actors/spill/segment-scan.ts';
import { SpillStore } from '../actors/spill/spill-store.ts';
import { decodeEnvelope, isRefusal } from '../protocols/envelope.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { embeddedPostgresUrl } from '../servers/postgres.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT } from './command.ts';

const OPTIONS = {
  folder: { type: 'string' },
  data: { type: 'string' },
  acknowledge: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

const REPLAY_ROWS = 2_000;
const TIMEOUTS = { statementTimeoutMs: 60_000, queryTimeoutMs: 70_000, lockTimeoutMs: 10_000, partitionsAhead: 7 };

export const command: Command = {
  summary: 'look at spilled segments, check them, or store them by hand',
  help: `
usage: tapeworks spill list   [--folder FOLDER] [--json]
       tapeworks spill verify [--folder FOLDER] [--acknowledge] [--json]
       tapeworks spill dump   SEGMENT [--json]
       tapeworks spill replay [--folder FOLDER] [--dry-run] [--json]

Segments hold what Postgres could not take; a running kernel replays them by itself. \`verify\` reads every byte and tells of
damage, also of damage that was set aside before; --acknowledge says that you have seen it, and the kernel's health turns
green again. \`replay\` stores segments without a kernel, and is refused while one runs.

  --folder FOLDER  the spill folder, spill in the data folder unless given
  --data FOLDER    the data folder, .tapeworks unless given; DATABASE_URL goes before its Postgres
  --dry-run        say what would be stored, and store nothing

exit code: 0 fine, 1 damage was found

  tapeworks spill verify
  tapeworks spill dump .tapeworks/spill/events/00000000000000000003.250.seg --json | head
`,
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, 2);
    const [action, ...words] = positionals;
    const folder = values.folder ?? join(values.data ?? '.tapeworks', 'spill');
    if (action === 'dump') return dump(words[0], values);
    if (action === 'list') return list(folder, values);
    if (action === 'verify') return verify(folder, values);
    if (action === 'replay') return replay(folder, values);
    throw new TapeworksError('TW_BAD_USAGE', 'say list, verify, dump or replay');
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
  if (found === 0 && values.json !== true) process.stderr.write(`no segments in ${folder}\n`);
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
      damaged++;
      const { segment, lost, recovered = 0 } = note;
      print(
        values,
        { stream, ...note, state },
        `QUARANTINED ${stream} ${segment}: ${lost} lost, ${recovered} found again in Redis (${state})`,
      );
      // What is still pending is to be looked for in Redis first; the kernel does that when it runs.
      if (values.acknowledge === true && state === 'settled')
        await advanceNote(diskFs, path, note, 'settled', 'acknowledged');
    }
  }
  if (damaged === 0 && values.json !== true) print(values, {}, 'every segment is whole');
  return damaged === 0 ? EXIT.ok : EXIT.failed;
}

async function dump(path: string | undefined, values: Values): Promise<number> {
  if (path === undefined || !existsSync(path))
    throw new TapeworksError('TW_BAD_USAGE', `there is no segment at ${path ?? '(no path given)'}`);
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
  const unlock = lockFolder(folder);
  const url = process.env['DATABASE_URL'] ?? embeddedPostgresUrl(join(values.data ?? '.tapeworks', 'postgres'));
  if (url === undefined)
    throw new TapeworksError('TW_POSTGRES_UNAVAILABLE', 'DATABASE_URL is not set and no embedded Postgres runs');
  const warn = (text: string) => void process.stderr.write(`${text}\n`);
  const writer = new EventWriter({ url, connectTimeoutMs: 5_000, settings: TIMEOUTS, reached: () => undefined, warn });
  try {
    for (const { stream, path } of laneFolders(folder)) {
      const stored = values['dry-run'] === true ? await counted(path) : await replayed(path, writer);
      const word = values['dry-run'] === true ? 'would be offered' : 'stored';
      print(
        values,
        { stream, ...stored, dry_run: values['dry-run'] === true },
        `${stream}: ${stored.records} records ${word}, ${stored.duplicates} of them stored before`,
      );
    }
    return EXIT.ok;
  } finally {
    await writer.close();
    unlock();
  }
}

async function counted(path: string): Promise<{ records: number; duplicates: number }> {
  let records = 0;
  for (const name of segmentsIn(path)) records += (await scanSegment(diskFs, join(path, name))).records;
  return { records, duplicates: 0 };
}

async function replayed(folder: string, writer: EventWriter): Promise<{ records: number; duplicates: number }> {
  await writer.prepare();
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
    const rows = chunk.records.flatMap(({ envelope, ...record }) => {
      const event = decodeEnvelope(envelope, Number.POSITIVE_INFINITY, 512);
      return isRefusal(event) ? [] : [{ ...record, event }];
    });
    sum.duplicates += (await writer.write(rows)).duplicates;
    await store.commit(chunk);
    sum.records += rows.length;
    if (process.stderr.isTTY) process.stderr.write(`${sum.records} of ${total}\r`);
  }
}

function print(values: Values, fields: object, text: string): void {
  process.stdout.write(`${values.json === true ? JSON.stringify(fields) : text}\n`);
}
