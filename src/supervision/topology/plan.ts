import type { TopologyNode, TopologyTree } from '../../protocols/topology.ts';
import type { PlanAction, PlanStep, SettingChange, TopologyPlan } from '../../protocols/topology-plan.ts';
import { handsOver, isTakenLive } from './actor-kinds.ts';
import { parentOf } from './compile.ts';

/**
 * What leads from the tree that runs to the one that should:
 *
 *   1. stops, in the reverse of the order in which things started
 *   2. starts, moves, restarts and changes in place, in the order in which things start
 *   3. stops of actors that hand their work over, once there is someone to take it
 *
 * Pure: the same two trees always give the same plan, and the plan of a tree with itself has no steps.
 */
export function planTopology(current: TopologyTree, desired: TopologyTree): TopologyPlan {
  const before = new Map(current.nodes.map((node) => [node.path, node]));
  const after = new Map(desired.nodes.map((node) => [node.path, node]));
  const evicted = new Set(current.nodes.filter((node) => isEvicted(node, after)).map((node) => node.path));
  const stops = current.nodes.filter((node) => !after.has(node.path) || evicted.has(node.path)).reverse();
  const late = stops.filter((node) => stopsLate(node, after, desired.nodes));
  const early = stops.filter((node) => !late.includes(node));
  const runningAt = (path: string) => (evicted.has(path) ? null : (before.get(path) ?? null));
  const forward = forwardOrder(desired.nodes, before).flatMap((node) => stepTo(node, runningAt(node.path)));
  const system = forward.find((step) => step.kind === 'system' && step.action !== 'start');
  return {
    from: current.digest,
    to: desired.digest,
    steps: [...early.map(stopOf), ...forward, ...late.map(stopOf)],
    unchanged: desired.nodes.filter((node) => before.get(node.path)?.digest === node.digest).map((node) => node.path),
    needsNewProcess: (system?.changes ?? []).map(({ key }) => key).filter((key) => !isTakenLive('system', key)),
  };
}

function stopOf(node: TopologyNode): PlanStep {
  return { action: 'stop', path: node.path, kind: node.kind, node, previous: node, changes: [] };
}

/**
 * A pinned thread has room for one. An actor that leaves one which another is to have is stopped first and started at
 * its new place later, so that two can also swap theirs.
 */
function isEvicted(node: TopologyNode, after: ReadonlyMap<string, TopologyNode>): boolean {
  const { thread, kind } = node.placement;
  const goal = after.get(node.path)?.placement.thread ?? thread;
  if (kind !== 'pinned' || goal === thread) return false;
  return [...after.values()].some((other) => other.path !== node.path && other.placement.thread === thread);
}

/** Late, unless its whole part of the tree goes, or another actor is waiting for its thread. */
function stopsLate(
  node: TopologyNode,
  after: ReadonlyMap<string, TopologyNode>,
  desired: readonly TopologyNode[],
): boolean {
  if (!handsOver(node.kind) || !after.has(parentOf(node.path) ?? '/')) return false;
  return desired.every((other) => other.placement.thread !== node.placement.thread);
}

/** The order of the tree, but among siblings that hand work over, new ones come before those that will give to them. */
function forwardOrder(
  nodes: readonly TopologyNode[],
  before: ReadonlyMap<string, TopologyNode>,
): readonly TopologyNode[] {
  const rank = new Map(
    nodes.map((node, index) => {
      const isNewTaker = handsOver(node.kind) && !before.has(node.path);
      const first = nodes.findIndex(
        (other) => other.kind === node.kind && parentOf(other.path) === parentOf(node.path),
      );
      return [node, isNewTaker ? first - 0.5 : index];
    }),
  );
  return [...nodes].sort((a, b) => rank.get(a)! - rank.get(b)!);
}

function stepTo(node: TopologyNode, previous: TopologyNode | null): readonly PlanStep[] {
  const { path, kind } = node;
  if (previous === null) return [{ action: 'start', path, kind, node, previous, changes: [] }];
  if (previous.digest === node.digest) return [];
  const changes = changesBetween(previous, node);
  return [{ action: actionFor(previous, node, changes), path, kind, node, previous, changes }];
}

function actionFor(previous: TopologyNode, node: TopologyNode, changes: readonly SettingChange[]): PlanAction {
  if (previous.kind !== node.kind) return 'restart';
  if (changes.some(({ key }) => key.startsWith('placement.'))) return 'move';
  return changes.every(({ key }) => isTakenLive(node.kind, key)) ? 'reconfigure' : 'restart';
}

function changesBetween(previous: TopologyNode, node: TopologyNode): readonly SettingChange[] {
  return [
    ...differences('kind', previous.kind, node.kind),
    ...differences('placement', previous.placement, node.placement),
    ...differences('supervision', previous.supervision, node.supervision),
    ...differences('settings', previous.settings, node.settings),
  ];
}

/** The deepest settings that differ; lists are one setting. */
function differences(key: string, before: unknown, after: unknown): readonly SettingChange[] {
  if (isMapping(before) && isMapping(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => differences(`${key}.${name}`, before[name], after[name]));
  }
  return JSON.stringify(before) === JSON.stringify(after)
    ? []
    : [{ key, before: before ?? null, after: after ?? null }];
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
