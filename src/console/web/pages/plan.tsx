import { For, Show } from 'solid-js';
import type { TopologyReply } from '../../../protocols/control-api.ts';
import type { PlanAction, PlanStepView, PlanView, SettingChange } from '../../../protocols/topology-plan.ts';

const MARK: Readonly<Record<PlanAction, string>> = { start: '+', stop: '−', move: '→', reconfigure: '~', restart: '↻' };

/** A plan as a diff: what starts, stops, moves or changes, and each setting's old and new value. */
export function Plan(props: { readonly plan: PlanView }) {
  return (
    <>
      <Show when={props.plan.needsNewProcess.length > 0}>
        <p class="trouble">Only a new process can take: {props.plan.needsNewProcess.join(', ')}.</p>
      </Show>
      <ol class="steps">
        <For each={props.plan.steps}>{(step) => <Step step={step} />}</For>
      </ol>
      <p class="aside">
        {props.plan.steps.length === 0 ? 'No actor changes. ' : ''}
        {props.plan.unchanged.length} actors stay as they are.
      </p>
    </>
  );
}

function Step(props: { readonly step: PlanStepView }) {
  return (
    <li data-action={props.step.action}>
      <b aria-hidden="true">{MARK[props.step.action]}</b> <code>{props.step.path}</code>{' '}
      <small>
        {props.step.action} on {props.step.thread}
      </small>
      <ul>
        <For each={props.step.changes}>
          {(change) => (
            <li>
              {change.key}{' '}
              <For each={sides(change)}>
                {([kind, text]) => (kind === 'del' ? <del>{text}</del> : <ins>{text}</ins>)}
              </For>
            </li>
          )}
        </For>
      </ul>
    </li>
  );
}

/** Old and new value; of lists only what left and what came. */
function sides({ before, after }: SettingChange): readonly (readonly ['del' | 'ins', string])[] {
  if (!Array.isArray(before) || !Array.isArray(after)) {
    return [
      ['del', shown(before)],
      ['ins', shown(after)],
    ];
  }
  const [old, now] = [before.map(itemText), after.map(itemText)];
  const left = old.filter((item) => !now.includes(item)).map((item) => ['del', item] as const);
  const came = now.filter((item) => !old.includes(item)).map((item) => ['ins', item] as const);
  return [...left, ...came].slice(0, ITEMS_MAX);
}

function itemText(item: unknown): string {
  if (typeof item !== 'object' || item === null) return String(item);
  const { venue, symbol, name } = item as { venue?: string; symbol?: string; name?: string };
  return symbol === undefined ? (name ?? JSON.stringify(item)) : venue === undefined ? symbol : `${venue}:${symbol}`;
}

const ITEMS_MAX = 24;
const SHOWN_MAX = 80;

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : value === null ? 'none' : JSON.stringify(value);
  return text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text;
}

/** How an apply ended. */
export function Verdict(props: { readonly reply: TopologyReply }) {
  const text = () => {
    const { reply } = props;
    switch (reply.kind) {
      case 'applied':
        return `Applied: ${reply.plan.steps.length} steps, and everything is healthy.`;
      case 'rolled-back':
        return `Rolled back to what ran before: ${reply.reason}`;
      case 'rollback-failed':
        return `Rolling back failed: ${reply.reason}. Not as before: ${reply.astray.join(', ')}`;
      case 'refused':
        return `Not applied: ${reply.reason}`;
      case 'invalid':
        return 'Not applied: the files have mistakes';
      default:
        return 'Not applied';
    }
  };
  return (
    <p class={props.reply.kind === 'applied' ? 'success' : 'trouble'} role="status">
      {text()}
    </p>
  );
}
