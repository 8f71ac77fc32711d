import type { ErrorCode } from '../../protocols/errors/index.ts';
import type { TopologyNode, TopologyTree } from '../../protocols/topology.ts';
import type { PlanStep, TopologyPlan } from '../../protocols/topology-plan.ts';
import { treeOf } from './compile.ts';
import { planTopology } from './plan.ts';

// Takes a running tree to a desired one, or back.
//
//   idle --apply--> stepping --all done--> settling --healthy for a while--> idle (applied)
//                      |                      |
//                      +--a step fails--------+--deadline passes--> going back --> idle (rolled back)

/** Where the actors really run. Each operation settles once it is done, and settles soon after its signal aborts. */
export interface TopologyHost {
  /** What runs at this moment, after whatever the last operation did or failed to do. */
  running(): readonly TopologyNode[];
  start(node: TopologyNode, signal: AbortSignal): Promise<void>;
  stop(node: TopologyNode, signal: AbortSignal): Promise<void>;
  move(node: TopologyNode, previous: TopologyNode, signal: AbortSignal): Promise<void>;
  reconfigure(node: TopologyNode, previous: TopologyNode, signal: AbortSignal): Promise<void>;
  restart(node: TopologyNode, previous: TopologyNode, signal: AbortSignal): Promise<void>;
  health(): Promise<TopologyHealth>;
}

export interface TopologyHealth {
  /** The actors that are not well, and why; none means healthy. */
  readonly unwell: readonly Unwell[];
  /** Actors that run and bring nothing, such as a feed without data. */
  readonly idle?: readonly Unwell[];
}

interface Unwell {
  readonly path: string;
  readonly reason: string;
}

export interface ApplyClock {
  nowMs(): number;
  /** Resolves after that time, or at once when the signal aborts. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export interface ApplyOptions {
  /** From the first step until healthy. */
  readonly deadlineMs: number;
  /** How long it must stay healthy; 2000 means: not unwell in any look within two seconds. */
  readonly stableForMs: number;
  /**
   * Whether what the plan starts or changes must also bring what it is for. What brought nothing before is let off: a
   * venue that is out must not hold up a change.
   */
  readonly mustServe?: boolean;
  /** The digest of the running tree that the operator saw; another one is refused. */
  readonly expectedFrom?: string;
}

export type ApplyOutcome =
  | { readonly kind: 'applied'; readonly plan: TopologyPlan }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly reason: string }
  | {
      readonly kind: 'rolled-back' | 'rollback-failed';
      readonly code: ErrorCode;
      readonly plan: TopologyPlan;
      readonly reason: string;
      /** What was done to go back. */
      readonly undone: readonly PlanStep[];
      /** Paths that are not as they were; only after a failed roll-back. */
      readonly astray: readonly string[];
    };

const HEALTH_LOOK_MS = 100;
/** Times that a roll-back is planned anew from what really runs. */
const ROLLBACK_ROUNDS = 3;
/** How long an operation may take to settle after its signal aborted, before it is given up. */
const ABORT_GRACE_MS = 5_000;

export class TopologyApplier {
  readonly #host: TopologyHost;
  readonly #clock: ApplyClock;
  #current: TopologyTree;
  #busy = false;

  constructor(host: TopologyHost, clock: ApplyClock, current: TopologyTree) {
    this.#host = host;
    this.#clock = clock;
    this.#current = current;
  }

  /** The tree that was applied last. */
  get current(): TopologyTree {
    return this.#current;
  }

  plan(desired: TopologyTree): TopologyPlan {
    return planTopology(this.#runningTree(desired), desired);
  }

  /** Never rejects: what went wrong is in the outcome. One at a time; a second call meanwhile is refused. */
  async apply(desired: TopologyTree, options: ApplyOptions): Promise<ApplyOutcome> {
    if (this.#busy) return refused('TW_TOPOLOGY_BUSY', 'another topology is being applied');
    if (options.expectedFrom !== undefined && options.expectedFrom !== this.#current.digest) {
      return refused('TW_TOPOLOGY_CHANGED', `the running topology is now ${this.#current.digest}`);
    }
    const plan = this.plan(desired);
    if (plan.needsNewProcess.length > 0) {
      return refused('TW_TOPOLOGY_NEEDS_RESTART', `a new process is needed for ${plan.needsNewProcess.join(', ')}`);
    }
    this.#busy = true;
    try {
      const failure = await this.#forward(plan, options);
      if (failure !== undefined) return await this.#rollBack(plan, desired, failure, options);
      this.#current = desired;
      return { kind: 'applied', plan };
    } finally {
      this.#busy = false;
    }
  }

  /** Undefined when it went well, else why not. */
  async #forward(plan: TopologyPlan, options: ApplyOptions): Promise<string | undefined> {
    const deadline = this.#clock.nowMs() + options.deadlineMs;
    if (plan.steps.length === 0) return undefined;
    const wanted = options.mustServe === true ? await this.#mustServe(plan, deadline) : new Set<string>();
    for (const step of plan.steps) {
      const failure = await this.#perform(step, deadline - this.#clock.nowMs());
      if (failure !== undefined) return `${step.action} ${step.path}: ${failure}`;
    }
    return this.#settle(deadline, options.stableForMs, wanted);
  }

  /** What the plan touches, but for what brings nothing as it is. */
  async #mustServe(plan: TopologyPlan, deadline: number): Promise<ReadonlySet<string>> {
    const idle = new Set((await this.#look(deadline)).idle?.map(({ path }) => path));
    const touched = plan.steps.filter(({ action }) => action !== 'stop').map(({ path }) => path);
    return new Set(touched.filter((path) => !idle.has(path)));
  }

  async #perform(step: PlanStep, withinMs: number): Promise<string | undefined> {
    if (withinMs <= 0) return 'no time left';
    const abort = new AbortController();
    const done = new AbortController();
    const operation = operate(this.#host, step, abort.signal)
      .then(() => undefined, messageOf)
      .finally(() => done.abort());
    await Promise.race([operation, this.#clock.sleep(withinMs, done.signal)]);
    if (done.signal.aborted) return operation;
    abort.abort();
    await Promise.race([operation, this.#clock.sleep(ABORT_GRACE_MS, done.signal)]);
    return 'not done in time';
  }

  async #settle(deadline: number, stableForMs: number, wanted: ReadonlySet<string>): Promise<string | undefined> {
    let wellSince: number | undefined;
    for (;;) {
      const { unwell: failing, idle = [] } = await this.#look(deadline);
      const unwell = [...failing, ...idle.filter(({ path }) => wanted.has(path))];
      const now = this.#clock.nowMs();
      wellSince = unwell.length > 0 ? undefined : (wellSince ?? now);
      if (wellSince !== undefined && now - wellSince >= stableForMs) return undefined;
      if (now >= deadline) return notHealthy(unwell);
      await this.#clock.sleep(Math.min(HEALTH_LOOK_MS, Math.max(1, deadline - now)), new AbortController().signal);
    }
  }

  async #look(deadline: number): Promise<TopologyHealth> {
    const done = new AbortController();
    const health = Promise.resolve()
      .then(() => this.#host.health())
      .catch((error: unknown) => unknownHealth(messageOf(error)))
      .finally(() => done.abort());
    const left = Math.max(1, deadline - this.#clock.nowMs());
    await Promise.race([health, this.#clock.sleep(left, done.signal)]);
    return done.signal.aborted ? health : unknownHealth('no answer in time');
  }

  async #rollBack(
    plan: TopologyPlan,
    desired: TopologyTree,
    reason: string,
    options: ApplyOptions,
  ): Promise<ApplyOutcome> {
    const previous = this.#current;
    const planBack = () => planTopology(this.#runningTree(desired), previous);
    const undone: PlanStep[] = [];
    for (let round = 0; round < ROLLBACK_ROUNDS; round++) {
      const back = planBack();
      if (back.steps.length === 0) break;
      // One step that fails must not keep the others from going back; the next round takes up what is left.
      for (const step of back.steps) {
        if ((await this.#perform(step, options.deadlineMs)) === undefined) undone.push(step);
      }
    }
    const astray = planBack().steps.map((step) => step.path);
    const kind = astray.length === 0 ? 'rolled-back' : 'rollback-failed';
    const code = astray.length === 0 ? 'TW_TOPOLOGY_ROLLED_BACK' : 'TW_TOPOLOGY_ROLLBACK_FAILED';
    return { kind, code, plan, reason, undone, astray };
  }

  /** What runs, in the order in which it starts; whatever runs is of the tree applied last or of the desired one. */
  #runningTree(desired: TopologyTree): TopologyTree {
    const order = mergedOrder(this.#current, desired);
    const running = [...this.#host.running()];
    return treeOf(running.sort((a, b) => (order.get(a.path) ?? 0) - (order.get(b.path) ?? 0)));
  }
}

/** Async, so that a host that throws at once is a failed step like any other. */
async function operate(host: TopologyHost, step: PlanStep, signal: AbortSignal): Promise<void> {
  const { action, node, previous } = step;
  if (previous === null || action === 'start') return host.start(node, signal);
  return action === 'stop' ? host.stop(previous, signal) : host[action](node, previous, signal);
}

/** Positions that respect the order of both trees: what only one of them has stands after its neighbour there. */
function mergedOrder(one: TopologyTree, two: TopologyTree): ReadonlyMap<string, number> {
  const paths = one.nodes.map((node) => node.path);
  two.nodes.forEach((node, index) => {
    if (paths.includes(node.path)) return;
    const neighbour = two.nodes[index - 1];
    paths.splice(neighbour === undefined ? 0 : paths.indexOf(neighbour.path) + 1, 0, node.path);
  });
  return new Map(paths.map((path, position) => [path, position]));
}

function refused(code: ErrorCode, reason: string): ApplyOutcome {
  return { kind: 'refused', code, reason };
}

function notHealthy(unwell: TopologyHealth['unwell']): string {
  if (unwell.length === 0) return 'not healthy for long enough by the deadline';
  const shown = unwell.slice(0, 5).map(({ path, reason }) => `${path} (${reason})`);
  const rest = unwell.length > shown.length ? ` and ${unwell.length - shown.length} more` : '';
  return `not healthy by the deadline: ${shown.join(', ')}${rest}`;
}

function unknownHealth(why: string): TopologyHealth {
  return { unwell: [{ path: '/', reason: `health is not known: ${why}` }] };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
