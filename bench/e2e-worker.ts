// The subscriber of the e2e benchmark: collects for a while, then prints one line of JSON.
import { bookClient, type ClientSummary } from '../test/books/harness.ts';

export interface SubscriberSample {
  /** The venue and number of the newest frame in the summary. */
  readonly venue: string;
  readonly sequence: string;
  /** From that frame's arrival to the start of the merge. */
  readonly latencyNs: number;
  /** When the summary was decoded here, by the machine's monotonic clock. */
  readonly receivedNs: number;
}

interface TimedSummary extends ClientSummary {
  readonly latency_ns: string;
  readonly venues: readonly (ClientSummary['venues'][number] & { readonly received_unix_us: string })[];
}

/** What comes first finds cold code and full queues. */
const WARM_UP_MS = 2_000;

const [port, forMs] = process.argv.slice(2).map(Number) as [number, number];
const samples: SubscriberSample[] = [];
const client = bookClient(port);
const call = client.BookSummary({ symbols: ['BTC-USD'] });
const startMs = performance.now();
call.on('error', () => {});
call.on('data', (summary: TimedSummary) => {
  const receivedNs = Number(process.hrtime.bigint());
  if (performance.now() - startMs < WARM_UP_MS) return;
  const [newest] = [...summary.venues].sort((a, b) => Number(b.received_unix_us) - Number(a.received_unix_us));
  const { name, sequence } = newest!;
  samples.push({ venue: name, sequence, latencyNs: Number(summary.latency_ns), receivedNs });
});
setTimeout(() => {
  call.cancel();
  client.close();
  process.stdout.write(`${JSON.stringify(samples)}\n`);
}, WARM_UP_MS + forMs);
