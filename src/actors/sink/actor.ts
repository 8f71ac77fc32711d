import type { SinkSettings } from '../../protocols/topology.ts';
import type { Behaviour } from '../../supervision/actor.ts';
import { type OpenSink, shareSink } from '../kernel-ingest/thread-share.ts';
import { Republisher } from '../republish/republisher.ts';
import { EventWriter } from './event-writer.ts';

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
export function sink(args: SinkArgs): Behaviour<never, OpenSink> {
  return {
    init(context) {
      const { settings, postgresUrl: url, redisUrl, connectTimeoutMs } = args;
      const writers = Array.from(
        { length: settings.connections },
        () =>
          new EventWriter({ url, connectTimeoutMs, settings, reached: () => {}, warn: (text) => context.warn(text) }),
      );
      const republisher = settings.republish === null ? undefined : new Republisher(redisUrl, settings.republish);
      const open = { settings, writers, republisher };
      shareSink(open);
      return open;
    },
    receive: (state) => state,
    async end({ writers, republisher }) {
      shareSink(undefined);
      republisher?.close();
      await Promise.all(writers.map((writer) => writer.close()));
    },
    summary: ({ writers, republisher }) => ({
      connections: writers.length,
      republish: republisher === undefined ? null : { published: republisher.published, dropped: republisher.dropped },
    }),
  };
}
