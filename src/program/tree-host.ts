// Runs the desired tree on an actor system: a node of the tree becomes a child of the supervisor above it. What each kind
// of actor is made of, the factories say; here is only where it stands and when it starts and stops.
import { cpus } from 'node:os';
import { invariant, TapeworksError } from '../protocols/errors/index.ts';
import type { ActorKind, Placement, SettingsOf, SupervisionSettings, TopologyNode } from '../protocols/topology.ts';
import type { ActorInfo } from '../supervision/inspect.ts';
import { type LoopThreadSpec, loopThread } from '../supervision/remote/loop-thread-child.ts';
import type { ChildSpec } from '../supervision/spec.ts';
import type { Supervisor } from '../supervision/supervisor.ts';
import { supervisor } from '../supervision/supervisor-spec.ts';
import type { ActorSystem } from '../supervision/system.ts';
import { observedCpus } from '../supervision/threads/pin.ts';
import type { TopologyHealth, TopologyHost } from '../supervision/topology/apply.ts';
import { digestOf } from '../supervision/topology/compile.ts';

/** What a factory is given beside its node. */
export interface Place {
  readonly id: string;
  /** The loop thread of the placement, already started; undefined on the main thread and for pinned actors. */
  readonly thread: LoopThreadSpec | undefined;
  readonly backoff: SupervisionSettings['backoff'];
}

/** A placed actor: its child spec, and how it takes new settings while it runs. */
export interface Placed<K extends ActorKind> {
  readonly spec: ChildSpec;
  reconfigure?(settings: SettingsOf[K]): Promise<void> | void;
  /** After the actor is stopped for good. */
  onStopped?(): void;
}

type ActorNodeKind = Exclude<ActorKind, 'system' | 'supervisor'>;

export type Factories = {
  readonly [K in ActorNodeKind]: (node: TopologyNode<K>, place: Place) => Placed<K> | Promise<Placed<K>>;
};

const THREADS = 'threads';

export class TreeHost implements TopologyHost {
  readonly #system: ActorSystem;
  readonly #factories: Partial<Factories>;
  readonly #onWarning: (warning: string) => void;
  readonly #idleReason: (node: TopologyNode) => string | undefined;
  readonly #nodes = new Map<string, TopologyNode>();
  readonly #placed = new Map<string, Placed<never>>();
  readonly #supervisors = new Map<string, Supervisor>();
  readonly #threads = new Map<string, { readonly spec: LoopThreadSpec; users: number }>();

  /** `idleReason` says why an actor that runs brings nothing; undefined where it does what it is for. */
  constructor(
    system: ActorSystem,
    factories: Partial<Factories>,
    onWarning: (warning: string) => void,
    idleReason: (node: TopologyNode) => string | undefined,
  ) {
    this.#idleReason = idleReason;
    this.#system = system;
    this.#factories = factories;
    this.#onWarning = onWarning;
  }

  running(): readonly TopologyNode[] {
    return [...this.#nodes.values()];
  }

  /** Whether there is anything here that makes an actor of this kind. */
  canRun(kind: ActorKind): boolean {
    return kind === 'system' || kind === 'supervisor' || kind in this.#factories;
  }

  /** Of the nodes that a configuration asks for, those that are not here. */
  missing(wanted: readonly TopologyNode[]): readonly TopologyNode[] {
    return wanted.filter(({ path }) => !this.#nodes.has(path));
  }

  async start(node: TopologyNode): Promise<void> {
    if (node.kind === 'system') {
      const threads = supervisor({ id: THREADS, strategy: 'pool', intensity: node.supervision.intensity });
      await this.#system.root.startChild(threads);
      this.#supervisors.set(`/${THREADS}`, threads.supervisor);
    } else if (node.kind === 'supervisor') {
      const { strategy, intensity, backoff } = node.supervision;
      const spec = supervisor({ id: idOf(node.path), strategy, intensity, backoff });
      await this.#system.root.startChild(spec);
      this.#supervisors.set(node.path, spec.supervisor);
    } else {
      await this.#startActor(node as TopologyNode<ActorNodeKind>);
    }
    this.#nodes.set(node.path, node);
  }

  async #startActor<K extends ActorNodeKind>(node: TopologyNode<K>): Promise<void> {
    const thread = node.placement.kind === 'loop' ? await this.#acquireThread(node.placement) : undefined;
    try {
      const place: Place = { id: idOf(node.path), thread, backoff: node.supervision.backoff };
      const make = this.#factories[node.kind] as
        | ((node: TopologyNode<K>, place: Place) => Promise<Placed<K>>)
        | undefined;
      if (make === undefined) throw new TapeworksError('TW_UNKNOWN_ACTOR', `nothing here makes a ${node.kind}`);
      const placed = await make(node, place);
      await this.#parentOf(node.path).startChild(placed.spec);
      this.#placed.set(node.path, placed as unknown as Placed<never>);
    } catch (error) {
      await this.#discard(node);
      throw error;
    }
  }

  /** A child that did not come up is taken out again: a half-started tree must not look like a started one. */
  async #discard(node: TopologyNode): Promise<void> {
    const parent = this.#parentOf(node.path);
    if (parent.child(idOf(node.path)) !== undefined) await parent.deleteChild(idOf(node.path));
    await this.#releaseThread(node.placement);
  }

  async stop(node: TopologyNode): Promise<void> {
    if (node.kind === 'system') {
      await this.#system.root.deleteChild(THREADS);
      this.#supervisors.delete(`/${THREADS}`);
    } else if (node.kind === 'supervisor') {
      await this.#system.root.deleteChild(idOf(node.path));
      this.#supervisors.delete(node.path);
    } else {
      await this.#parentOf(node.path).deleteChild(idOf(node.path));
      this.#placed.get(node.path)?.onStopped?.();
      this.#placed.delete(node.path);
      await this.#releaseThread(node.placement);
    }
    this.#nodes.delete(node.path);
  }

  async move(node: TopologyNode, previous: TopologyNode): Promise<void> {
    await this.stop(previous);
    await this.start(node);
  }

  restart(node: TopologyNode, previous: TopologyNode): Promise<void> {
    return this.move(node, previous);
  }

  async reconfigure(node: TopologyNode, previous: TopologyNode): Promise<void> {
    const { strategy, intensity, backoff } = node.supervision;
    if (node.kind === 'system') this.#supervisors.get(`/${THREADS}`)!.reconfigure({ intensity });
    else if (node.kind === 'supervisor') {
      this.#supervisors.get(node.path)!.reconfigure({ strategy, intensity });
      this.#system.root.setBackoff(idOf(node.path), backoff);
    } else this.#parentOf(node.path).setBackoff(idOf(node.path), backoff);
    if (digestOf(node.settings) !== digestOf(previous.settings)) {
      await this.#placed.get(node.path)?.reconfigure?.(node.settings as never);
    }
    this.#nodes.set(node.path, node);
  }

  async health(): Promise<TopologyHealth> {
    const unwell: { path: string; reason: string }[] = [];
    const visit = (info: ActorInfo): void => {
      if (info.state !== 'running') {
        const failure = info.lastFailure === undefined ? '' : `: ${info.lastFailure.message}`;
        unwell.push({ path: info.path, reason: `${info.state}${failure}` });
      }
      info.children.forEach(visit);
    };
    visit(this.#system.tree());
    const idle = this.running().flatMap((node) => {
      const reason = this.#idleReason(node);
      return reason === undefined ? [] : [{ path: node.path, reason }];
    });
    return { unwell, idle };
  }

  #parentOf(path: string): Supervisor {
    const parent = this.#supervisors.get(path.slice(0, path.lastIndexOf('/')));
    if (parent === undefined) throw new TapeworksError('TW_UNKNOWN_ACTOR', `no supervisor runs above ${path}`);
    return parent;
  }

  async #acquireThread(placement: Placement): Promise<LoopThreadSpec> {
    const known = this.#threads.get(placement.thread);
    if (known !== undefined) {
      known.users++;
      return known.spec;
    }
    const cpu = cpuOf(placement);
    const spec = loopThread({
      id: placement.thread,
      ...(cpu !== undefined && { cpu }),
      memoryLimitMb: Math.ceil(placement.memoryBytes / 2 ** 20),
      onWarning: this.#onWarning,
    });
    this.#threads.set(placement.thread, { spec, users: 1 });
    await this.#supervisors.get(`/${THREADS}`)!.startChild(spec);
    return spec;
  }

  async #releaseThread(placement: Placement): Promise<void> {
    const known = this.#threads.get(placement.thread);
    if (placement.kind !== 'loop' || known === undefined) return;
    known.users--;
    if (known.users > 0) return;
    this.#threads.delete(placement.thread);
    await this.#supervisors.get(`/${THREADS}`)!.deleteChild(placement.thread);
  }
}

/** The core that a placement asks for; `last` is the last one that this process may use: a container has a part of them. */
export function cpuOf(placement: Placement): number | undefined {
  if (placement.cpu !== 'last') return placement.cpu ?? undefined;
  const allowed = observedCpus(process.pid).split(/[-,]/).at(-1);
  return allowed === undefined || allowed === '' ? cpus().length - 1 : Number(allowed);
}

function idOf(path: string): string {
  const id = path.slice(path.lastIndexOf('/') + 1);
  invariant(id !== '', 'only a child has an id', { path });
  return id;
}
