// A frame's way through real sockets: simulated venues in a process of their own, the program in this one, a gRPC
// subscriber in a third.
//
//   received_to_published   frame received on the exchange's thread -> summary in the merger's output slot
//   received_to_written     the same until the summary is handed to gRPC for every subscriber
//   sent_to_subscriber      frame sent by the venue -> summary received in the subscriber's process
//
// The merger spins on a core of its own; the reference is a merger that sleeps until it is woken. Summaries carry the time
// at which their merge began, so the time of one merge, measured first, is added. Figures are medians over rounds;
// spinning_core_wait says how long the machine itself kept an idle spinning thread from its core before the rounds, and
// machine_bound what a path would show that always takes the median of its round, on a core that is interrupted like that. With
// --yardstick BIN (that of hotpath) both figures also stand as multiples of what native code takes to decode and merge, by_native.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startBooks } from '../test/books/harness.ts';
import { nanosecondsPerMerge } from './books.merge-time.ts';
import { type CoreLoss, coreLoss } from './core-wait.ts';
import type { SubscriberSample } from './e2e-worker.ts';
import { type Bench, type BenchOptions, median, quantile } from './harness.ts';
import { yardstickTurn } from './hotpath.ts';

/** Each with its warm-up of two seconds; a feed of 10 frames a second gives enough of them in one long round only. */
const ROUNDS = { 10: { rounds: 1, seconds: 20 }, 500: { rounds: 9, seconds: 4 } } as const;
/** The machine is watched before each round: it changes from minute to minute. */
const WATCH_MS = 1_000;
const SENT_LOOKUPS = 400;
const STREAMS: Readonly<Record<string, string>> = {
  binance: 'btcusdt@depth20@100ms',
  bitstamp: 'order_book_btcusd',
};

interface Run {
  /** How long the native yardstick takes just before to decode and merge both frames. */
  readonly nativeUs: number | undefined;
  readonly loss: CoreLoss;
  readonly publishedUs: readonly number[];
  readonly writtenUs: { readonly p50: number; readonly p99: number };
  readonly subscriberUs: readonly number[];
}

export const bench: Bench = {
  summary: 'a frame from socket to summary and to a gRPC subscriber, at 10 and 500 frames a second',
  async run(options) {
    const basis = { mergeUs: nanosecondsPerMerge(2, 10) / 1000, yardstick: options.yardstick };
    const asleep = [await measure(500, 4, 'park', basis)];
    for (const rate of [10, 500] as const) {
      const { rounds, seconds } = ROUNDS[rate];
      const runs: Run[] = [];
      for (let round = 0; round < rounds; round++) runs.push(await measure(rate, seconds, 'spin', basis));
      report(options, rate, runs, asleep);
      if (rate === 500) reportMachine(options, runs);
    }
  },
};

const SHARES = [
  ['p50', 0.5],
  ['p99', 0.99],
  ['p999', 0.999],
] as const;

function report(options: BenchOptions, rate: number, runs: readonly Run[], asleep: readonly Run[]): void {
  // The names without a rate are those of the busy feed.
  const at = rate === 500 ? '' : `_at_${rate}`;
  const say = (metric: string, pick: (run: Run) => number, hasReference: boolean) => {
    const beside = hasReference && rate === 500;
    const reference = beside ? { value: median(asleep.map(pick)), name: 'merger that sleeps' } : undefined;
    options.report(`${metric}${at}`, median(runs.map(pick)), 'us', reference);
  };
  for (const [name, share] of SHARES) {
    say(`received_to_published_${name}`, (run) => quantile(run.publishedUs, share), true);
  }
  say('received_to_written_p50', (run) => run.writtenUs.p50, false);
  say('received_to_written_p99', (run) => run.writtenUs.p99, false);
  for (const [name, share] of SHARES.slice(0, 2)) {
    say(`sent_to_subscriber_${name}`, (run) => quantile(run.subscriberUs, share), true);
  }
}

function reportMachine(options: BenchOptions, runs: readonly Run[]): void {
  for (const [name, share] of SHARES) {
    options.report(`spinning_core_wait_${name}`, median(runs.map(({ loss }) => loss.wait(share))), 'us');
  }
  if (options.yardstick !== undefined) {
    options.report('native_decode_both_and_merge', median(runs.map(({ nativeUs }) => nativeUs!)), 'us');
    for (const [name, share] of SHARES.slice(0, 2)) {
      const times = runs.map(({ publishedUs, nativeUs }) => quantile(publishedUs, share) / nativeUs!);
      options.report(`received_to_published_${name}_by_native`, median(times), 'x');
    }
  }
  for (const [name, share] of SHARES.slice(1)) {
    const bound = ({ loss, publishedUs }: Run) => loss.work(quantile(publishedUs, 0.5), share);
    options.report(`machine_bound_${name}`, median(runs.map(bound)), 'us');
  }
}

async function measure(
  rate: number,
  seconds: number,
  idle: 'spin' | 'park',
  { mergeUs, yardstick }: { readonly mergeUs: number; readonly yardstick: string | undefined },
): Promise<Run> {
  const native = yardstick === undefined ? undefined : yardstickTurn(yardstick).get('decode_both_and_merge');
  const loss = await coreLoss(availableParallelism() - 1, WATCH_MS);
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
    const arguments_ = [worker, String(port), String(seconds * 1000)];
    const subscriber = spawn(process.execPath, arguments_, { stdio: ['ignore', 'pipe', 'inherit'] });
    const samples = JSON.parse(await firstLine(subscriber)) as SubscriberSample[];
    const latency = program.bookMetrics.latency()!;
    return {
      nativeUs: native === undefined ? undefined : native / 1000,
      loss,
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
