import type { Bench } from './harness.ts';
import { measureDrain, measureShards } from './ingest.drain.ts';
import { measureLatency } from './ingest.latency.ts';
import { measureReplay } from './ingest.replay.ts';
import { withServers } from './ingest.servers.ts';

// npm run bench -- ingest [--only drain,shards,latency,replay]
//
// Real servers with the settings that the program gives them, the kernel in a process of its own with the program's
// defaults, events of about 350 bytes and mixed types.

const PARTS = { drain: measureDrain, shards: measureShards, latency: measureLatency, replay: measureReplay };

export const bench: Bench = {
  summary: 'Redis to Postgres: drain of a backlog beside raw COPY, shards, commit latency, replay',
  run: (options) =>
    withServers(async (servers) => {
      for (const [part, measure] of Object.entries(PARTS)) {
        if (options.only === undefined || options.only.includes(part)) await measure(servers, options);
      }
    }),
};
