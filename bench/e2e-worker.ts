// The subscriber of the e2e benchmark: collects for a while, then prints one line of JSON.
import { Client, credentials, type ServiceDefinition } from '@grpc/grpc-js';
import { loadProtos } from '../src/actors/publisher/grpc-server.ts';
import type { ClientSummary } from '../test/books/harness.ts';

export interface SubscriberSample {
  /** The venue and number of the newest frame in the summary. */
  readonly venue: string;
  readonly sequence: string;
  /** From that frame's arrival to the start of the merge. */
  readonly latencyNs: number;
  /** When the summary came here, by the machine's monotonic clock. */
  readonly receivedNs: number;
}

interface TimedSummary extends ClientSummary {
  readonly latency_ns: string;
  readonly venues: readonly (ClientSummary['venues'][number] & { readonly received_unix_us: string })[];
}

/** What comes first finds cold code and full queues. */
const WARM_UP_MS = 2_000;

const [port, forMs] = process.argv.slice(2).map(Number) as [number, number];
const { path, requestSerialize, responseDeserialize } = (
  loadProtos(['orderbook.proto'])['orderbook.OrderbookAggregator'] as ServiceDefinition
)['BookSummary']!;
const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
// Summaries are decoded when all are there: whoever measures two cores must leave them to what is measured.
const received: { readonly message: Buffer; readonly atNs: number }[] = [];
const keep = (message: Buffer): Buffer => message;
const call = client.makeServerStreamRequest(path, requestSerialize, keep, { symbols: ['BTC-USD'] });
const startMs = performance.now();
call.on('error', () => {});
call.on('data', (message: Buffer) => {
  const atNs = Number(process.hrtime.bigint());
  if (performance.now() - startMs >= WARM_UP_MS) received.push({ message, atNs });
});
setTimeout(() => {
  call.cancel();
  client.close();
  process.stdout.write(`${JSON.stringify(received.map(sampleOf))}\n`);
}, WARM_UP_MS + forMs);

function sampleOf({ message, atNs }: (typeof received)[number]): SubscriberSample {
  const summary = responseDeserialize(message) as TimedSummary;
  const [newest] = [...summary.venues].sort((a, b) => Number(b.received_unix_us) - Number(a.received_unix_us));
  const { name, sequence } = newest!;
  return { venue: name, sequence, latencyNs: Number(summary.latency_ns), receivedNs: atNs };
}
