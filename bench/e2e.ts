// A frame's way through real sockets: simulated venues in a process of their own, the program in this one, a gRPC
// subscriber in a third.
//
//   received_to_published   frame received on the exchange's thread -> summary in the merger's output slot
//   received_to_written     the same until the summary is handed to gRPC for every subscriber
//   sent_to_subscriber      frame sent by the venue -> summary decoded in the subscriber's process
//
// The merger spins on a core of its own; the reference is a merger that sleeps until it is woken. Summaries carry the time
// at which their merge began, so the time of one merge, measured first, is added.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startBooks } from '../test/books/harness.ts';
import { nanosecondsPerMerge } from './books.merge-time.ts';
import type { SubscriberSample } from './e2e-worker.ts';
import { type Bench, type BenchOptions, quantile } from './harness.ts';

const SECONDS = 8;
const SENT_LOOKUPS = 400;
const STREAMS: Readonly<Record<string, string>> = {
  binance: 'btcusdt@depth20@100ms',
  bitstamp: 'order_book_btcusd',
};

interface Run {
  readonly publishedUs: readonly number[];
  readonly writtenUs: { readonly p50: number; readonly p99: number };
  readonly subscriberUs: readonly number[];
}

export const bench: Bench = {
  summary: 'a frame from socket to summary and to a gRPC subscriber, at 10 and 500 frames a second',
  async run(options) {
    const mergeUs = nanosecondsPerMerge(2, 10) / 1000;
    const asleep = await measure(500, 'park', mergeUs);
    for (const rate of [10, 500]) {
      const run = await measure(rate, 'spin', mergeUs);
      report(options, rate, run, asleep);
    }
  },
};

function report(options: BenchOptions, rate: number, run: Run, asleep: Run): void {
  // The names without a rate are those of the busy feed.
  const at = rate === 500 ? '' : `_at_${rate}`;
  const beside = (values: readonly number[], share: number) =>
    rate === 500 ? { value: quantile(values, share), name: 'merger that sleeps' } : undefined;
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
    ['p999', 0.999],
  ] as const) {
    const metric = `received_to_published_${name}${at}`;
    options.report(metric, quantile(run.publishedUs, share), 'us', beside(asleep.publishedUs, share));
  }
  options.report(`received_to_written_p50${at}`, run.writtenUs.p50, 'us');
  options.report(`received_to_written_p99${at}`, run.writtenUs.p99, 'us');
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const metric = `sent_to_subscriber_${name}${at}`;
    options.report(metric, quantile(run.subscriberUs, share), 'us', beside(asleep.subscriberUs, share));
  }
}

async function measure(rate: number, idle: 'spin' | 'park', mergeUs: number): Promise<Run> {
  const main = fileURLToPath(new URL('../src/cli/main.js', import.meta.url));
  const words = ['sim', '--port', '0', '--json', '--rate', String(rate), '--symbols', 'BTC-USD', '--list-every', '0'];
  const venues = spawn(process.execPath, [main, ...words], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { url, venues: endpoints } = JSON.parse(await firstLine(venues)) as {
    url: string;
    venues: Record<string, { wsUrl: string; restUrl: string }>;
  };
  const { program, port } = await startBooks(
    { endpoints: (venue) => endpoints[venue]! },
    `
threads: { merger: { kind: pinned, cpu: last, idle: ${idle} } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } } }
feeds: { binance: { trades: false }, bitstamp: { trades: false } }
`,
  );
  try {
    const worker = fileURLToPath(new URL('./e2e-worker.js', import.meta.url));
    const arguments_ = [worker, String(port), String(SECONDS * 1000)];
    const subscriber = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] });
    const samples = JSON.parse(await firstLine(subscriber)) as SubscriberSample[];
    const latency = program.bookMetrics.latency()!;
    return {
      publishedUs: samples.map(({ latencyNs }) => latencyNs / 1000 + mergeUs),
      writtenUs: { p50: latency.p50Us, p99: latency.p99Us },
      subscriberUs: await sentToSubscriber(url, samples),
    };
  } finally {
    await program.stop();
    venues.kill('SIGTERM');
    await once(venues, 'exit');
    // The next run starts on an idle machine.
    await sleep(500);
  }
}

async function firstLine(child: ChildProcess): Promise<string> {
  const lines = createInterface({ input: child.stdout! });
  const [line] = (await once(lines, 'line')) as [string];
  return line;
}

/** Asks the venues when they sent the frames behind some of the summaries. */
async function sentToSubscriber(url: string, samples: readonly SubscriberSample[]): Promise<number[]> {
  const step = Math.max(1, Math.floor(samples.length / SENT_LOOKUPS));
  const times: number[] = [];
  for (let at = 0; at < samples.length; at += step) {
    const { venue, sequence, receivedNs } = samples[at]!;
    const query = new URLSearchParams({ venue, stream: STREAMS[venue] ?? '', sequence });
    const { sent_ns } = (await (await fetch(`${url}/_sim/sent?${query}`)).json()) as { sent_ns: string | null };
    if (sent_ns !== null) times.push((receivedNs - Number(sent_ns)) / 1000);
  }
  return times;
}
