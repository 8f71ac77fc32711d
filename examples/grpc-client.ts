// Streams merged books and prints one line a summary. It uses nothing of ours but the proto file:
//
//   node dist/examples/grpc-client.js BTC-USD ETH-USD
//   node dist/examples/grpc-client.js --address market.example:50051 --ca secrets/tls_cert --token-file secrets/token BTC-USD
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import {
  type Client,
  type ClientReadableStream,
  credentials,
  loadPackageDefinition,
  Metadata,
  type ServiceClientConstructor,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

interface Level {
  readonly exchange: string;
  readonly price_exact: string;
  readonly amount_exact: string;
}

interface Summary {
  readonly symbol: string;
  readonly sequence: string;
  readonly spread_exact: string;
  readonly skipped: string;
  readonly bids: readonly Level[];
  readonly asks: readonly Level[];
}

type BookClient = Client & {
  BookSummary(request: object, metadata: Metadata): ClientReadableStream<Summary>;
};

const { values, positionals: symbols } = parseArgs({
  allowPositionals: true,
  options: {
    address: { type: 'string', default: '127.0.0.1:50051' },
    proto: { type: 'string', default: 'src/protocols/proto/orderbook.proto' },
    ca: { type: 'string' },
    'token-file': { type: 'string' },
    /** Ends after so many summaries; 0 goes on for ever. */
    count: { type: 'string', default: '0' },
  },
});

function connect(): BookClient {
  // `longs: String` keeps sequence numbers beyond 2^53 exact.
  const loaded = loadPackageDefinition(loadSync(values.proto, { keepCase: true, longs: String, defaults: true }));
  const { OrderbookAggregator } = loaded['orderbook'] as unknown as { OrderbookAggregator: ServiceClientConstructor };
  const channel =
    values.ca === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(values.ca));
  // A connection that died without a word is found by the pings.
  const options = { 'grpc.keepalive_time_ms': 10_000, 'grpc.keepalive_timeout_ms': 5_000 };
  return new OrderbookAggregator(values.address, channel, options) as unknown as BookClient;
}

function metadata(): Metadata {
  const headers = new Metadata();
  const file = values['token-file'];
  if (file !== undefined) headers.set('authorization', `Bearer ${readFileSync(file, 'utf8').trim()}`);
  return headers;
}

const show = (level: Level | undefined) =>
  level === undefined ? '-' : `${level.amount_exact} @ ${level.price_exact} ${level.exchange}`;

let left = Number(values.count) || Number.POSITIVE_INFINITY;

/** One subscription until it ends; answers whether it brought anything. */
async function subscribe(client: BookClient): Promise<boolean> {
  // At most ten summaries of a symbol in a second, always the latest; five levels a side are enough to look at.
  const call = client.BookSummary({ symbols, depth: 5, min_interval_ms: 100 }, metadata());
  let received = false;
  for await (const summary of call as AsyncIterable<Summary>) {
    received = true;
    const { symbol, sequence, bids, asks, spread_exact: spread, skipped } = summary;
    const missed = skipped === '0' ? '' : `  (${skipped} skipped)`;
    process.stdout.write(`${symbol} #${sequence}  ${show(bids[0])}  |  ${show(asks[0])}  spread ${spread}${missed}\n`);
    if (--left <= 0) break;
  }
  call.cancel();
  return received;
}

const client = connect();
/** What a second try can mend; anything else is ours to mend. */
const PASSING: ReadonlySet<number> = new Set([status.UNAVAILABLE, status.RESOURCE_EXHAUSTED, status.CANCELLED]);
let waitMs = 250;
while (left > 0) {
  try {
    if (await subscribe(client)) waitMs = 250;
  } catch (error) {
    const { code, details } = error as ServiceError;
    process.stderr.write(`${status[code]}: ${details}\n`);
    if (!PASSING.has(code)) process.exit(1);
  }
  if (left <= 0) break;
  await sleep(waitMs);
  waitMs = Math.min(10_000, waitMs * 2);
}
client.close();
