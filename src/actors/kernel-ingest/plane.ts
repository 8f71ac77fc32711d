import { hostname } from 'node:os';
import type { LaneHealth } from '../../protocols/ingest.ts';
import type { IngestSnapshot } from '../../protocols/ingest-snapshot.ts';
import type { KernelIngestSettings, SinkSettings, SpillSettings } from '../../protocols/topology.ts';
import type { WritePoint } from '../sink/event-writer.ts';
import { Writers } from '../sink/writers.ts';
import { SpillYard } from '../spill/yard.ts';
import { laneSnapshot } from './lane-snapshot.ts';
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

/** Everything between Redis and Postgres in one process: one pipeline a stream, and what they share. */
export class IngestPlane {
  readonly #yard: SpillYard;
  readonly #writers: Writers;
  readonly #pipelines: readonly Pipeline[];

  private constructor(yard: SpillYard, writers: Writers, pipelines: readonly Pipeline[]) {
    this.#yard = yard;
    this.#writers = writers;
    this.#pipelines = pipelines;
  }

  /** Starts with Postgres or Redis down just as well: it spills, or waits, and says so in its health. */
  static async start(options: IngestPlaneOptions): Promise<IngestPlane> {
    const { readers, redisUrl, postgresUrl } = options;
    const connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_MS;
    const reached = options.reached ?? (() => undefined);
    const warn = options.warn ?? (() => undefined);
    const failed = options.failed ?? (() => undefined);
    const yard = new SpillYard(options.spill);
    const writers = new Writers({ settings: options.sink, postgresUrl, redisUrl, connectTimeoutMs, reached, warn });
    const pipelines: Pipeline[] = [];
    for (const reader of readers) {
      const host = hostname();
      pipelines.push(
        await Pipeline.open({ redisUrl, connectTimeoutMs, reader, host, writers, yard, reached, warn, failed }),
      );
    }
    return new IngestPlane(yard, writers, pipelines);
  }

  get health(): LaneHealth {
    const all = this.#pipelines.map(({ stream, health }) => ({ stream, ...health }));
    const reasons = all.flatMap(({ stream, reasons: why }) => why.map((reason) => `${stream}: ${reason}`));
    const worst = (['red', 'yellow'] as const).find((state) => all.some((one) => one.state === state));
    return { state: worst ?? 'green', reasons };
  }

  /** Plain numbers for metrics, dashboard and tests; safe to send between threads. */
  snapshot(): IngestSnapshot {
    return { lanes: this.#pipelines.map(laneSnapshot), republish: this.#writers.republished };
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
    await this.#writers.close();
    await this.#yard.release();
  }
}
