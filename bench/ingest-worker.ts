// The kernel of the ingest benchmark: a process that does nothing else, so that its memory and its processor time are its own.
import { setTimeout as sleep } from 'node:timers/promises';
import { IngestPlane } from '../src/actors/kernel-ingest/plane.ts';
import type { KernelIngestSettings, SinkSettings, SpillSettings } from '../src/protocols/topology.ts';

export interface KernelJob {
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly readers: readonly KernelIngestSettings[];
  readonly sink: SinkSettings;
  readonly spill: SpillSettings;
  /** Drains so many events and ends; without it, runs until it is told to stop and tells of each commit. */
  readonly drain?: { readonly events: number; readonly windows: number };
}

/** What a drain came to. `rates` are events a second in equal parts of the backlog. */
export interface Drained {
  readonly rates: readonly number[];
  readonly commits: number;
  readonly seconds: number;
  readonly rssMiB: number;
  readonly cpuSeconds: number;
}

export type KernelNote = 'started' | 'committed' | Drained;

const SAMPLE_MS = 5;
const job = JSON.parse(process.argv[2]!) as KernelJob;
const tell = (note: KernelNote) => process.send?.(note);

const began = performance.now();
const plane = await IngestPlane.start({
  ...job,
  warn: () => undefined,
  failed(error) {
    throw error;
  },
  reached(point) {
    if (point === 'after-commit' && job.drain === undefined) tell('committed');
  },
});
tell('started');

if (job.drain === undefined) process.once('message', () => void plane.stop().then(() => process.disconnect()));
else {
  tell(await drained(job.drain.events, job.drain.windows));
  await plane.stop();
  process.disconnect();
}

async function drained(events: number, windows: number): Promise<Drained> {
  const rates: number[] = [];
  let from = began;
  let done = 0;
  let rss = 0;
  while (done < events) {
    await sleep(SAMPLE_MS);
    rss = Math.max(rss, process.memoryUsage.rss());
    const now = plane.snapshot().lanes.reduce((sum, lane) => sum + lane.counts.acked, 0);
    if (now - done < events / windows && now < events) continue;
    rates.push((now - done) / ((performance.now() - from) / 1_000));
    from = performance.now();
    done = now;
  }
  const seconds = (performance.now() - began) / 1_000;
  const commits = plane.snapshot().lanes.reduce((sum, lane) => sum + lane.counts.commits, 0);
  const { user, system } = process.cpuUsage();
  return { rates, commits, seconds, rssMiB: rss / 1024 / 1024, cpuSeconds: (user + system) / 1e6 };
}
