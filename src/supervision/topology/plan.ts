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
  const evicted = evictedFrom(current.nodes, after);
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
    unchanged: desired.nodes.filter(({ path, digest }) => runningAt(path)?.digest === digest).map(({ path }) => path),
    needsNewProcess: (system?.changes ?? []).map(({ key }) => key).filter((key) => !isTakenLive('system', key)),
  };
}

function stopOf(node: TopologyNode): PlanStep {
  return { action: 'stop', path: node.path, kind: node.kind, node, previous: node, changes: [] };
}

/**
 * Actors that stay in the tree and are nevertheless stopped first and started again later:
 *
 * - on a pinned thread that another actor is to have: it has room for one, and two can also swap theirs so;
 * - on a loop thread that is to be made otherwise: it ends with the last of them;
 * - beside one that starts anew, where their supervisor restarts them together, or those behind it.
 */
function evictedFrom(current: readonly TopologyNode[], after: ReadonlyMap<string, TopologyNode>): ReadonlySet<string> {
  const actors = current.filter(({ path, kind }) => after.has(path) && kind !== 'system' && kind !== 'supervisor');
  const leaving = actors.filter((node) => leavesThread(node, after.get(node.path)!, current, after));
  const groups = [...new Set(actors.map(({ path }) => parentOf(path)))].map((parent) => {
    const siblings = actors.filter(({ path }) => parentOf(path) === parent);
    const { strategy } = siblings[0]!.supervision;
    const first = siblings.findIndex((node) => leaving.includes(node) || startsAnew(node, after.get(node.path)!));
    if (first < 0 || strategy === 'one_for_one') return [];
    const together = siblings.slice(strategy === 'one_for_all' ? 0 : first);
    return together.length > 1 ? together : [];
  });
  return new Set([...leaving, ...groups.flat()].map(({ path }) => path));
}

function leavesThread(
  { path, placement }: TopologyNode,
  goal: TopologyNode,
  current: readonly TopologyNode[],
  after: ReadonlyMap<string, TopologyNode>,
): boolean {
  const { thread, kind } = placement;
  const isShared = (nodes: readonly TopologyNode[]) =>
    nodes.some((other) => other.path !== path && other.placement.thread === thread);
  if (kind === 'pinned') return goal.placement.thread !== thread && isShared([...after.values()]);
  const isMadeAnew = goal.placement.thread === thread && differences('', placement, goal.placement).length > 0;
  return kind === 'loop' && isMadeAnew && isShared(current);
}

function startsAnew(previous: TopologyNode, node: TopologyNode): boolean {
  return stepTo(node, previous).some(({ action }) => action === 'restart' || action === 'move');
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
