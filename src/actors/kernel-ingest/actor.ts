import { hostname } from 'node:os';
import type { LaneSnapshot } from '../../protocols/ingest-snapshot.ts';
import type { Ref } from '../../protocols/ref.ts';
import type { KernelIngestSettings, SpillSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { Pipeline } from './pipeline.ts';
import { laneSnapshot } from './plane.ts';
import { sharedSink } from './thread-share.ts';

/** What a reader says of its lane, a few times a second. */
export interface LanePosting {
  readonly path: string;
  readonly lane: LaneSnapshot;
  readonly republish: { readonly published: number; readonly dropped: number; readonly waiting: number };
}

export interface KernelIngestArgs {
  readonly settings: KernelIngestSettings;
  readonly spill: SpillSettings;
  readonly redisUrl: string;
  readonly connectTimeoutMs: number;
  readonly statusTo: Ref<LanePosting>;
}

export interface KernelIngestTick {
  readonly kind: 'tick';
}

const TICK_MS = 500;
/** Less than the supervisor's own deadline: what was read is settled and acknowledged first. */
const STOP_MS = 4_000;

/** Reads one stream, or one shard of it, and takes every entry to Postgres, the spill, or the dead-letter stream. */
export function kernelIngest(args: KernelIngestArgs): Behaviour<KernelIngestTick, Pipeline> {
  return {
    async init(context) {
      const { settings: reader, redisUrl, connectTimeoutMs } = args;
      const sink = sharedSink();
      const pipeline = await Pipeline.open({
        ...{ redisUrl, connectTimeoutMs, reader, sink: sink.settings, spill: args.spill, host: hostname() },
        // Shards of a stream write through different connections, so that one slow batch holds up one shard.
        store: sink.writers[reader.shard % sink.writers.length]!,
        republish: (rows) => sink.republisher?.offer(rows),
        reached: () => {},
        warn: (text) => context.warn(text),
        failed: (error) => context.fail(error),
      });
      context.timers.every('tick', TICK_MS, { kind: 'tick' });
      return pipeline;
    },

    receive(pipeline, _tick, context) {
      const { republisher } = sharedSink();
      args.statusTo.tell({
        path: context.path,
        lane: laneSnapshot(pipeline),
        republish: {
          published: republisher?.published ?? 0,
          dropped: republisher?.dropped ?? 0,
          waiting: republisher?.waiting ?? 0,
        },
      });
      return pipeline;
    },

    async end(pipeline, reason) {
      if (reason.kind === 'failure') await pipeline.close();
      else await pipeline.stop(STOP_MS);
    },

    summary: (pipeline) => laneSnapshot(pipeline),
  };
}
