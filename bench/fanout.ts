// One book to many subscribers in another process: 1 to 500 gRPC streams, 200 summaries a second. The reference is the
// ordinary way, in which grpc-js encodes each summary once for every client.
//
//   delivered_N     summaries written, a second
//   cpu_N           time of this process for each of them
//   latency_p99_N   from handing a summary to the service until a subscriber has it
//   rss_N           memory of this process
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Server, ServerCredentials, type ServerWritableStream } from '@grpc/grpc-js';
import { BookService, type SummaryRequest } from '../src/actors/publisher/book-service.ts';
import { SummaryEncoder } from '../src/actors/publisher/encode.ts';
import { loadProtos, rawService } from '../src/actors/publisher/grpc-server.ts';
import { writeSummary } from '../src/actors/publisher/testing.ts';
import { SUMMARY, summaryBytes } from '../src/protocols/book-layout.ts';
import { nowNs } from '../src/supervision/threads/thread-clock.ts';
import { type Bench, quantile } from './harness.ts';

const SERVICE = 'orderbook.OrderbookAggregator';
const SYMBOL = { name: 'BTC-USD', priceDecimals: 8, amountDecimals: 8 };
const VENUES = ['binance', 'bitstamp'];
const DEPTH = 10;
const COUNTS = [1, 10, 100, 500];
const EVERY_MS = 5;
const WARM_UP_MS = 1_000;
const MEASURED_MS = 3_000;

interface Run {
  readonly perSecond: number;
  readonly cpuUs: number;
  readonly p99Us: number;
  readonly rssMb: number;
}

/** Something that streams summaries: how it takes a call, and how it takes the next summary. */
interface Fanout {
  subscribe(call: ServerWritableStream<SummaryRequest, Buffer>): void;
  publish(): void;
  delivered(): number;
  close(): void;
}

export const bench: Bench = {
  summary: 'one book to 1, 10, 100 and 500 gRPC subscribers, beside encoding for each of them',
  async run(options) {
    for (const count of COUNTS) {
      const each = await measure(count, 'per client');
      const shared = await measure(count, 'once');
      const beside = (value: number) => ({ value, name: 'encoding per client' });
      options.report(`delivered_${count}`, shared.perSecond, '1/s', beside(each.perSecond));
      options.report(`cpu_${count}`, shared.cpuUs, 'us', beside(each.cpuUs));
      options.report(`latency_p99_${count}`, shared.p99Us, 'us', beside(each.p99Us));
      options.report(`rss_${count}`, shared.rssMb, 'MB', beside(each.rssMb));
    }
  },
};

async function measure(count: number, encoding: 'once' | 'per client'): Promise<Run> {
  const protos = loadProtos(['orderbook.proto']);
  const fanout = encoding === 'once' ? bookService() : plainService(protos);
  const server = new Server({ 'grpc.max_concurrent_streams': 200 });
  const definition = encoding === 'once' ? rawService(protos, SERVICE) : (protos[SERVICE] as never);
  const subscribe = (call: ServerWritableStream<SummaryRequest, Buffer>) => fanout.subscribe(call);
  server.addService(definition, { BookSummary: subscribe });
  const port = await new Promise<number>((resolve, reject) => {
    const bound = (error: Error | null, at: number) => (error === null ? resolve(at) : reject(error));
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), bound);
  });
  const worker = fileURLToPath(new URL('./fanout-worker.js', import.meta.url));
  const words = [worker, String(port), String(count), String(WARM_UP_MS), String(MEASURED_MS)];
  const clients = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: clients.stdout });
  const timer = setInterval(() => fanout.publish(), EVERY_MS);
  try {
    // The first line says that all are served; the second brings the latencies.
    await once(lines, 'line');
    const before = { cpu: process.cpuUsage(), delivered: fanout.delivered(), ms: performance.now() };
    const [line] = (await once(lines, 'line')) as [string];
    const { user, system } = process.cpuUsage(before.cpu);
    const delivered = fanout.delivered() - before.delivered;
    return {
      perSecond: delivered / ((performance.now() - before.ms) / 1000),
      cpuUs: (user + system) / delivered,
      p99Us: quantile(JSON.parse(line) as number[], 0.99),
      rssMb: process.memoryUsage.rss() / 2 ** 20,
    };
  } finally {
    clearInterval(timer);
    fanout.close();
    server.forceShutdown();
    clients.kill('SIGKILL');
  }
}

function someSummary() {
  const memory = new SharedArrayBuffer(summaryBytes(VENUES.length, DEPTH));
  const level = (price: number, venue: number) => ({ price: BigInt(price * 1e8), amount: 123_456_789n, venue });
  writeSummary(memory, 0, DEPTH, {
    sequence: 1n,
    spread: 100_000_000n,
    mergedNs: 1n,
    receivedNs: 1n,
    bids: Array.from({ length: DEPTH }, (_, at) => level(97_234 - at, at % 2)),
    asks: Array.from({ length: DEPTH }, (_, at) => level(97_235 + at, at % 2)),
    venues: VENUES.map(() => ({ isIn: true, receivedNs: 1n, sequence: 47_000_000_000n })),
  });
  const view = new DataView(memory);
  return {
    memory,
    stamp: () => view.setBigUint64(SUMMARY.received_ns, BigInt(Math.round(nowNs())), true),
  };
}

function bookService(): Fanout {
  const { memory, stamp } = someSummary();
  // With an offset of zero the summaries carry the monotonic clock, which the subscribers' process shares.
  const encoder = new SummaryEncoder(memory, { venues: VENUES, depth: DEPTH }, 0);
  const limits = { maxSubscribers: 1_000, maxSymbols: 10, cutSlowAfterMs: 60_000 };
  const service = new BookService({
    ...{ symbols: [SYMBOL], defaultSymbol: SYMBOL.name, depth: DEPTH, encoder, ...limits },
    latest: () => undefined,
    now: () => performance.now(),
  });
  return {
    subscribe: (call) => service.subscribe(call),
    publish: () => {
      stamp();
      service.publish(0, 0);
    },
    delivered: () => service.stats().delivered,
    close: () => service.close(),
  };
}

/** The same summary as an object, which grpc-js encodes for each call; a call that is not drained is passed over. */
function plainService(protos: ReturnType<typeof loadProtos>): Fanout {
  const { memory, stamp } = someSummary();
  const encoder = new SummaryEncoder(memory, { venues: VENUES, depth: DEPTH }, 0);
  const { BookSummary } = protos[SERVICE] as unknown as {
    BookSummary: { responseDeserialize(bytes: Buffer): object };
  };
  const calls = new Set<{ write(message: object): boolean; readonly writableNeedDrain: boolean }>();
  let delivered = 0;
  return {
    subscribe: (call) => {
      const one = call as unknown as Parameters<typeof calls.add>[0];
      calls.add(one);
      call.on('cancelled', () => calls.delete(one));
    },
    publish: () => {
      stamp();
      const message = BookSummary.responseDeserialize(encoder.encode(0, SYMBOL, DEPTH));
      for (const call of calls) {
        if (call.writableNeedDrain) continue;
        call.write(message);
        delivered++;
      }
    },
    delivered: () => delivered,
    close: () => calls.clear(),
  };
}
