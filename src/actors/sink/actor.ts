import type { SinkSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { shareSink } from '../kernel-ingest/thread-share.ts';
import { Writers } from './writers.ts';

export interface SinkArgs {
  readonly settings: SinkSettings;
  readonly postgresUrl: string;
  readonly redisUrl: string;
  readonly connectTimeoutMs: number;
}

/**
 * Owns the connections to Postgres. It comes up with Postgres down just as well: the readers then spill. Each reader has a
 * lane of its own over them (lane.ts), with its breaker and its order.
 */
export function sink(args: SinkArgs): Behaviour<never, Writers> {
  return {
    init(context) {
      const writers = new Writers({ ...args, reached: () => {}, warn: (text) => context.warn(text) });
      shareSink(writers);
      return writers;
    },
    receive: (writers) => writers,
    async end(writers) {
      shareSink(undefined);
      await writers.close();
    },
    summary: (writers) => ({ connections: writers.settings.connections, republish: writers.republished }),
  };
}
