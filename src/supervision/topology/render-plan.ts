import type { PlanAction, PlanStepView, PlanView } from '../../protocols/topology-plan.ts';
import { showDuration, showSize } from './checker.ts';

const MARK: Readonly<Record<PlanAction, string>> = {
  ...{ start: '+', stop: '-', move: '->', reconfigure: '~', restart: '+/-' },
};
const COLOUR: Readonly<Record<PlanAction, string>> = {
  ...{ start: '32', stop: '31', move: '36', reconfigure: '33', restart: '35' },
};
const DONE: Readonly<Record<PlanAction, string>> = {
  ...{ start: 'to start', stop: 'to stop', move: 'to move', reconfigure: 'to change in place', restart: 'to restart' },
};
const SHOWN_MAX = 48;

/**
 * A plan for people:
 *
 *   + /klines/worker-2      start on klines-2
 *   ~ /feeds/binance        change in place
 *       settings.staleAfterMs: 5s → 10s
 *
 *   1 to start, 1 to change in place, 19 unchanged
 */
export function renderPlan(plan: PlanView, colours: boolean): string {
  const paint = (text: string, action: PlanAction) => (colours ? `\u001b[${COLOUR[action]}m${text}\u001b[0m` : text);
  const width = Math.max(0, ...plan.steps.map((step) => step.path.length));
  const lines = plan.steps.flatMap((step) => [
    `${paint(MARK[step.action].padStart(3), step.action)} ${step.path.padEnd(width)}  ${sentenceFor(step)}`,
    ...step.changes.map(({ key, before, after }) => `      ${key}: ${changeText(key, before, after)}`),
  ]);
  if (plan.needsNewProcess.length > 0) {
    lines.push('', `Only a new process can take: ${plan.needsNewProcess.join(', ')}. Restart tapeworks for these.`);
  }
  return [...lines, ...(lines.length > 0 ? [''] : []), summaryOf(plan), ''].join('\n');
}

function sentenceFor({ action, thread, changes }: PlanStepView): string {
  if (action === 'start') return `start on ${thread}`;
  if (action === 'stop') return `stop on ${thread}`;
  if (action === 'reconfigure') return 'change in place';
  if (action === 'restart') return `restart on ${thread}`;
  const from = changes.find(({ key }) => key === 'placement.thread')?.before;
  return from === undefined ? `move to a new ${thread}` : `move from ${String(from)} to ${thread}`;
}

function summaryOf(plan: PlanView): string {
  const counted = (Object.keys(DONE) as PlanAction[])
    .map((action) => ({ action, count: plan.steps.filter((step) => step.action === action).length }))
    .filter(({ count }) => count > 0)
    .map(({ action, count }) => `${count} ${DONE[action]}`);
  const unchanged = `${plan.unchanged.length} unchanged`;
  return counted.length === 0 ? `No changes: ${unchanged}.` : `${[...counted, unchanged].join(', ')}.`;
}

function changeText(key: string, before: unknown, after: unknown): string {
  if (!Array.isArray(before) || !Array.isArray(after)) return `${shown(key, before)} → ${shown(key, after)}`;
  const texts = (items: readonly unknown[]) => items.map(itemText);
  const [old, now] = [texts(before), texts(after)];
  const added = now.filter((item) => !old.includes(item)).map((item) => `+${item}`);
  const removed = old.filter((item) => !now.includes(item)).map((item) => `-${item}`);
  const all = [...added, ...removed];
  if (all.length === 0) return 'in another order';
  return all.length <= 8 ? all.join(' ') : `${all.slice(0, 8).join(' ')} and ${all.length - 8} more`;
}

function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { venue, symbol, name } = item as { venue?: unknown; symbol?: unknown; name?: unknown };
  if (symbol !== undefined) return venue === undefined ? String(symbol) : `${String(venue)}:${String(symbol)}`;
  return name === undefined ? JSON.stringify(item) : String(name);
}

function shown(key: string, value: unknown): string {
  if (value === null) return 'none';
  if (typeof value === 'number' && key.endsWith('Ms')) return showDuration(value);
  if (typeof value === 'number' && key.endsWith('Bytes')) return showSize(value);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}
