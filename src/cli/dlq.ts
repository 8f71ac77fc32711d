import { readFileSync } from 'node:fs';
import { DeadLetterBox, type FiledLetter, type LetterFilter } from '../actors/kernel-ingest/dead-letter-box.ts';
import { TapeworksError } from '../protocols/errors/index.ts';
import { isKind, type KernelIngestSettings } from '../protocols/topology.ts';
import { compileTopology } from '../supervision/topology/compile.ts';
import { durationMs } from '../supervision/topology/leaves.ts';
import { readAction, type readArguments, usage } from './arguments.ts';
import { type Action, type Command, EXIT, type Options } from './command.ts';
import { usualConfiguration } from './configuration.ts';
import { DATA_OPTION, redisUrl } from './data-folder.ts';
import { connectRedis } from './server-clients.ts';

const OPTIONS = {
  box: {
    ...{ type: 'string', multiple: true, value: 'STREAM' },
    about: 'dead-letter stream; may be given more than once (those of the configured streams)',
  },
  code: { type: 'string', value: 'CODE', about: 'only letters with this code, such as bad_ts' },
  source: { type: 'string', value: 'SOURCE', about: 'only letters of this source' },
  since: {
    type: 'string',
    value: 'TIME',
    about: 'only letters from then on: 2026-11-16T01:00:00Z, or 15m, 2h, 3d ago',
  },
  until: { type: 'string', value: 'TIME', about: 'only letters up to then' },
  limit: { type: 'string', value: 'N', about: 'letters that `list` shows (50)' },
  edit: { type: 'string', value: 'FILE', about: "send the bytes of a file in place of one letter's", offers: 'file' },
  all: { type: 'boolean', about: 'every letter that the filters leave' },
  'dry-run': { type: 'boolean', about: 'say what would be done, and do nothing' },
  data: DATA_OPTION,
  json: { type: 'boolean', about: 'one JSON object a letter' },
} as const satisfies Options;

const FILTERS = ['box', 'code', 'source', 'since', 'until', 'data', 'json'] as const;
const ACTIONS = {
  list: { usage: '[filters] [--limit N] [--json]', options: [...FILTERS, 'limit'] },
  show: { usage: 'ID [--json]', options: ['box', 'data', 'json'] },
  retry: {
    usage: 'ID... | --all [filters] [--edit FILE] [--dry-run] [--json]',
    options: [...FILTERS, 'all', 'edit', 'dry-run'],
  },
  drop: { usage: 'ID... | --all [filters] [--dry-run] [--json]', options: [...FILTERS, 'all', 'dry-run'] },
} as const satisfies Readonly<Record<string, Action>>;

const LIMIT = 50;
const WORDS_MAX = 1_000;

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values'];

export const command: Command = {
  summary: 'look at dead letters, send them again or let them go',
  usage: [],
  about: `
Dead letters are entries that could not be stored, with their raw bytes and the reason. \`retry\` sends them to their stream again and is refused for bytes that would only come back. It works on the Redis of REDIS_URL, else on the one that config/kernel.yaml names, else on the embedded one of the data folder.
`,
  actions: ACTIONS,
  options: OPTIONS,
  exits: {
    [EXIT.ok]: 'done, also where there are none',
    [EXIT.failed]: 'a letter was refused, or does not exist',
    [EXIT.unavailable]: 'there is no Redis to ask',
  },
  examples: [
    'tapeworks dlq list --code bad_ts --since 1h',
    'tapeworks dlq show 1760000000000-0',
    'tapeworks dlq retry --all --source my-feed --dry-run',
  ],
  async run(args) {
    const { action, words: ids, values } = readAction(args, OPTIONS, ACTIONS, WORDS_MAX);
    const actions = { list, show, retry, drop } as const;
    const redis = await connectRedis(await redisUrl(values.data));
    try {
      const readers = await configuredReaders();
      const limitsOf = (stream: string) => readers.find((reader) => reader.stream === stream);
      const boxes = (values.box ?? boxesOf(readers)).map((name) => new DeadLetterBox(redis, name, limitsOf));
      return await actions[action](boxes, ids, values);
    } finally {
      redis.disconnect();
    }
  },
};

/** Those of all configured streams; none where nothing is configured here. */
async function configuredReaders(): Promise<readonly KernelIngestSettings[]> {
  const config = await usualConfiguration();
  if (config === undefined) return [];
  const readers = compileTopology(config).nodes.filter((node) => isKind(node, 'kernel-ingest'));
  return readers.map(({ settings }) => settings);
}

/** A letter in any of them is one that an operator looks for. */
function boxesOf(readers: readonly KernelIngestSettings[]): readonly string[] {
  return readers.length === 0 ? ['events:dlq'] : [...new Set(readers.map(({ deadLetterStream }) => deadLetterStream))];
}

async function list(boxes: readonly DeadLetterBox[], _: readonly string[], values: Values): Promise<number> {
  const limit = Number(values.limit ?? LIMIT);
  if (!Number.isInteger(limit) || limit < 1) throw usage('--limit: expected a whole number from 1 on');
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
  if (edited !== undefined && ids.length !== 1) throw usage('--edit needs exactly one ID');
  return each(boxes, ids, values, 'retried', async (box, letter) => {
    const bytes = edited ?? letter.raw;
    const objection = box.objection(letter, bytes);
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
  if (ids.length > 0 === (values.all === true)) throw usage('give IDs, or --all with filters');
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
  if (ids.length === 0) throw usage('give the ID of a dead letter');
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

function timeOf(text: string): number {
  const agoMs = durationMs(text);
  const time = Number.isNaN(agoMs) ? Date.parse(text) : Date.now() - agoMs;
  if (Number.isNaN(time)) throw usage(`"${text}" is neither a time nor a span like 15m`);
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
