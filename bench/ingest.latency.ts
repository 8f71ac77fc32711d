import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { appendArguments } from '../src/protocols/event-producer.ts';
import { ulidToUuid } from '../src/protocols/ulid.ts';
import { wallClockNs } from '../src/protocols/wall-clock.ts';
import { EventLoad } from '../test/ingest/load.ts';
import { Random } from '../test/ingest/random.ts';
import { type BenchOptions, quantile } from './harness.ts';
import { startKernel } from './ingest.drain.ts';
import { emptied, type Servers } from './ingest.servers.ts';
import type { KernelNote } from './ingest-worker.ts';

const SECONDS = 15;
const RATE = 5_000;
const WAIT_MS = 20_000;

/** From before XADD to the commit being visible to another connection, at a steady rate and with the default settings. */
export async function measureLatency(servers: Servers, options: BenchOptions): Promise<void> {
  await emptied(servers);
  const kernel = startKernel(servers, ['events']);
  const ended = once(kernel, 'exit');
  await once(kernel, 'message');
  const sent = new Map<string, number>();
  const watch = new CommitWatch(servers, sent);
  kernel.on('message', (note: KernelNote) => {
    if (note === 'committed') watch.look();
  });
  await send(servers, sent);
  const deadline = performance.now() + WAIT_MS;
  while (sent.size > 0 && performance.now() < deadline) {
    watch.look();
    await sleep(20);
  }
  kernel.send('stop');
  await ended;
  if (sent.size > 0) throw new Error(`${sent.size} events were never seen in Postgres`);
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    options.report(`commit_latency_${name}`, quantile(watch.latencies, share), 'ms');
  }
  options.report('commit_latency_rows', watch.latencies.length / watch.commits, 'rows a commit');
}

async function send({ redis }: Servers, sent: Map<string, number>): Promise<void> {
  const load = new EventLoad(new Random(7), 'connection-0', wallClockNs);
  const started = performance.now();
  for (let count = 0; count < RATE * SECONDS; ) {
    const due = Math.min(RATE * SECONDS, Math.floor(((performance.now() - started) / 1_000) * RATE));
    const pipeline = redis.pipeline();
    for (; count < due; count++) {
      const envelope = load.next();
      sent.set(ulidToUuid(envelope.id), performance.now());
      pipeline.xadd(...appendArguments('events', envelope));
    }
    await pipeline.exec();
    await sleep(1);
  }
}

/**
 * Another connection that looks after each commit. The sender's ids only rise and its order is kept, so what is new has ids
 * above the last one seen: the primary key's index finds them, and looking costs next to nothing.
 */
class CommitWatch {
  readonly latencies: number[] = [];
  commits = 0;
  readonly #servers: Servers;
  readonly #sent: Map<string, number>;
  #last = '00000000-0000-0000-0000-000000000000';
  #looking = false;
  #again = false;

  constructor(servers: Servers, sent: Map<string, number>) {
    this.#servers = servers;
    this.#sent = sent;
  }

  look(): void {
    this.#again = true;
    if (!this.#looking) void this.#look();
  }

  async #look(): Promise<void> {
    this.#looking = true;
    while (this.#again) {
      this.#again = false;
      const { rows } = await this.#servers.client.query<{ id: string }>({
        name: 'look',
        text: 'SELECT id FROM events WHERE part_day >= current_date - 1 AND id > $1 ORDER BY part_day, id',
        values: [this.#last],
      });
      const now = performance.now();
      if (rows.length > 0) this.commits++;
      for (const { id } of rows) {
        this.#last = id;
        this.latencies.push(now - this.#sent.get(id)!);
        this.#sent.delete(id);
      }
    }
    this.#looking = false;
  }
}
