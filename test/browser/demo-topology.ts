import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TopologyNode, TopologyTree } from '../../src/protocols/topology.ts';
import { actor, type ChildSpec } from '../../src/supervision/spec.ts';
import type { Supervisor } from '../../src/supervision/supervisor.ts';
import { supervisor } from '../../src/supervision/supervisor-spec.ts';
import type { ActorSystem } from '../../src/supervision/system.ts';
import { type ApplyClock, TopologyApplier, type TopologyHost } from '../../src/supervision/topology/apply.ts';
import { compileTopology, parentOf } from '../../src/supervision/topology/compile.ts';
import { TopologyControl } from '../../src/supervision/topology/control.ts';
import { checkConfiguration } from '../../src/supervision/topology/load.ts';
import { KNOWN_VENUES } from '../../src/venues/index.ts';
import { type WorkMessage, worker } from './demo-actors.ts';

const AROUND = { venues: KNOWN_VENUES };
const NAMES = ['kernel.yaml', 'topology.yaml', 'modules.d/collector.yaml'];

export type Refs = Map<string, { tell(message: WorkMessage): unknown }>;

/** The repository's own configuration, as text and as the tree that it asks for. */
export function shippedTopology(): { readonly files: Readonly<Record<string, string>>; readonly tree: TopologyTree } {
  const folder = new URL('../../../config/', import.meta.url);
  const bytes = new Map(NAMES.map((name) => [name, readFileSync(new URL(name, folder))]));
  const checked = checkConfiguration(bytes, AROUND, (name) => name);
  if (!checked.ok) throw new Error('the shipped configuration has mistakes');
  const files = Object.fromEntries([...bytes].map(([name, content]) => [name, content.toString('utf8')]));
  return { files, tree: compileTopology(checked.value) };
}

/** The same tree with demonstration actors in the places of the real ones. */
export function childrenOf(path: string, nodes: readonly TopologyNode[], refs: Refs): readonly ChildSpec[] {
  return nodes.filter((node) => parentOf(node.path) === path).map((node) => specOf(node, nodes, refs));
}

/** Names in a tree of actors have no colon; those of streams do. */
const idOf = (node: TopologyNode) => node.path.slice(node.path.lastIndexOf('/') + 1).replaceAll(':', '-');

function specOf(node: TopologyNode, nodes: readonly TopologyNode[], refs: Refs): ChildSpec {
  const id = idOf(node);
  if (node.kind === 'supervisor') return supervisor({ id, children: childrenOf(node.path, nodes, refs) });
  const spec = actor<WorkMessage, number>({
    id,
    behaviour: worker(node.kind),
    mailbox: { capacity: 1000, policy: 'drop-oldest' },
  });
  refs.set(node.path, spec.ref);
  return spec;
}

class DemoHost implements TopologyHost {
  readonly #system: ActorSystem;
  readonly #refs: Refs;
  readonly #running: Map<string, TopologyNode>;

  constructor(system: ActorSystem, tree: TopologyTree, refs: Refs) {
    this.#system = system;
    this.#refs = refs;
    this.#running = new Map(tree.nodes.map((node) => [node.path, node]));
  }

  running(): readonly TopologyNode[] {
    return [...this.#running.values()];
  }

  async start(node: TopologyNode): Promise<void> {
    // A venue of this name stands for one that never gets well.
    if (node.path.endsWith('/coinbase-2')) throw new Error('the venue refuses a second connection');
    await this.#parent(node).startChild(specOf(node, [node], this.#refs));
    this.#running.set(node.path, node);
  }

  async stop(node: TopologyNode): Promise<void> {
    const id = idOf(node);
    await this.#parent(node).stopChild(id);
    await this.#parent(node).deleteChild(id);
    this.#running.delete(node.path);
  }

  async move(node: TopologyNode): Promise<void> {
    await this.restart(node);
  }

  async reconfigure(node: TopologyNode): Promise<void> {
    this.#running.set(node.path, node);
  }

  async restart(node: TopologyNode): Promise<void> {
    this.#system.restart(node.path);
    this.#running.set(node.path, node);
  }

  async health(): Promise<{ readonly unwell: readonly { readonly path: string; readonly reason: string }[] }> {
    return { unwell: [] };
  }

  #parent(node: TopologyNode): Supervisor {
    const ids = (parentOf(node.path) ?? '/').split('/').filter((part) => part !== '');
    return ids.reduce((above, id) => above.child(id) as Supervisor, this.#system.root);
  }
}

const clock: ApplyClock = {
  nowMs: () => performance.now(),
  sleep: (ms, signal) => sleep(ms, undefined, { signal }).catch(() => undefined),
};

/** Real planning and applying over the demonstration actors. */
export function demoTopology(system: ActorSystem, shipped: ReturnType<typeof shippedTopology>, refs: Refs) {
  const applier = new TopologyApplier(new DemoHost(system, shipped.tree, refs), clock, shipped.tree);
  let files = shipped.files;
  const control = new TopologyControl(applier, AROUND, (_config, applied) => {
    files = Object.fromEntries([...applied].map(([name, bytes]) => [name, Buffer.from(bytes).toString('utf8')]));
  });
  return {
    running: () => ({ files, digest: applier.current.digest }),
    plan: (body: unknown) => control.plan(body),
    apply: (body: unknown) => control.apply(body),
  };
}
