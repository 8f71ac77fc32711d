import { DECIMALS_DEFAULT } from '../../protocols/book-layout.ts';
import { isWanted } from '../../protocols/symbols.ts';
import type * as wanted from '../../protocols/topology.ts';
import type { Configuration } from './load.ts';

// What each kind of actor is told, from the three files. Units go last in the names: milliseconds and bytes.

export function system({ kernel, topology }: Configuration): wanted.SystemSettings {
  return {
    name: topology.name,
    dataFolder: kernel.data,
    postgres: server(kernel.servers.postgres),
    redis: server(kernel.servers.redis),
    symbolsMax: kernel.limits.symbols,
    logLevel: kernel.log.level,
    shutdown: { drainMs: kernel.shutdown.drain, deadlineMs: kernel.shutdown.deadline },
    watching: { enabled: kernel.topology.watch, debounceMs: kernel.topology.debounce },
    apply: { healthDeadlineMs: kernel.topology.healthDeadline, stableForMs: kernel.topology.stableFor },
    simulation: kernel.simulation,
  };
}

function server(config: Configuration['kernel']['servers']['redis']): wanted.ServerSettings {
  const { url, passwordFile = null, connectTimeout } = config;
  return { url, passwordFile, connectTimeoutMs: connectTimeout };
}

export function watchdog({ topology }: Configuration): wanted.WatchdogSettings {
  return { stallAfterMs: topology.klines.stallAfter, deadAfterMs: topology.klines.deadAfter };
}

export function spill({ kernel: { spill: config } }: Configuration): wanted.SpillSettings {
  const { folder, maxBytes, minFreeBytes, whenFull, segmentBytes, segmentAge } = config;
  return { folder, maxBytes, minFreeBytes, whenFull, segmentBytes, segmentAgeMs: segmentAge };
}

export function sink({ kernel: { sink: config, ingest } }: Configuration): wanted.SinkSettings {
  const { batchRows, batchBytes, connections, contentionRetries, partitionsAhead, breaker } = config;
  const { enabled, stream, capacity, maxLength } = ingest.republish;
  return {
    ...{ batchRows, batchBytes, connections, contentionRetries, partitionsAhead },
    batchTimeMs: config.batchTime,
    statementTimeoutMs: config.statementTimeout,
    queryTimeoutMs: config.queryTimeout,
    lockTimeoutMs: config.lockTimeout,
    breaker: { failures: breaker.failures, probeMinMs: breaker.probeMin, probeMaxMs: breaker.probeMax },
    republish: enabled ? { stream, capacity, maxLength } : null,
  };
}

/** One reader a shard of each stream: those of the topology file, then those that only modules name. */
export function kernelIngest({ kernel, topology, modules }: Configuration): wanted.KernelIngestSettings[] {
  const { ingest } = kernel;
  const enabled = modules.filter((module) => module.enabled);
  const plain = { shards: 1, whenFull: 'block', whenFullByType: {} } as const;
  const streams = new Map(enabled.flatMap((module) => module.streams).map((stream) => [stream, plain]));
  const all = Object.entries({ ...Object.fromEntries(streams), ...topology.ingest.streams });
  all.sort(([a], [b]) => (a < b ? -1 : 1));
  return all.flatMap(([stream, { shards, whenFull, whenFullByType }]) =>
    Array.from({ length: shards }, (_, shard) => ({
      ...{ stream, shard, shards, whenFull },
      whenFullByType: withoutUndefined(whenFullByType),
      modules: enabled
        .filter((module) => module.streams.includes(stream))
        .map((module) => ({ name: module.name, silentAfterMs: module.silentAfter })),
      group: ingest.group,
      consumer: ingest.consumer ?? null,
      deadLetterStream: `${stream}${ingest.deadLetterSuffix}`,
      readCount: ingest.readCount,
      readBlockMs: ingest.readBlock,
      inFlightMessages: ingest.inFlightMessages,
      inFlightBytes: ingest.inFlightBytes,
      maxEntryBytes: ingest.maxEntry,
      maxDepth: ingest.maxDepth,
      claimIdleMs: ingest.claimIdle,
      claimEveryMs: ingest.claimEvery,
      poisonAfter: ingest.poisonAfter,
      trimAfterMs: ingest.trimAfter,
      trimEveryMs: ingest.trimEvery,
    })),
  );
}

function withoutUndefined<T>(mapping: { readonly [key: string]: T | undefined }): Record<string, T> {
  return Object.fromEntries(Object.entries(mapping).filter((entry): entry is [string, T] => entry[1] !== undefined));
}

/** The symbols of a venue, in the order of the file: one that is added at its end moves none of the others. */
function symbolsOf({ topology }: Configuration, venue: string): wanted.MappedSymbol[] {
  return Object.entries(topology.instruments).flatMap(([instrument, { venues, scale }]) => {
    const symbol = venues[venue];
    return symbol === undefined ? [] : [{ instrument, symbol, scale }];
  });
}

/**
 * The global index runs over instruments in the order of the file and, within each, over venues. Symbols are dealt to
 * the workers diagonally, so that no worker gets all of one busy venue. With 2 workers and venues a, b:
 *
 *   BTC a0 b1    worker 0: BTC a, ETH b      worker 1: BTC b, ETH a
 *   ETH a2 b3
 */
export function partitionWorkers(config: Configuration): wanted.PartitionWorkerSettings[] {
  const { klines, instruments } = config.topology;
  const indexed = Object.entries(instruments)
    .flatMap(([instrument, { venues, scale }], row) =>
      klines.venues.flatMap((venue, column) => {
        const symbol = venues[venue];
        if (symbol === undefined || !isWanted(klines.symbols, symbol)) return [];
        return [{ venue, instrument, symbol, scale, worker: (row + column) % klines.workers }];
      }),
    )
    .map((mapped, index) => ({ ...mapped, index }));
  return Array.from({ length: klines.workers }, (_, worker) => ({
    worker,
    workers: klines.workers,
    symbols: indexed.filter((mapped) => mapped.worker === worker).map(({ worker: _owner, ...mapped }) => mapped),
    intervals: klines.intervals,
    graceMs: klines.grace,
    ringCapacity: klines.ringCapacity,
  }));
}

export function persistence({ topology: { klines } }: Configuration): wanted.KlinePersistenceSettings {
  return { everyMs: klines.persistEvery, pendingBars: klines.pendingBars };
}

export function symbolManager({ kernel, topology }: Configuration): wanted.SymbolManagerSettings {
  const { discovery, symbols, workers, repair, heal, clockSync } = topology.klines;
  return {
    discovery: discovery.venues,
    include: symbols.include,
    exclude: symbols.exclude,
    ackTimeoutMs: discovery.ackTimeout,
    goneAfterMs: discovery.goneAfter,
    maxSymbols: discovery.maxSymbols ?? kernel.limits.symbols,
    workers,
    repair,
    heal: { enabled: heal.enabled, everyMs: heal.every, afterMs: heal.after, lookBackMs: heal.lookBack },
    clockSyncMs: clockSync,
  };
}

const bookSymbols = ({ topology }: Configuration) => topology.book.symbols ?? Object.keys(topology.instruments);

export function merger(config: Configuration): wanted.MergerSettings {
  const { feeds, book, instruments } = config.topology;
  const venues = Object.keys(feeds).filter((venue) => feeds[venue]?.book !== 'off');
  const symbols = bookSymbols(config);
  const scales = symbols.map((symbol) => instruments[symbol]?.scale ?? DECIMALS_DEFAULT);
  return { venues, symbols, scales, depth: book.depth };
}

function security({ tls, auth }: Configuration['kernel']) {
  const { certFile, keyFile, clientCaFile = null } = tls ?? {};
  const pair = certFile !== undefined && keyFile !== undefined ? { certFile, keyFile, clientCaFile } : null;
  return { tls: pair, tokenFile: auth.tokenFile ?? null };
}

export function publisher(config: Configuration): wanted.PublisherSettings {
  const { grpc } = config.kernel;
  const { host, port, maxSubscribers, maxStreamsPerConnection, maxSymbols } = grpc;
  const { book } = config.topology;
  return {
    ...{ host, port, maxSubscribers, maxStreamsPerConnection, maxSymbols },
    ...security(config.kernel),
    defaultSymbol: book.enabled ? (book.defaultSymbol ?? bookSymbols(config)[0] ?? null) : null,
    maxRequestBytes: grpc.maxRequest,
    keepaliveMs: grpc.keepalive,
    cutSlowAfterMs: grpc.cutSlowAfter,
  };
}

export function console({ kernel }: Configuration): wanted.ConsoleSettings {
  const { host, port, allowedHosts, maxConnections, maxDashboards, maxBody, requestTimeout } = kernel.http;
  return {
    ...{ host, port, allowedHosts, maxConnections, maxDashboards },
    ...security(kernel),
    control: kernel.control.enabled,
    metrics: kernel.metrics.enabled,
    labelValuesMax: kernel.metrics.maxLabelValues,
    maxBodyBytes: maxBody,
    requestTimeoutMs: requestTimeout,
  };
}

export function exchange(config: Configuration, venue: string, connection: number): wanted.ExchangeSettings {
  const feed = config.topology.feeds[venue]!;
  const { book = 'venue-default', trades, depth, reconnect } = feed;
  return {
    ...{ venue, connection, book, trades, depth },
    wsUrl: feed.wsUrl ?? null,
    restUrl: feed.restUrl ?? null,
    symbols: symbolsOf(config, venue).filter((_, index) => index % feed.connections === connection),
    staleAfterMs: feed.staleAfter,
    aliveWithinMs: feed.aliveWithin ?? null,
    handshakeTimeoutMs: feed.handshakeTimeout,
    rotateAfterMs: feed.rotateAfter ?? null,
    maxFrameBytes: feed.maxFrame,
    reconnect: {
      minMs: reconnect.min,
      maxMs: reconnect.max,
      jitter: reconnect.jitter,
      resetAfterMs: reconnect.resetAfter,
    },
  };
}
