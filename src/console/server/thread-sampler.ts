import type { ThreadView } from '../../protocols/console-api.ts';
import type { ActorInfo, DutyInfo, LoopInfo } from '../../supervision/inspect.ts';
import { LoopMeter } from '../../supervision/threads/loop-meter.ts';
import { type ThreadTimes, threadTimes } from './thread-times.ts';

/** What changes of a thread from second to second. */
export type ThreadLoad = Pick<
  ThreadView,
  | 'busy'
  | 'onCore'
  | 'waitingForCore'
  | 'delayMeanUs'
  | 'delayMaxUs'
  | 'collectionsPerSecond'
  | 'gcMsPerSecond'
  | 'heapUsedBytes'
  | 'heapLimitBytes'
>;

interface Reading {
  readonly atMs: number;
  readonly times: ThreadTimes | undefined;
  readonly loop: LoopInfo | undefined;
  readonly duty: DutyInfo | undefined;
}

const MAIN = '';
const NOTHING: ThreadLoad = {
  ...{ busy: null, onCore: null, waitingForCore: null, delayMeanUs: null, delayMaxUs: null },
  ...{ collectionsPerSecond: null, gcMsPerSecond: null, heapUsedBytes: null, heapLimitBytes: null },
};

/** Turns the rising counts of threads into shares and rates from look to look. */
export class ThreadSampler {
  readonly #meter = new LoopMeter();
  readonly #times: (tid: number) => ThreadTimes | undefined;
  #readings = new Map<string, Reading>();
  #loads = new Map<string, ThreadLoad>();

  constructor(times: (tid: number) => ThreadTimes | undefined = threadTimes) {
    this.#times = times;
  }

  sample(actors: readonly ActorInfo[], nowMs: number): void {
    const main: Reading = {
      ...{ atMs: nowMs, times: this.#times(process.pid), loop: this.#meter.read(), duty: undefined },
    };
    const readings = new Map([[MAIN, main]]);
    for (const { path, threadInfo } of actors) {
      if (threadInfo === undefined) continue;
      const { tid, loop, duty } = threadInfo;
      readings.set(path, { atMs: nowMs, times: this.#times(tid), loop, duty });
    }
    this.#loads = new Map(
      [...readings].map(([path, reading]) => [path, loadOf(reading, this.#readings.get(path) ?? reading)]),
    );
    this.#readings = readings;
  }

  main(): ThreadLoad {
    return this.#loads.get(MAIN) ?? NOTHING;
  }

  of(path: string): ThreadLoad {
    return this.#loads.get(path) ?? NOTHING;
  }

  close(): void {
    this.#meter.close();
  }
}

function loadOf(now: Reading, before: Reading): ThreadLoad {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1000);
  const share = (ns: number) => Math.min(1, Math.max(0, ns) / 1e9 / seconds);
  const { loop, times, duty } = now;
  return {
    ...NOTHING,
    ...(times && before.times && shares(times, before.times, share)),
    ...(loop && loopLoad(loop, before.loop ?? loop, seconds)),
    ...(duty && before.duty && { busy: share(workedNs(duty, before.duty)) }),
  };
}

function shares(now: ThreadTimes, before: ThreadTimes, share: (ns: number) => number) {
  return { onCore: share(now.onCoreNs - before.onCoreNs), waitingForCore: share(now.waitingNs - before.waitingNs) };
}

/** A new life counts from zero again: then what it has so far is what came. */
const risen = (now: number, before: number) => (now >= before ? now - before : now);

function loopLoad(loop: LoopInfo, before: LoopInfo, seconds: number) {
  const { busy, delayMeanUs, delayMaxUs, heapUsedBytes, heapLimitBytes } = loop;
  return {
    ...{ busy, delayMeanUs, delayMaxUs },
    collectionsPerSecond: risen(loop.collections, before.collections) / seconds,
    gcMsPerSecond: risen(loop.collectedUs, before.collectedUs) / 1000 / seconds,
    // Until the thread has looked at itself for the first time.
    heapUsedBytes: heapLimitBytes === 0 ? null : heapUsedBytes,
    heapLimitBytes: heapLimitBytes === 0 ? null : heapLimitBytes,
  };
}

/** Some cycles are timed; what those took for a thing, times the things that were handled. */
function workedNs(now: DutyInfo, before: DutyInfo): number {
  const samples = now.samples - before.samples;
  const perThing =
    samples > 0 ? (now.sampledNs - before.sampledNs) / samples : now.sampledNs / Math.max(1, now.samples);
  return (now.handled - before.handled) * perThing;
}
