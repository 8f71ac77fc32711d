import { createHash } from 'node:crypto';
import {
  type ActorKind,
  NO_TREE,
  type Placement,
  type SettingsOf,
  type SupervisionSettings,
  type TopologyNode,
  type TopologyTree,
} from '../../protocols/topology.ts';
import * as settings from './compile-settings.ts';
import type { Configuration } from './load.ts';
import { connectionName, feedThread, workerThread } from './threads.ts';
import type { SupervisionConfig, TopologyConfig } from './topology-schema.ts';

/** Turns a checked configuration into the tree that should run. The same configuration always gives the same tree. */
export function compileTopology(config: Configuration): TopologyTree {
  const { topology } = config;
  const tree = new TreeBuilder(topology);
  tree.system(settings.system(config));
  tree.supervisor('control');
  tree.child('control', 'watchdog', 'watchdog', MAIN, settings.watchdog(config));
  if (topology.ingest.enabled) addIngest(tree, config);
  if (topology.klines.enabled) addKlines(tree, config);
  if (topology.book.enabled) {
    tree.supervisor('book');
    const place = tree.pinned(topology.book.thread, 'last', topology.book.idle);
    tree.child('book', 'merger', 'merger', place, settings.merger(config));
  }
  tree.supervisor('serving');
  tree.child('serving', 'publisher', 'publisher', MAIN, settings.publisher(config));
  tree.child('serving', 'console', 'console', MAIN, settings.console(config));
  tree.supervisor('feeds');
  for (const [venue, feed] of sortedEntries(topology.feeds)) {
    for (let connection = 0; connection < feed.connections; connection++) {
      const place = tree.loop(feed.thread ?? feedThread(venue));
      const wanted = settings.exchange(config, venue, connection);
      tree.child('feeds', connectionName(venue, connection), 'exchange', place, wanted);
    }
  }
  return tree.build();
}

function addIngest(tree: TreeBuilder, config: Configuration): void {
  const place = tree.loop(config.topology.ingest.thread);
  tree.supervisor('ingest');
  tree.child('ingest', 'spill', 'spill', place, settings.spill(config));
  tree.child('ingest', 'sink', 'sink', place, settings.sink(config));
  for (const reader of settings.kernelIngest(config)) {
    const shard = reader.shards === 1 ? '' : `.${reader.shard}`;
    tree.child('ingest', `stream.${actorName(reader.stream)}${shard}`, 'kernel-ingest', place, reader);
  }
}

/** A Redis key may hold what an actor's name may not: such a key becomes its plain part and a digest. */
function actorName(key: string): string {
  const plain = key.replace(/[^A-Za-z0-9_.-]/g, '.');
  return plain === key ? key : `${plain}.${digestOf(key).slice(0, 6)}`;
}

function addKlines(tree: TreeBuilder, config: Configuration): void {
  const { klines } = config.topology;
  tree.supervisor('klines');
  for (const worker of settings.partitionWorkers(config)) {
    const place = tree.pinned(workerThread(worker.worker), klines.cpus?.[worker.worker] ?? null, klines.idle);
    tree.child('klines', `worker-${worker.worker}`, 'partition-worker', place, worker);
  }
  tree.child('klines', 'persistence', 'kline-persistence', MAIN, settings.persistence(config));
  tree.child('klines', 'symbols', 'symbol-manager', MAIN, settings.symbolManager(config));
}

const MAIN: Placement = { thread: 'main', kind: 'main', cpu: null, idle: 'park', memoryBytes: 0 };

/** What a thread gets that the file does not list. */
const THREAD_MEMORY_BYTES = 512 * 2 ** 20;

type Part = keyof TopologyConfig['supervision'];

class TreeBuilder {
  readonly #config: TopologyConfig;
  readonly #nodes: Omit<TopologyNode, 'children' | 'digest'>[] = [];

  constructor(config: TopologyConfig) {
    this.#config = config;
  }

  system(wanted: SettingsOf['system']): void {
    const supervision = supervisionOf(this.#config.supervision.control);
    this.#nodes.push({ path: '/', kind: 'system', placement: MAIN, supervision, settings: wanted });
  }

  supervisor(part: Part): void {
    const supervision = supervisionOf(this.#config.supervision[part]);
    this.#nodes.push({ path: `/${part}`, kind: 'supervisor', placement: MAIN, supervision, settings: {} });
  }

  child<K extends ActorKind>(part: Part, name: string, kind: K, placement: Placement, wanted: SettingsOf[K]): void {
    const supervision = supervisionOf(this.#config.supervision[part]);
    this.#nodes.push({ path: `/${part}/${name}`, kind, placement, supervision, settings: wanted });
  }

  loop(thread: string): Placement {
    if (thread === 'main') return MAIN;
    const declared = this.#config.threads[thread];
    const memoryBytes = declared?.memory ?? THREAD_MEMORY_BYTES;
    return { thread, kind: 'loop', cpu: declared?.cpu ?? null, idle: 'park', memoryBytes };
  }

  /** The core and the idle strategy are the actor's own wish; what the file says of the thread goes before. */
  pinned(thread: string, cpu: Placement['cpu'], idle: Placement['idle']): Placement {
    const declared = this.#config.threads[thread];
    return {
      thread,
      kind: 'pinned',
      cpu: declared?.cpu ?? cpu,
      idle: declared?.idle ?? idle,
      memoryBytes: declared?.memory ?? THREAD_MEMORY_BYTES,
    };
  }

  build(): TopologyTree {
    const nodes = this.#nodes.map((node) => {
      const children = this.#nodes.filter((other) => parentOf(other.path) === node.path).map((other) => other.path);
      const { kind, placement, supervision, settings: wanted } = node;
      return { ...node, children, digest: digestOf({ kind, placement, supervision, settings: wanted }) };
    });
    return treeOf(nodes);
  }
}

/** A tree of these nodes, in this order. */
export function treeOf(nodes: readonly TopologyNode[]): TopologyTree {
  if (nodes.length === 0) return NO_TREE;
  return { nodes, digest: digestOf(nodes.map(({ path, digest }) => [path, digest])) };
}

export function parentOf(path: string): string | undefined {
  if (path === '/') return undefined;
  return path.slice(0, path.lastIndexOf('/')) || '/';
}

/** The file spells words with dashes throughout; the runtime keeps the names that OTP made known. */
const STRATEGY = {
  'one-for-one': 'one_for_one',
  'one-for-all': 'one_for_all',
  'rest-for-one': 'rest_for_one',
} as const;

function supervisionOf(config: SupervisionConfig): SupervisionSettings {
  const { strategy, intensity, period, backoff, shutdown, mailbox } = config;
  return {
    strategy: STRATEGY[strategy],
    intensity: { restarts: intensity, periodMs: period },
    backoff: {
      minMs: backoff.min,
      maxMs: backoff.max,
      jitter: backoff.jitter,
      resetAfterMs: backoff.resetAfter,
    },
    shutdownMs: shutdown,
    mailbox,
  };
}

/** Sixteen hexadecimal digits of SHA-256 over JSON with sorted keys: the same for the same content in any order. */
export function digestOf(value: unknown): string {
  return createHash('sha256').update(stableJson(value)).digest('hex').slice(0, 16);
}

function stableJson(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part) ? Object.fromEntries(sortedEntries(part)) : part,
  );
}

function sortedEntries<T>(mapping: { readonly [key: string]: T } | object): [string, T][] {
  return Object.entries(mapping).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)) as [string, T][];
}
