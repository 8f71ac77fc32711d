import type { KernelIngestSettings, SinkSettings, SpillSettings } from '../../src/protocols/topology.ts';

/** The defaults of config/kernel.yaml, spelled out. */
export function readerSettings(stream: string, more: Partial<KernelIngestSettings> = {}): KernelIngestSettings {
  return {
    stream,
    shard: 0,
    shards: 1,
    modules: [],
    whenFull: 'block',
    whenFullByType: {},
    group: 'kernel',
    consumer: 'kernel-1',
    deadLetterStream: `${stream}:dlq`,
    readCount: 1_000,
    readBlockMs: 1_000,
    inFlightMessages: 32_000,
    inFlightBytes: 32 * 1024 * 1024,
    maxEntryBytes: 256 * 1024,
    maxDepth: 32,
    claimIdleMs: 60_000,
    claimEveryMs: 30_000,
    poisonAfter: 5,
    trimAfterMs: 3_600_000,
    trimEveryMs: 10_000,
    ...more,
  };
}

export function sinkSettings(more: Partial<SinkSettings> = {}): SinkSettings {
  return {
    batchRows: 8_000,
    batchBytes: 4 * 1024 * 1024,
    batchTimeMs: 50,
    connections: 2,
    statementTimeoutMs: 8_000,
    queryTimeoutMs: 10_000,
    lockTimeoutMs: 3_000,
    contentionRetries: 5,
    partitionsAhead: 7,
    breaker: { failures: 2, probeMinMs: 1_000, probeMaxMs: 10_000 },
    republish: null,
    ...more,
  };
}

export function spillSettings(folder: string, more: Partial<SpillSettings> = {}): SpillSettings {
  return {
    folder,
    maxBytes: 4 * 1024 ** 3,
    minFreeBytes: 0,
    whenFull: 'block',
    segmentBytes: 64 * 1024 * 1024,
    segmentAgeMs: 60_000,
    ...more,
  };
}
