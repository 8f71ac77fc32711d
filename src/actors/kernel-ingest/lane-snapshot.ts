import type { LaneSnapshot } from '../../protocols/ingest-snapshot.ts';
import type { Pipeline } from './pipeline.ts';

/** Plain numbers of one stream's way, safe to send between threads. */
export function laneSnapshot(pipeline: Pipeline): LaneSnapshot {
  const { counters, facts, health, spill, mode, inFlight, stream, liveness } = pipeline;
  const { read, redelivered, claimed, acked, ackMissing, stored, duplicates, spilled, replayed, replayDuplicates } =
    counters;
  const { dropped, trimmed, commits, trimmedByKernel, groupRecreations, streamResets } = counters;
  const { spillLost, spillRecovered, tornTails } = counters;
  return {
    stream,
    mode,
    inFlight,
    health,
    counts: {
      ...{ read, redelivered, claimed, acked, ackMissing, stored, duplicates, spilled, replayed, replayDuplicates },
      ...{ dropped, trimmed, commits, trimmedByKernel, groupRecreations, streamResets },
      ...{ spillLost, spillRecovered, tornTails },
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
