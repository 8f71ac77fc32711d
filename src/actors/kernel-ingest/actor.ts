import { hostname } from 'node:os';
import type { IngestSnapshot, LaneSnapshot } from '../../protocols/ingest-snapshot.ts';
import type { Ref } from '../../protocols/ref.ts';
import type { KernelIngestSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { laneSnapshot } from './lane-snapshot.ts';
import { Pipeline } from './pipeline.ts';
import { areReplaced, drainTime, type SharedParts, sharedParts } from './thread-share.ts';

/** What a reader says of its lane, a few times a second. */
export interface LanePosting {
  readonly path: string;
  readonly lane: LaneSnapshot;
  readonly republish: IngestSnapshot['republish'];
}

export interface KernelIngestArgs {
  readonly settings: KernelIngestSettings;
  readonly redisUrl: string;
  readonly connectTimeoutMs: number;
  /** Time for what was read to become durable and acknowledged when the readers are told to stop. */
  readonly drainMs: number;
  readonly statusTo: Ref<LanePosting>;
}

export interface KernelIngestTick {
  readonly kind: 'tick';
}

interface State {
  readonly pipeline: Pipeline;
  readonly parts: SharedParts;
}

const TICK_MS = 500;

/** Reads one stream, or one shard of it, and takes every entry to Postgres, the spill, or the dead-letter stream. */
export function kernelIngest(args: KernelIngestArgs): Behaviour<KernelIngestTick, State> {
  return {
    async init(context) {
      const { settings: reader, redisUrl, connectTimeoutMs } = args;
      const parts = sharedParts();
      const pipeline = await Pipeline.open({
        ...{ redisUrl, connectTimeoutMs, reader, host: hostname(), ...parts },
        reached: () => {},
        warn: (text) => context.warn(text),
        failed: (error) => context.fail(error),
      });
      context.timers.every('tick', TICK_MS, { kind: 'tick' });
      return { pipeline, parts };
    },

    receive(state, _tick, context) {
      const { republished: republish } = state.parts.writers;
      args.statusTo.tell({ path: context.path, lane: laneSnapshot(state.pipeline), republish });
      // The next life begins with the new ones.
      if (areReplaced(state.parts)) context.stop();
      return state;
    },

    async end({ pipeline }, reason) {
      if (reason.kind === 'failure') await pipeline.close();
      else await pipeline.stop(drainTime(args.drainMs, performance.now()));
    },

    summary: ({ pipeline }) => laneSnapshot(pipeline),
  };
}
