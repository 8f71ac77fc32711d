// Whether open dashboards slow the hot path: from a frame received on the exchange's thread to its summary in the merger's
// output slot, with the simulated venues and the dashboards in processes of their own. Stretches with and without
// dashboards take turns, so that a busy neighbour burdens both alike.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { startCommand } from '../src/program/child-process.ts';
import { BookWatch, type ClientSummary, startBooks } from '../test/books/harness.ts';
import { type BenchOptions, median, quantile, ROUNDS } from './harness.ts';

const FRAMES_PER_SECOND = 500;
const STRETCH_MS = 1500;
const SETTLE_MS = 300;

export async function measureHotPath(options: BenchOptions, dashboards: number): Promise<void> {
  const args = ['--port', '0', '--rate', String(FRAMES_PER_SECOND), '--symbols', 'BTC-USD', '--list-every', '0'];
  const sim = await startCommand(['sim', '--json', ...args]);
  const { venues } = JSON.parse(sim.firstLine) as { venues: Record<string, { wsUrl: string; restUrl: string }> };
  const { program, port } = await startBooks(
    { endpoints: (venue) => venues[venue]! },
    `
threads: { merger: { kind: pinned, cpu: last, idle: spin } }
instruments: { BTC-USD: { venues: { binance: BTCUSDT, bitstamp: btcusd } } }
feeds: { binance: { trades: false }, bitstamp: { trades: false } }
`,
  );
  const readers = fork(new URL('./console-readers-worker.js', import.meta.url));
  let latenciesUs: number[] = [];
  const watch = new BookWatch(port, ['BTC-USD'], (summary) => {
    latenciesUs.push(Number((summary as ClientSummary & { latency_ns: string }).latency_ns) / 1000);
  });
  try {
    const p99With = async (count: number) => {
      await show(readers, program.consoleUrl!, count);
      await sleep(SETTLE_MS);
      latenciesUs = [];
      await sleep(STRETCH_MS);
      return quantile(latenciesUs, 0.99);
    };
    const [alone, watched]: [number[], number[]] = [[], []];
    await p99With(dashboards);
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await p99With(0));
      watched.push(await p99With(dashboards));
    }
    const reference = { value: median(alone), name: 'without a dashboard' };
    options.report('received_to_published_p99_10_dashboards', median(watched), 'us', reference);
  } finally {
    watch.close();
    readers.disconnect();
    await program.stop();
    await sim.stop();
  }
}

async function show(readers: ChildProcess, url: string, count: number): Promise<void> {
  readers.send({ url, count });
  await once(readers, 'message');
}
