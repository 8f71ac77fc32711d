// tapeworks top --book SYMBOL: the merged book of one symbol, live in the terminal, over gRPC.
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type ChannelCredentials,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  status,
} from '@grpc/grpc-js';
import { loadProtos } from '../actors/publisher/grpc-server.ts';
import { type ErrorCode, TapeworksError } from '../protocols/errors/index.ts';
import { isLoopback } from '../supervision/topology/check-kernel.ts';
import { usage } from './arguments.ts';
import { type LadderSummary, renderLadder } from './book-ladder.ts';
import { EXIT } from './command.ts';
import { FullScreen } from './full-screen.ts';
import { paintFor, unpainted } from './terminal.ts';

/** The options of `top` that matter here, as they were given. */
export interface BookTopOptions {
  readonly book: string;
  readonly grpc: string;
  readonly ca?: string | undefined;
  readonly depth?: string | undefined;
  readonly json?: boolean | undefined;
  readonly once?: boolean | undefined;
}

interface Settings {
  readonly symbol: string;
  readonly address: string;
  readonly ca: string | undefined;
  readonly depth: number;
  readonly json: boolean;
  readonly once: boolean;
}

const RETRY_MS = 1_000;
const KEEPALIVE = { 'grpc.keepalive_time_ms': 5_000, 'grpc.keepalive_timeout_ms': 3_000 } as const;
/** Screens a second at most; the eye has no use for more. */
const SCREEN_EVERY_MS = 50;
const PLAIN_COLUMNS = 100;
/** Longer than a first book takes where there is one. */
const PATIENCE_MS = 2_000;

export async function runBookTop(options: BookTopOptions): Promise<number> {
  const settings = settingsOf(options);
  if (settings.json) return printLines(settings);
  if (process.stdout.isTTY && process.stdin.isTTY && !settings.once) return watch(settings);
  for await (const summary of promptly(settings)) {
    const lines = renderLadder(summary, '', { columns: PLAIN_COLUMNS, rows: undefined }, unpainted);
    process.stdout.write(
      `${lines
        .map((line) => line.trimEnd())
        .join('\n')
        .trimEnd()}\n`,
    );
    break;
  }
  return EXIT.ok;
}

function settingsOf(options: BookTopOptions): Settings {
  const { book: symbol, grpc: address, ca, depth = '0', json = false, once = false } = options;
  if (symbol === '') throw usage('--book: expected a symbol, such as BTC-USD');
  if (!/^\d{1,3}$/.test(depth)) throw usage(`--depth: expected a number of levels up to 999, got "${depth}"`);
  return { symbol, address, ca, depth: Number(depth), json, once };
}

/** Summaries for a pipe, with a word on standard error where the first one is long in coming: a symbol may never have had a book. */
async function* promptly(settings: Settings): AsyncGenerator<LadderSummary> {
  const patience = setTimeout(() => process.stderr.write(`${waitingFor(settings)}\n`), PATIENCE_MS);
  try {
    for await (const summary of summariesOf(settings, new AbortController().signal)) {
      clearTimeout(patience);
      yield summary;
    }
  } finally {
    clearTimeout(patience);
  }
}

function waitingFor({ symbol, address }: Settings): string {
  return `waiting for the first book of ${symbol} from ${address}; \`tapeworks status\` says how its venues are`;
}

async function printLines(settings: Settings): Promise<number> {
  for await (const summary of promptly(settings)) {
    process.stdout.write(`${JSON.stringify(summary)}\n`);
    if (settings.once) break;
  }
  return EXIT.ok;
}

/** Takes the whole terminal until q or Ctrl-C, and gives it back as it was; a server that goes away is waited for. */
async function watch(settings: Settings): Promise<number> {
  const paint = paintFor(process.stdout);
  const abort = new AbortController();
  let summary: LadderSummary | undefined;
  let lost: string | undefined;
  let dueMs = 0;
  const screen = new FullScreen(
    (size) =>
      summary === undefined ? [lost ?? waitingFor(settings)] : renderLadder(summary, 'q quits', size, paint, lost),
    (key) => {
      if (['q', 'Q', '\u0003', '\u001b'].includes(key)) abort.abort();
    },
  );
  try {
    while (!abort.signal.aborted) {
      try {
        for await (const next of summariesOf(settings, abort.signal)) {
          summary = next;
          lost = undefined;
          if (performance.now() < dueMs) continue;
          dueMs = performance.now() + SCREEN_EVERY_MS;
          screen.draw();
        }
      } catch (error) {
        if (!(error instanceof TapeworksError) || error.code !== PASSING) throw error;
        lost = `NOT LIVE: ${error.message}; trying again`;
        screen.draw();
      }
      await sleep(RETRY_MS, undefined, { signal: abort.signal }).catch(() => {});
    }
  } finally {
    screen.leave();
  }
  return EXIT.ok;
}

const CODE_OF: Readonly<Partial<Record<status, ErrorCode>>> = {
  [status.INVALID_ARGUMENT]: 'TW_BAD_USAGE',
  [status.NOT_FOUND]: 'TW_BAD_USAGE',
  [status.UNAUTHENTICATED]: 'TW_TOKEN_REFUSED',
};
/** What another try may mend. */
const PASSING: ErrorCode = 'TW_GRPC_UNREACHABLE';

interface Call extends AsyncIterable<LadderSummary> {
  cancel(): void;
}

async function* summariesOf(settings: Settings, signal: AbortSignal): AsyncGenerator<LadderSummary> {
  const { symbol, address, depth } = settings;
  const loaded = loadPackageDefinition(loadProtos(['orderbook.proto'])) as unknown as {
    orderbook: { OrderbookAggregator: ServiceClientConstructor };
  };
  const metadata = new Metadata();
  const secrets = secretsOf(settings, metadata);
  // A server that is frozen or cut off looks like a quiet market, but for this.
  const client = new loaded.orderbook.OrderbookAggregator(address, secrets, KEEPALIVE);
  const { BookSummary } = client as unknown as { BookSummary(request: object, metadata: Metadata): Call };
  const call = BookSummary.call(client, { symbols: [symbol], depth }, metadata);
  const cancel = () => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    yield* call;
  } catch (error) {
    if (signal.aborted) return;
    const { details = String(error), code } = error as { details?: string; code?: status };
    // The library wraps what the network said in words of its own.
    const why = /Last error: (?:Error: )?(.*?)\.? Resolution note:/.exec(details)?.[1] ?? details;
    throw new TapeworksError(CODE_OF[code ?? status.UNKNOWN] ?? 'TW_GRPC_UNREACHABLE', `${address}: ${why}`);
  } finally {
    signal.removeEventListener('abort', cancel);
    call.cancel();
    client.close();
  }
}

function secretsOf({ address, ca }: Settings, metadata: Metadata): ChannelCredentials {
  const token = process.env['TAPEWORKS_TOKEN'] ?? '';
  const host = address.slice(0, Math.max(0, address.lastIndexOf(':')));
  if (token !== '' && ca === undefined && !isLoopback(host)) {
    throw new TapeworksError('TW_CONFIG_UNSAFE', `the token is not sent to ${address} in plain text; give --ca`);
  }
  if (token !== '') metadata.set('authorization', `Bearer ${token}`);
  return ca === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(ca));
}
