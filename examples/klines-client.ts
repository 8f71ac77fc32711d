// Reads the newest bars of a symbol page by page, then streams what changes. It uses nothing of ours but the proto file:
//
//   node dist/examples/klines-client.js binance BTCUSDT 1m
//   node dist/examples/klines-client.js --history 2000 --closed binance BTCUSDT 1m
import { readFileSync } from 'node:fs';
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

interface Bar {
  readonly symbol: string;
  readonly interval: string;
  readonly open_time_us: string;
  readonly open_exact: string;
  readonly high_exact: string;
  readonly low_exact: string;
  readonly close_exact: string;
  readonly volume_exact: string;
  readonly trades: string;
  readonly closed: boolean;
  readonly quality: string;
  readonly revision: number;
}

interface Page {
  readonly bars: readonly Bar[];
  readonly next_page: string;
}

type KlinesClient = Client & {
  Subscribe(request: object, metadata: Metadata): ClientReadableStream<{ bars: readonly Bar[]; conflated: string }>;
  History(request: object, metadata: Metadata, done: (error: ServiceError | null, page: Page) => void): void;
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    address: { type: 'string', default: '127.0.0.1:50051' },
    proto: { type: 'string', default: 'src/protocols/proto/klines.proto' },
    ca: { type: 'string' },
    'token-file': { type: 'string' },
    /** Bars of the past to print first. */
    history: { type: 'string', default: '10' },
    /** Only closed bars and their revisions. */
    closed: { type: 'boolean', default: false },
    /** Ends after so many bars of the stream; 0 goes on for ever. */
    count: { type: 'string', default: '0' },
  },
});
const [venue = 'binance', symbol = 'BTCUSDT', interval = '1m'] = positionals;

// `longs: String` keeps times and trade ids beyond 2^53 exact.
const loaded = loadPackageDefinition(
  loadSync(values.proto, { keepCase: true, longs: String, enums: String, defaults: true }),
);
const { Klines } = loaded['klines'] as unknown as { Klines: ServiceClientConstructor };
const channel = values.ca === undefined ? credentials.createInsecure() : credentials.createSsl(readFileSync(values.ca));
const client = new Klines(values.address, channel) as unknown as KlinesClient;
const headers = new Metadata();
if (values['token-file'] !== undefined) {
  headers.set('authorization', `Bearer ${readFileSync(values['token-file'], 'utf8').trim()}`);
}

function show(bar: Bar): void {
  const time = new Date(Number(BigInt(bar.open_time_us) / 1000n)).toISOString();
  const prices = `${bar.open_exact} ${bar.high_exact} ${bar.low_exact} ${bar.close_exact}`;
  const state = bar.closed ? `closed r${bar.revision} ${bar.quality}` : 'open';
  process.stdout.write(`${bar.symbol} ${bar.interval} ${time} ${prices} ${bar.volume_exact} x${bar.trades} ${state}\n`);
}

/** The newest `wanted` bars, oldest first. Pages come newest first, each from where the last one ended. */
async function history(wanted: number): Promise<Bar[]> {
  const bars: Bar[] = [];
  let page = '';
  do {
    const request = { venue, symbol, interval, limit: Math.min(1000, wanted - bars.length), page };
    const found = await new Promise<Page>((resolve, reject) => {
      client.History(request, headers, (error, answer) => (error === null ? resolve(answer) : reject(error)));
    });
    bars.push(...found.bars);
    page = found.next_page;
  } while (page !== '' && bars.length < wanted);
  return bars.reverse();
}

try {
  // Subscribe first: what changes while the history is read comes as well, and a bar is known by its opening.
  const request = { venue, symbols: [symbol], intervals: [interval], closed_only: values.closed };
  const call = client.Subscribe(request, headers);
  call.on('error', () => {});
  for (const bar of await history(Number(values.history))) show(bar);
  let left = Number(values.count) || Number.POSITIVE_INFINITY;
  for await (const { bars } of call as AsyncIterable<{ bars: readonly Bar[] }>) {
    for (const bar of bars) {
      show(bar);
      left--;
    }
    if (left <= 0) break;
  }
  call.cancel();
} catch (error) {
  const { code, details } = error as ServiceError;
  process.stderr.write(`${status[code]}: ${details}\n`);
  process.exitCode = 1;
}
client.close();
