import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { DeadLetterBox, type FiledLetter, type LetterFilter } from '../actors/kernel-ingest/dead-letter-box.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { embeddedRedisUrl } from '../servers/redis.ts';
import { readArguments } from './arguments.ts';
import { type Command, EXIT } from './command.ts';

const OPTIONS = {
  box: { type: 'string', multiple: true },
  code: { type: 'string' },
  source: { type: 'string' },
  since: { type: 'string' },
  until: { type: 'string' },
  limit: { type: 'string' },
  edit: { type: 'string' },
  all: { type: 'boolean' },
  'dry-run': { type: 'boolean' },
  json: { type: 'boolean' },
  data: { type: 'string' },
} as const;

const LIMIT = 50;
const WORDS_MAX = 1_000;

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

export const command: Command = {
  summary: 'look at dead letters, send them again or let them go',
  help: `
usage: tapeworks dlq list  [filters] [--limit N] [--json]
       tapeworks dlq show  ID [--json]
       tapeworks dlq retry ID... | --all [filters] [--edit FILE] [--dry-run] [--json]
       tapeworks dlq drop  ID... | --all [filters] [--dry-run] [--json]

Dead letters are entries that could not be stored, with their raw bytes and the reason. \`retry\` sends them to their stream
again and is refused for bytes that would only come back; --edit FILE sends the bytes of a file in place of one letter's.

  --box STREAM     dead-letter stream, events:dlq unless given; may be given more than once
  --code CODE      only letters with this code, e.g. bad_ts
  --source SOURCE  only letters of this source
  --since, --until only letters of this time: 2026-11-16T01:00:00Z, or 15m, 2h, 3d ago
  --dry-run        say what would be done, and do nothing
  --data FOLDER    data folder of the embedded Redis, .tapeworks unless given; REDIS_URL goes before it

  tapeworks dlq list --code bad_ts --since 1h
  tapeworks dlq retry --all --source binance --dry-run
`,
  async run(args) {
    const { values, positionals } = readArguments(args, OPTIONS, WORDS_MAX);
    const [action, ...ids] = positionals;
    const actions = { list, show, retry, drop } as const;
    if (action === undefined || !Object.hasOwn(actions, action)) {
      throw new TapeworksError('TW_BAD_USAGE', 'say list, show, retry or drop');
    }
    const redis = await connected(values.data ?? '.tapeworks');
    try {
      const boxes = (values.box ?? ['events:dlq']).map((name) => new DeadLetterBox(redis, name));
      return await actions[action as keyof typeof actions](boxes, ids, values);
    } finally {
      redis.disconnect();
    }
  },
};

async function connected(data: string): Promise<Redis> {
  const url = process.env['REDIS_URL'] ?? embeddedRedisUrl(join(data, 'redis'));
  if (url === undefined)
    throw new TapeworksError('TW_REDIS_UNAVAILABLE', `there is no Redis in ${data} and REDIS_URL is not set`);
  const redis = new Redis(url, { protocol: 2, lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
  } catch (error) {
    throw new TapeworksError('TW_REDIS_UNAVAILABLE', `Redis does not answer: ${(error as Error).message}`);
  }
  return redis;
}

async function list(boxes: readonly DeadLetterBox[], _: readonly string[], values: Values): Promise<number> {
  const limit = Number(values.limit ?? LIMIT);
  if (!Number.isInteger(limit) || limit < 1)
    throw new TapeworksError('TW_BAD_USAGE', '--limit is a whole number from 1 on');
  let shown = 0;
  for await (const letter of chosen(boxes, values)) {
    if (shown++ >= limit) break;
    print(values.json === true ? JSON.stringify(view(letter)) : line(letter));
  }
  if (shown > limit && values.json !== true) process.stderr.write(`only the first ${limit}; --limit shows more\n`);
  if (shown === 0 && values.json !== true) process.stderr.write('no dead letters\n');
  return EXIT.ok;
}

async function show(boxes: readonly DeadLetterBox[], ids: readonly string[], values: Values): Promise<number> {
  const [[, letter]] = (await named(boxes, ids.slice(0, 1))) as [[DeadLetterBox, FiledLetter]];
  if (values.json === true) print(JSON.stringify({ ...view(letter), raw_base64: letter.raw.toString('base64') }));
  else print(`${line(letter)}\n  ${letter.reason}\n  ${printable(letter.raw.toString('utf8'))}`);
  return EXIT.ok;
}

async function retry(boxes: readonly DeadLetterBox[], ids: readonly string[], values: Values): Promise<number> {
  const edited = values.edit === undefined ? undefined : readFileSync(values.edit);
  if (edited !== undefined && ids.length !== 1) throw new TapeworksError('TW_BAD_USAGE', '--edit needs exactly one ID');
  return each(boxes, ids, values, 'retried', async (box, letter) => {
    const bytes = edited ?? letter.raw;
    const objection = DeadLetterBox.objection(bytes);
    if (objection === undefined && values['dry-run'] !== true) await box.retry(letter, bytes);
    return objection;
  });
}

function drop(boxes: readonly DeadLetterBox[], ids: readonly string[], values: Values): Promise<number> {
  return each(boxes, ids, values, 'dropped', async (box, letter) => {
    if (values['dry-run'] !== true) await box.drop(letter);
    return undefined;
  });
}

/** Does something to each chosen letter and says what became of it; the answer of `work` is why it was refused. */
async function each(
  boxes: readonly DeadLetterBox[],
  ids: readonly string[],
  values: Values,
  done: string,
  work: (box: DeadLetterBox, letter: FiledLetter) => Promise<string | undefined>,
): Promise<number> {
  if (ids.length > 0 === (values.all === true))
    throw new TapeworksError('TW_BAD_USAGE', 'give IDs, or --all with filters');
  const outcome = { [done]: 0, refused: 0 };
  const targets = ids.length > 0 ? await named(boxes, ids) : withBoxes(boxes, values);
  for await (const [box, letter] of targets) {
    const refused = await work(box, letter);
    const what = refused === undefined ? done : 'refused';
    outcome[what]!++;
    if (values.json === true)
      print(JSON.stringify({ id: letter.id, outcome: what, ...(refused !== undefined && { reason: refused }) }));
    else if (refused !== undefined) print(`${letter.id} refused: ${refused}`);
    else if (process.stderr.isTTY && outcome[done]! % 100 === 0) process.stderr.write(`\r${outcome[done]} ${done}`);
  }
  const would = values['dry-run'] === true ? 'would be ' : '';
  if (values.json !== true) print(`${would}${done}: ${outcome[done]}, refused: ${outcome['refused']}`);
  return outcome['refused'] === 0 ? EXIT.ok : EXIT.failed;
}

async function* withBoxes(
  boxes: readonly DeadLetterBox[],
  values: Values,
): AsyncGenerator<[DeadLetterBox, FiledLetter]> {
  for (const box of boxes) for await (const letter of box.letters(filterOf(values))) yield [box, letter];
}

async function* chosen(boxes: readonly DeadLetterBox[], values: Values): AsyncGenerator<FiledLetter> {
  for await (const [, letter] of withBoxes(boxes, values)) yield letter;
}

async function named(boxes: readonly DeadLetterBox[], ids: readonly string[]): Promise<[DeadLetterBox, FiledLetter][]> {
  if (ids.length === 0) throw new TapeworksError('TW_BAD_USAGE', 'give the ID of a dead letter');
  const found: [DeadLetterBox, FiledLetter][] = [];
  for (const id of ids) {
    const matches = await Promise.all(boxes.map(async (box) => [box, await box.find(id)] as const));
    const match = matches.find((pair): pair is [DeadLetterBox, FiledLetter] => pair[1] !== undefined);
    if (match === undefined)
      throw new TapeworksError(
        'TW_NO_DEAD_LETTER',
        `there is no dead letter ${id} in ${boxes.map(({ box }) => box).join(', ')}`,
      );
    found.push(match);
  }
  return found;
}

function filterOf({ code, source, since, until }: Values): LetterFilter {
  return {
    ...(code !== undefined && { code }),
    ...(source !== undefined && { source }),
    ...(since !== undefined && { sinceMs: timeOf(since) }),
    ...(until !== undefined && { untilMs: timeOf(until) }),
  };
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function timeOf(text: string): number {
  const ago = /^(\d+)([smhd])$/.exec(text);
  const time = ago === null ? Date.parse(text) : Date.now() - Number(ago[1]) * UNITS[ago[2]!]!;
  if (Number.isNaN(time)) throw new TapeworksError('TW_BAD_USAGE', `"${text}" is neither a time nor a span like 15m`);
  return time;
}

function view({ id, box, atMs, stream, entryId, stage, code, path, reason, deliveries, raw }: FiledLetter) {
  const at = new Date(atMs).toISOString();
  return { id, box, at, stream, entry_id: entryId, stage, code, path, reason, deliveries, raw_bytes: raw.length };
}

const line = ({ id, atMs, stream, code, path, raw }: FiledLetter) =>
  `${id.padEnd(18)} ${new Date(atMs).toISOString()} ${stream} ${code}${path === '' ? '' : ` at ${path}`} (${raw.length} bytes)`;

/** Raw bytes are a stranger's: control characters must not reach the terminal. */
const printable = (text: string) =>
  [...text].map((letter) => (letter < ' ' || (letter >= '\u007f' && letter <= '\u009f') ? '\ufffd' : letter)).join('');

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}
