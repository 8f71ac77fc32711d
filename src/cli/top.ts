import { setTimeout as sleep } from 'node:timers/promises';
import { ACTOR_STATES, type ActorsMessage, type Pulse, VALUE } from '../protocols/console-api.ts';
import { consoleUrl, GRPC_ADDRESS, grpcAddress, URL_OPTION } from './addresses.ts';
import { readArguments, usage } from './arguments.ts';
import { runBookTop } from './book-top.ts';
import { type Command, EXIT, type Options } from './command.ts';
import { followConsole, readConsole } from './console-client.ts';
import { FullScreen } from './full-screen.ts';
import { paintFor, span, unpainted } from './terminal.ts';
import { type ActorLine, chosenLines, FIRST_VIEW, press, renderTop, type TopView, takeMessage } from './top-screen.ts';

const PLAIN_COLUMNS = 110;

const OPTIONS = {
  book: { type: 'string', value: 'SYMBOL', about: 'show the merged book of this symbol instead', offers: 'instrument' },
  url: URL_OPTION,
  grpc: {
    type: 'string',
    value: 'HOST:PORT',
    about: `with --book: address of the gRPC server (that of kernel.yaml, else ${GRPC_ADDRESS})`,
  },
  ca: {
    ...{ type: 'string', value: 'FILE', offers: 'file' },
    about: "with --book: PEM file of the authority that the server's certificate comes from (plain text without it)",
  },
  depth: { type: 'string', value: 'N', about: 'with --book: levels a side (as many as the book has)' },
  once: { type: 'boolean', about: 'print what there is and end' },
  json: { type: 'boolean', about: 'the tree as one JSON array, once; with --book, each summary as one object a line' },
} as const satisfies Options;

export const command: Command = {
  summary: 'watch the tree of actors, or a merged book, in the terminal',
  usage: [
    '[--url URL] [--once] [--json]',
    '--book SYMBOL [--grpc HOST:PORT] [--ca FILE] [--depth N] [--once] [--json]',
  ],
  about: `
Shows the supervision tree of a running system as it works: state, thread and core, mailbox (waiting/most so far), messages a second, 99th percentiles of waiting and working, restarts and drops. With --book, shows the merged book of a symbol as a ladder, over gRPC. Where the output is not a terminal, it is printed once. A token, where the system wants one, is taken from TAPEWORKS_TOKEN.
`,
  options: OPTIONS,
  notes: 'keys: arrows or j k scroll, / filters by path, state or thread, o changes the order, q quits',
  exits: { [EXIT.ok]: 'fine', [EXIT.unavailable]: 'nobody answers' },
  examples: [
    'tapeworks top',
    "tapeworks top --json | jq '.[] | select(.restarts > 0) | .path'",
    'tapeworks top --book BTC-USD',
    'tapeworks top --book BTC-USD --json --once | jq .spread',
  ],
  async run(args) {
    const { values } = readArguments(args, OPTIONS, 0);
    if (values.book !== undefined)
      return runBookTop({ ...values, book: values.book, grpc: await grpcAddress(values.grpc) });
    const stranger = (['grpc', 'ca', 'depth'] as const).find((name) => values[name] !== undefined);
    if (stranger !== undefined) throw usage(`--${stranger} goes with --book SYMBOL`);
    const { json = false, once = false } = values;
    const url = await consoleUrl(values.url);
    if (process.stdout.isTTY && process.stdin.isTTY && !json && !once) return watch(url);
    const lines = takeMessage([], (await readConsole<ActorsMessage>(url, '/api/actors', 'kind')).body);
    if (json) process.stdout.write(`${JSON.stringify(lines.map(asObject))}\n`);
    else {
      const pulse = (await readConsole<Pulse>(url, '/api/pulse', 'parts')).body;
      const size = { columns: PLAIN_COLUMNS, rows: undefined };
      const screen = renderTop(pulse, lines, FIRST_VIEW, size, unpainted);
      process.stdout.write(`${screen.map((line) => line.trimEnd()).join('\n')}\n`);
    }
    return EXIT.ok;
  },
};

/** One actor for programs, by names instead of positions. */
function asObject({ shape, values }: ActorLine): Readonly<Record<string, unknown>> {
  const named = Object.fromEntries(Object.entries(VALUE).map(([name, at]) => [name, values[at] ?? null]));
  return { ...shape, ...named, state: ACTOR_STATES[values[VALUE.state]] };
}

const RETRY_MS = 1_000;
/** The system speaks every second. */
const SILENT_MS = 4_000;

/**
 * Takes the whole terminal until q or Ctrl-C, and gives it back as it was. A system that goes away is waited for, and what
 * is shown of it says that it is old.
 */
async function watch(url: string): Promise<number> {
  const paint = paintFor(process.stdout);
  const abort = new AbortController();
  let pulse: Pulse | undefined;
  let lines: readonly ActorLine[] = [];
  let view: TopView = FIRST_VIEW;
  let heardMs = performance.now();
  const screen = new FullScreen(
    (size) => {
      const silentMs = performance.now() - heardMs;
      const lost =
        silentMs < SILENT_MS ? undefined : `NOT LIVE: nothing from ${url} for ${span(silentMs)}; trying again`;
      return renderTop(pulse, lines, view, size, paint, lost);
    },
    (key) => {
      const next = press(view, key, chosenLines(lines, view).length);
      if (next === undefined) abort.abort();
      else view = next;
    },
  );
  const follow = async () => {
    for await (const { topic, message } of followConsole(url, ['pulse', 'actors'], abort.signal)) {
      heardMs = performance.now();
      if (topic === 'pulse') pulse = message as Pulse;
      else lines = takeMessage(lines, message as ActorsMessage);
      screen.draw();
    }
  };
  const redraw = setInterval(screen.draw, RETRY_MS);
  try {
    while (!abort.signal.aborted) {
      await follow().catch((error: unknown) => {
        if (pulse === undefined && !abort.signal.aborted) throw error;
      });
      await sleep(RETRY_MS, undefined, { signal: abort.signal }).catch(() => undefined);
    }
  } finally {
    clearInterval(redraw);
    screen.leave();
  }
  return EXIT.ok;
}
