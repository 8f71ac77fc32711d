// The desired tree: what the configuration asks to run, in a form that two of them can be compared by.
//
//   /            system
//   /control     watchdog
//   /ingest      spill, sink, one kernel-ingest a stream shard
//   /klines      partition workers, kline-persistence, symbol-manager
//   /book        merger
//   /serving     publisher, console
//   /feeds       one exchange a venue connection
//
// It starts from top to bottom, takers before givers, and stops from bottom to top.

export type IdleStrategyName = 'spin' | 'spin-then-park' | 'park';
export type CpuChoice = number | 'last';

/** The thread that an actor runs on. All actors of one thread carry the same placement. */
export interface Placement {
  readonly thread: string;
  readonly kind: 'main' | 'loop' | 'pinned';
  readonly cpu: CpuChoice | null;
  readonly idle: IdleStrategyName;
  readonly memoryBytes: number;
}

/** How an actor is looked after by the supervisor above it; on a supervisor, how it looks after its children. */
export interface SupervisionSettings {
  readonly strategy: 'one_for_one' | 'one_for_all' | 'rest_for_one';
  readonly intensity: { readonly restarts: number; readonly periodMs: number };
  readonly backoff: {
    readonly minMs: number;
    readonly maxMs: number;
    readonly jitter: number;
    readonly resetAfterMs: number;
  };
  readonly shutdownMs: number;
  readonly mailbox: {
    readonly capacity: number;
    readonly policy: 'reject' | 'drop-oldest' | 'drop-newest' | 'backpressure';
  };
}

/** A symbol of a venue, and the instrument that it is. */
export interface MappedSymbol {
  readonly instrument: string;
  readonly symbol: string;
  /** Decimals of the fixed point in which its prices and amounts are kept. */
  readonly scale: number;
}

export type BookFeed = 'snapshot' | 'delta' | 'off' | 'venue-default';

export interface ExchangeSettings {
  readonly venue: string;
  readonly connection: number;
  /** Null means: the simulated venue, or the real one when live. */
  readonly wsUrl: string | null;
  readonly restUrl: string | null;
  readonly book: BookFeed;
  readonly trades: boolean;
  readonly symbols: readonly MappedSymbol[];
  readonly depth: number;
  readonly staleAfterMs: number;
  /** Null means: the time that the venue's own signs of life allow. */
  readonly aliveWithinMs: number | null;
  readonly handshakeTimeoutMs: number;
  readonly rotateAfterMs: number | null;
  readonly maxFrameBytes: number;
  readonly reconnect: {
    readonly minMs: number;
    readonly maxMs: number;
    readonly jitter: number;
    readonly resetAfterMs: number;
  };
}

export interface MergerSettings {
  readonly venues: readonly string[];
  readonly symbols: readonly string[];
  /** Decimals of each symbol's prices and amounts. Books of another scale are other books. */
  readonly scales: readonly number[];
  readonly depth: number;
}

export interface PublisherSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: { readonly certFile: string; readonly keyFile: string; readonly clientCaFile: string | null } | null;
  readonly tokenFile: string | null;
  readonly defaultSymbol: string | null;
  readonly maxSubscribers: number;
  readonly maxStreamsPerConnection: number;
  readonly maxSymbols: number;
  readonly maxRequestBytes: number;
  readonly keepaliveMs: number;
  readonly cutSlowAfterMs: number;
}

export interface ConsoleSettings {
  readonly host: string;
  readonly port: number;
  readonly tls: PublisherSettings['tls'];
  readonly tokenFile: string | null;
  readonly allowedHosts: readonly string[];
  readonly control: boolean;
  readonly metrics: boolean;
  /** Actors that /metrics names; the others are summed. */
  readonly labelValuesMax: number;
  readonly maxConnections: number;
  readonly maxDashboards: number;
  readonly maxBodyBytes: number;
  readonly requestTimeoutMs: number;
}

export type WhenFull = 'block' | 'drop-oldest' | 'drop-newest';

export interface KernelIngestSettings {
  readonly stream: string;
  readonly shard: number;
  readonly shards: number;
  /** The modules that add to this stream, and when each counts as silent. */
  readonly modules: readonly { readonly name: string; readonly silentAfterMs: number }[];
  readonly whenFull: WhenFull;
  readonly whenFullByType: Readonly<Record<string, WhenFull>>;
  readonly group: string;
  /** Null means: the host's name. */
  readonly consumer: string | null;
  readonly deadLetterStream: string;
  readonly readCount: number;
  readonly readBlockMs: number;
  readonly inFlightMessages: number;
  readonly inFlightBytes: number;
  readonly maxEntryBytes: number;
  readonly maxDepth: number;
  readonly claimIdleMs: number;
  readonly claimEveryMs: number;
  readonly poisonAfter: number;
  readonly trimAfterMs: number;
  readonly trimEveryMs: number;
}

export interface SinkSettings {
  readonly batchRows: number;
  readonly batchBytes: number;
  readonly batchTimeMs: number;
  readonly connections: number;
  readonly statementTimeoutMs: number;
  readonly queryTimeoutMs: number;
  readonly lockTimeoutMs: number;
  readonly contentionRetries: number;
  readonly partitionsAhead: number;
  readonly breaker: { readonly failures: number; readonly probeMinMs: number; readonly probeMaxMs: number };
  readonly republish: { readonly stream: string; readonly capacity: number; readonly maxLength: number } | null;
}

export interface SpillSettings {
  readonly folder: string;
  readonly maxBytes: number;
  readonly minFreeBytes: number;
  readonly whenFull: WhenFull;
  readonly segmentBytes: number;
  readonly segmentAgeMs: number;
}

export interface PartitionWorkerSettings {
  readonly worker: number;
  readonly workers: number;
  /** The symbols of its static partition; those found at run time come by command. */
  readonly symbols: readonly (MappedSymbol & { readonly venue: string; readonly index: number })[];
  readonly intervals: readonly string[];
  readonly graceMs: number;
  readonly ringCapacity: number;
}

export interface SymbolManagerSettings {
  /** The venues on which to look for new symbols; none where discovery is off. */
  readonly discovery: readonly string[];
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly ackTimeoutMs: number;
  readonly goneAfterMs: number;
  readonly maxSymbols: number;
  readonly workers: number;
  /** Whether trades that are missing are fetched. */
  readonly repair: boolean;
  readonly heal: HealSettings;
  readonly clockSyncMs: number;
}

export interface KlinePersistenceSettings {
  readonly everyMs: number;
  readonly pendingBars: number;
}

/** How stored gap bars are replaced by the venue's own. */
export interface HealSettings {
  readonly enabled: boolean;
  readonly everyMs: number;
  /** A gap that ended less than this ago is left to the repair of its trades. */
  readonly afterMs: number;
  readonly lookBackMs: number;
}

export interface WatchdogSettings {
  readonly stallAfterMs: number;
  readonly deadAfterMs: number;
}

export interface SystemSettings {
  readonly name: string;
  readonly dataFolder: string;
  readonly postgres: ServerSettings;
  readonly redis: ServerSettings;
  readonly symbolsMax: number;
  readonly logLevel: string;
  readonly shutdown: { readonly drainMs: number; readonly deadlineMs: number };
  readonly watching: { readonly enabled: boolean; readonly debounceMs: number };
  readonly apply: { readonly healthDeadlineMs: number; readonly stableForMs: number };
  readonly simulation: { readonly port: number; readonly seed: number };
}

export interface ServerSettings {
  /** `embedded`, or the URL of the operator's own server, without a password. */
  readonly url: string;
  readonly passwordFile: string | null;
  readonly connectTimeoutMs: number;
}

export interface SettingsOf {
  readonly system: SystemSettings;
  readonly supervisor: Readonly<Record<string, never>>;
  readonly watchdog: WatchdogSettings;
  readonly spill: SpillSettings;
  readonly sink: SinkSettings;
  readonly 'kernel-ingest': KernelIngestSettings;
  readonly 'partition-worker': PartitionWorkerSettings;
  readonly 'kline-persistence': KlinePersistenceSettings;
  readonly 'symbol-manager': SymbolManagerSettings;
  readonly merger: MergerSettings;
  readonly publisher: PublisherSettings;
  readonly console: ConsoleSettings;
  readonly exchange: ExchangeSettings;
}

export type ActorKind = keyof SettingsOf;

/** One actor of the desired tree. */
export interface TopologyNode<K extends ActorKind = ActorKind> {
  readonly path: string;
  readonly kind: K;
  readonly placement: Placement;
  readonly supervision: SupervisionSettings;
  readonly settings: SettingsOf[K];
  /** Paths of its children in the order in which they start. */
  readonly children: readonly string[];
  /** Of kind, placement, supervision and settings: equal digests run alike. */
  readonly digest: string;
}

/** The desired tree, flat: parents before children, in the order in which all of it starts. */
export interface TopologyTree {
  readonly nodes: readonly TopologyNode[];
  readonly digest: string;
}

/** A node of a known kind, with the settings of that kind. */
export function isKind<K extends ActorKind>(node: TopologyNode, kind: K): node is TopologyNode<K> {
  return node.kind === kind;
}

export const NO_TREE: TopologyTree = { nodes: [], digest: 'none' };
