import {
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  credentials,
  loadPackageDefinition,
  type Metadata,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadProtos } from '../../src/actors/publisher/grpc-server.ts';
import { Program, type ProgramOptions } from '../../src/program/program.ts';
import { checkConfiguration } from '../../src/supervision/topology/load.ts';
import { KNOWN_VENUES } from '../../src/venues/index.ts';
import type { Simulator } from '../../src/venues/simulation/simulator.ts';

/** A summary as an ordinary client decodes it. */
export interface ClientSummary {
  readonly symbol: string;
  readonly spread: number;
  readonly spread_exact: string;
  readonly sequence: string;
  readonly skipped: string;
  readonly bids: readonly ClientLevel[];
  readonly asks: readonly ClientLevel[];
  readonly venues: readonly ClientVenue[];
}

export interface ClientVenue {
  readonly name: string;
  readonly live: boolean;
  readonly age_us: string;
  readonly sequence: string;
  readonly venue_unix_us: string;
}

export interface ClientLevel {
  readonly exchange: string;
  readonly price: number;
  readonly amount: number;
  readonly price_exact: string;
  readonly amount_exact: string;
}

export const ABSENT = { state: 'down', code: 'TW_SERVER_START_FAILED', reason: 'not asked for', remedy: '' } as const;

export function configurationOf(topology: string, kernel = '') {
  const files = new Map<string, Uint8Array>([
    ['kernel.yaml', Buffer.from(`${/^grpc:/m.test(kernel) ? '' : 'grpc: { port: 0 }'}\nhttp: { port: 0 }\n${kernel}`)],
    ['topology.yaml', Buffer.from(topology)],
  ]);
  const checked = checkConfiguration(files, { venues: KNOWN_VENUES }, (name) => `config/${name}`);
  if (!checked.ok) throw new Error(JSON.stringify(checked.issues));
  return { configuration: checked.value, files };
}

/** The program against a simulator, not started yet; without servers unless some are given. */
export function programOn(
  simulator: Pick<Simulator, 'endpoints'>,
  topology: string,
  more: Partial<ProgramOptions> = {},
  kernel = '',
): Program {
  return new Program({
    isSimulated: true,
    ...configurationOf(topology, kernel),
    endpoints: (venue) => simulator.endpoints(venue),
    postgres: ABSENT,
    redis: ABSENT,
    onWarning: () => {},
    ...more,
  });
}

/** The program with the order-book plane alone, against a simulator. */
export async function startBooks(
  simulator: Pick<Simulator, 'endpoints'>,
  topology: string,
  kernel = '',
  more: Partial<ProgramOptions> = {},
) {
  const alone = `${topology}\nklines: { enabled: false }\ningest: { enabled: false }\n`;
  const program = programOn(simulator, alone, more, kernel);
  const outcome = await program.start();
  if (outcome.kind !== 'applied') throw new Error(JSON.stringify(outcome));
  const { port } = (await program.system.summary('/serving/publisher')) as { port: number };
  return { program, port };
}

export function bookClient(
  port: number,
  secrets: ChannelCredentials = credentials.createInsecure(),
  options: ChannelOptions = {},
) {
  const loaded = loadPackageDefinition(loadProtos(['orderbook.proto'])) as unknown as {
    orderbook: { OrderbookAggregator: ServiceClientConstructor };
  };
  const client = new loaded.orderbook.OrderbookAggregator(`127.0.0.1:${port}`, secrets, options);
  return client as unknown as Client & {
    BookSummary(request: object, metadata?: Metadata): NodeJS.ReadableStream & { cancel(): void };
  };
}

/** The first summary that satisfies the predicate. */
export function firstSummary(
  port: number,
  request: object,
  isWanted: (summary: ClientSummary) => boolean,
): Promise<ClientSummary> {
  const client = bookClient(port);
  const call = client.BookSummary(request);
  return new Promise<ClientSummary>((resolve, reject) => {
    call.on('data', (summary: ClientSummary) => isWanted(summary) && resolve(summary));
    call.on('error', reject);
  }).finally(() => {
    call.on('error', () => {});
    call.cancel();
    client.close();
  });
}

const PATIENCE_MS = 25_000;

/** Waits until the condition holds; it is looked at every few milliseconds. */
export async function until(condition: () => boolean, what: string | (() => string)): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited in vain for ${typeof what === 'string' ? what : what()}`);
    await new Promise((resolve) => setTimeout(resolve, 3));
  }
}

/** A subscriber that stays: it keeps the latest summary of each symbol and shows each one to `onSummary`. */
export class BookWatch {
  readonly latest = new Map<string, ClientSummary>();
  received = 0;
  error: Error | undefined;
  readonly #client: ReturnType<typeof bookClient>;
  readonly #call: ReturnType<ReturnType<typeof bookClient>['BookSummary']>;

  constructor(port: number, symbols: readonly string[], onSummary: (summary: ClientSummary) => void = () => {}) {
    this.#client = bookClient(port);
    this.#call = this.#client.BookSummary({ symbols });
    this.#call.on('data', (summary: ClientSummary) => {
      this.received++;
      this.latest.set(summary.symbol, summary);
      onSummary(summary);
    });
    this.#call.on('error', (error: Error) => {
      this.error = error;
    });
  }

  /** The venues whose levels are in the latest summary. */
  venues(symbol: string): string[] {
    return (this.latest.get(symbol)?.venues ?? []).filter(({ live }) => live).map(({ name }) => name);
  }

  close(): void {
    this.#call.cancel();
    this.#client.close();
  }
}
