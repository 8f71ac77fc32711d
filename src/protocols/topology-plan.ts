import type { ActorKind, TopologyNode } from './topology.ts';

/**
 * - start, stop: the actor is only in the new tree, or only in the old one.
 * - move: it goes to another thread, or its thread gets other settings.
 * - reconfigure: it takes the change while it runs.
 * - restart: it stays where it is, and starts anew with the change.
 */
export type PlanAction = 'start' | 'stop' | 'move' | 'reconfigure' | 'restart';

/** One setting that differs, such as `settings.depth`. */
export interface SettingChange {
  readonly key: string;
  readonly before: unknown;
  readonly after: unknown;
}

export interface PlanStep {
  readonly action: PlanAction;
  readonly path: string;
  readonly kind: ActorKind;
  /** The node as it should be; for a stop, as it is. */
  readonly node: TopologyNode;
  /** The node as it is; null for a start. */
  readonly previous: TopologyNode | null;
  readonly changes: readonly SettingChange[];
}

/** What leads from one tree to another, in the order in which it is done. */
export interface TopologyPlan {
  /** Digests of the two trees. */
  readonly from: string;
  readonly to: string;
  readonly steps: readonly PlanStep[];
  readonly unchanged: readonly string[];
  /** Settings that only a new process can take; such a plan is shown, but not applied. */
  readonly needsNewProcess: readonly string[];
}

/** What of a plan the command line and the dashboard show: the steps without the nodes' whole settings. */
export interface PlanView {
  readonly from: string;
  readonly to: string;
  readonly steps: readonly PlanStepView[];
  readonly unchanged: readonly string[];
  readonly needsNewProcess: readonly string[];
}

export interface PlanStepView {
  readonly action: PlanAction;
  readonly path: string;
  readonly kind: ActorKind;
  readonly thread: string;
  readonly changes: readonly SettingChange[];
}

export function viewOf(plan: TopologyPlan): PlanView {
  const steps = plan.steps.map(({ action, path, kind, node, changes }) => ({
    ...{ action, path, kind, thread: node.placement.thread, changes },
  }));
  return { ...plan, steps };
}
