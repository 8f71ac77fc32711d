// The subscribers of the fanout benchmark, all in this process. Prints a line when all are served, and one with the
// latencies of a sample of the summaries at the end.
import { credentials, makeClientConstructor, type ServiceDefinition } from '@grpc/grpc-js';
import { loadProtos } from '../src/actors/publisher/grpc-server.ts';

const STREAMS_PER_CONNECTION = 100;
/** Every so many summaries are decoded; the others are only counted, so that this process is not what is measured. */
const DECODE_EVERY = 25;

const [port, count, warmUpMs, forMs] = process.argv.slice(2).map(Number) as [number, number, number, number];
const service = loadProtos(['orderbook.proto'])['orderbook.OrderbookAggregator'] as ServiceDefinition;
const { BookSummary } = service as unknown as {
  BookSummary: { responseDeserialize(bytes: Buffer): { received_unix_us: string } };
};
const Raw = makeClientConstructor(
  { BookSummary: { ...service['BookSummary']!, responseDeserialize: (bytes: Buffer) => bytes } },
  'OrderbookAggregator',
);

const latenciesUs: number[] = [];
let served = 0;
let received = 0;
let isMeasuring = false;

function onSummary(bytes: Buffer): void {
  if (!isMeasuring || ++received % DECODE_EVERY !== 0) return;
  const nowUs = Number(process.hrtime.bigint()) / 1000;
  latenciesUs.push(nowUs - Number(BookSummary.responseDeserialize(bytes).received_unix_us));
}

function measure(): void {
  isMeasuring = true;
  process.stdout.write('served\n');
  setTimeout(() => process.stdout.write(`${JSON.stringify(latenciesUs)}\n`), forMs);
}

let client: InstanceType<typeof Raw> | undefined;
for (let stream = 0; stream < count; stream++) {
  if (stream % STREAMS_PER_CONNECTION === 0) {
    // Channels to one address share a connection unless they are told not to.
    client = new Raw(`127.0.0.1:${port}`, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });
  }
  const call = (client as unknown as { BookSummary(request: object): NodeJS.ReadableStream }).BookSummary({});
  let isServed = false;
  call.on('error', () => {});
  call.on('data', (bytes: Buffer) => {
    if (!isServed) {
      isServed = true;
      served++;
      if (served === count) setTimeout(measure, warmUpMs);
    }
    onSummary(bytes);
  });
}
