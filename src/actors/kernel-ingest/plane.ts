import { hostname } from 'node:os';
import { resolve } from 'node:path';
import type { LaneHealth } from '../../protocols/ingest.ts';
import type { IngestSnapshot, LaneSnapshot } from '../../protocols/ingest-snapshot.ts';
import type { KernelIngestSettings, SinkSettings, SpillSettings } from '../../protocols/topology.ts';
import { Republisher } from '../republish/republisher.ts';
import { EventWriter, type WritePoint } from '../sink/event-writer.ts';
import { lockFolder } from './folder-lock.ts';
import { Pipeline, type PipelinePoint } from './pipeline.ts';

export type IngestPoint = PipelinePoint | WritePoint;

export interface IngestPlaneOptions {
  readonly redisUrl: string;
  readonly postgresUrl: string;
  readonly connectTimeoutMs?: number;
  readonly readers: readonly KernelIngestSettings[];
  readonly sink: SinkSettings;
  readonly spill: SpillSettings;
  /** Told at the named points on an event's way; tests end the process there. */
  reached?(point: IngestPoint): void;
  warn?(text: string): void;
  /** A part failed in a way that it cannot handle: close the plane and start a new one. */
  failed?(error: Error): void;
}

const CONNECT_MS = 3_000;

/** Everything between Redis and Postgres in one process: one pipeline a stream, and the connections that they share. */
export class IngestPlane {
  readonly #pipelines: readonly Pipeline[];
  readonly #writers: readonly EventWriter[];
  readonly #republisher: Republisher | undefined;
  readonly #unlock: () => void;

  private constructor(
    pipelines: readonly Pipeline[],
    writers: readonly EventWriter[],
    republisher: Republisher | undefined,
    unlock: () => void,
  ) {
    this.#pipelines = pipelines;
    this.#writers = writers;
    this.#republisher = republisher;
    this.#unlock = unlock;
  }

  /** Starts with Postgres or Redis down just as well: it spills, or waits, and says so in its health. */
  static async start(options: IngestPlaneOptions): Promise<IngestPlane> {
    const { readers, sink, redisUrl } = options;
    const spill = { ...options.spill, folder: resolve(options.spill.folder) };
    const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_MS;
    const reached = options.reached ?? (() => undefined);
    const warn = options.warn ?? (() => undefined);
    const unlock = lockFolder(spill.folder);
    const writers = Array.from(
      { length: Math.min(sink.connections, Math.max(1, readers.length)) },
      () => new EventWriter({ url: options.postgresUrl, connectTimeoutMs, settings: sink, reached, warn }),
    );
    const republisher = sink.republish === null ? undefined : new Republisher(redisUrl, sink.republish);
    const pipelines: Pipeline[] = [];
    for (const [at, reader] of readers.entries()) {
      pipelines.push(
        await Pipeline.open({
          ...{ redisUrl, connectTimeoutMs, reader, sink, spill, reached, warn, host: hostname() },
          store: writers[at % writers.length]!,
          republish: (rows) => republisher?.offer(rows),
          failed: (error) => options.failed?.(error),
        }),
      );
    }
    return new IngestPlane(pipelines, writers, republisher, unlock);
  }

  get health(): LaneHealth {
    const all = this.#pipelines.map(({ stream, health }) => ({ stream, ...health }));
    const reasons = all.flatMap(({ stream, reasons: why }) => why.map((reason) => `${stream}: ${reason}`));
    const worst = (['red', 'yellow'] as const).find((state) => all.some((one) => one.state === state));
    return { state: worst ?? 'green', reasons };
  }

  /** Plain numbers for metrics, dashboard and tests; safe to send between threads. */
  snapshot(): IngestSnapshot {
    return {
      lanes: this.#pipelines.map(laneSnapshot),
      republish: {
        published: this.#republisher?.published ?? 0,
        dropped: this.#republisher?.dropped ?? 0,
        waiting: this.#republisher?.waiting ?? 0,
      },
    };
  }

  /** Ends in order: reads no more, settles and acknowledges what was read, then lets go. */
  async stop(deadlineMs = 8_000): Promise<void> {
    await Promise.all(this.#pipelines.map((pipeline) => pipeline.stop(deadlineMs)));
    await this.#release();
  }

  /** Ends at once, after a failure: whatever was not acknowledged comes back from Redis. */
  async close(): Promise<void> {
    await Promise.all(this.#pipelines.map((pipeline) => pipeline.close()));
    await this.#release();
  }

  async #release(): Promise<void> {
    this.#republisher?.close();
    await Promise.all(this.#writers.map((writer) => writer.close()));
    this.#unlock();
  }
}

export function laneSnapshot(pipeline: Pipeline): LaneSnapshot {
  const { counters, facts, health, spill, mode, inFlight, stream, liveness } = pipeline;
  const { read, redelivered, claimed, acked, ackMissing, stored, duplicates, spilled, replayed, replayDuplicates } =
    counters;
  const { dropped, trimmed, commits, trimmedByKernel, groupRecreations, spillLost, spillRecovered, tornTails } =
    counters;
  return {
    stream,
    mode,
    inFlight,
    health,
    counts: {
      ...{ read, redelivered, claimed, acked, ackMissing, stored, duplicates, spilled, replayed, replayDuplicates },
      ...{ dropped, trimmed, commits, trimmedByKernel, groupRecreations, spillLost, spillRecovered, tornTails },
    },
    deadLetters: Object.fromEntries(counters.deadLetters),
    spill,
    facts: facts ?? null,
    modules: liveness.sights(),
    readSeconds: counters.batchSeconds.snapshot(),
    ackSeconds: counters.ackSeconds.snapshot(),
    writeRows: counters.writeRows.snapshot(),
    writeSeconds: counters.writeSeconds.snapshot(),
  };
}
