import { createEffect, createMemo, createResource, createSignal, For, on, onCleanup, Show } from 'solid-js';
import type { ConfigIssue } from '../../../protocols/config-issue.ts';
import { DRAFT_ROUTE, type TopologyView } from '../../../protocols/console-api.ts';
import { APPLY_ROUTE, type TopologyReply } from '../../../protocols/control-api.ts';
import { Calm, Trouble } from '../parts/notes.tsx';
import { getJson, postJson } from '../state/api.ts';
import { pulse } from '../state/live.ts';
import { Plan, Verdict } from './plan.tsx';
import { YamlEditor } from './yaml-editor.tsx';

const CHECK_AFTER_MS = 350;

/** The running files, changed here and tried out: checked while typing, planned, then applied or rolled back. */
export default function TopologyPage() {
  const [running, { refetch }] = createResource(() => getJson<TopologyView>('/api/topology'));
  const [edits, setEdits] = createSignal<Readonly<Record<string, string>>>({});
  const [file, setFile] = createSignal('topology.yaml');
  const [reply, setReply] = createSignal<TopologyReply>();
  const [verdict, setVerdict] = createSignal<TopologyReply>();
  const [failure, setFailure] = createSignal('');
  const [isApplying, setApplying] = createSignal(false);
  const files = createMemo(() => ({ ...running.latest?.files, ...edits() }));
  const isChanged = () => Object.entries(edits()).some(([name, text]) => running.latest?.files[name] !== text);
  const issues = (): readonly ConfigIssue[] => {
    const known = reply();
    return known?.kind === 'invalid' ? known.issues : [];
  };
  const plan = () => {
    const known = reply();
    return known?.kind === 'planned' && isChanged() ? known.plan : undefined;
  };
  let round = 0;
  const check = async () => {
    round++;
    const mine = round;
    try {
      const answer = await postJson<TopologyReply>(DRAFT_ROUTE, { files: files() });
      if (mine !== round) return;
      setReply(answer);
      setFailure('');
    } catch (error) {
      setFailure((error as Error).message);
    }
  };
  createEffect(
    on(edits, () => {
      if (!pulse()?.control || !isChanged()) {
        setReply(undefined);
        return;
      }
      const timer = setTimeout(() => void check(), CHECK_AFTER_MS);
      onCleanup(() => clearTimeout(timer));
    }),
  );
  const apply = async () => {
    setApplying(true);
    setVerdict(undefined);
    try {
      const answer = await postJson<TopologyReply>(APPLY_ROUTE, { files: files(), expectedFrom: plan()?.from });
      setVerdict(answer);
      if (answer.kind === 'applied') {
        await refetch();
        setEdits({});
      }
    } catch (error) {
      setFailure((error as Error).message);
    } finally {
      setApplying(false);
    }
  };
  return (
    <section aria-label="Topology">
      <Show when={running.error === undefined} fallback={<Trouble>{(running.error as Error).message}</Trouble>}>
        <Show when={running.latest} fallback={<Calm>Reading what runs</Calm>}>
          <div class="toolbar">
            <fieldset class="choices" aria-label="File">
              <For each={Object.keys(files()).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))}>
                {(name) => (
                  <button type="button" aria-pressed={file() === name} onClick={() => setFile(name)}>
                    {name}
                    {edits()[name] !== undefined && edits()[name] !== running.latest?.files[name] ? ' •' : ''}
                  </button>
                )}
              </For>
            </fieldset>
            <Show when={pulse()?.control} fallback={<p>Read only: control is off in config/kernel.yaml</p>}>
              <button type="button" disabled={!isChanged()} onClick={() => setEdits({})}>
                Undo all
              </button>
              <button
                type="button"
                class="primary"
                disabled={plan() === undefined || plan()!.steps.length === 0 || isApplying()}
                onClick={() => void apply()}
              >
                {isApplying() ? 'Applying, with a way back' : 'Apply'}
              </button>
            </Show>
          </div>
          <Show when={failure() !== ''}>
            <Trouble>{failure()}</Trouble>
          </Show>
          <Show when={verdict()}>{(known) => <Verdict reply={known()} />}</Show>
          <div class="topology">
            <YamlEditor
              name={file()}
              text={files()[file()] ?? ''}
              isReadOnly={!pulse()?.control}
              issues={issues().filter((issue) => issue.file.endsWith(file()))}
              onInput={(text) => setEdits({ ...edits(), [file()]: text })}
            />
            <div class="card plan" aria-live="polite">
              <h2>Plan</h2>
              <Show
                when={issues().length === 0}
                fallback={<OtherIssues issues={issues()} file={file()} onOpen={setFile} />}
              >
                <Show
                  when={plan()}
                  fallback={
                    <Calm>{isChanged() ? 'Checking' : 'Change a file, and what that would do stands here.'}</Calm>
                  }
                >
                  {(known) => <Plan plan={known()} />}
                </Show>
              </Show>
            </div>
          </div>
        </Show>
      </Show>
    </section>
  );
}

const rank = (name: string) => ['topology.yaml', 'kernel.yaml'].indexOf(name) + (name.includes('/') ? 9 : 0);

function OtherIssues(props: {
  readonly issues: readonly ConfigIssue[];
  readonly file: string;
  onOpen(file: string): void;
}) {
  const elsewhere = () => props.issues.filter((issue) => !issue.file.endsWith(props.file));
  return (
    <>
      <p class="trouble">
        {props.issues.length === 1 ? 'One mistake' : `${props.issues.length} mistakes`} to mend before there is a plan.
        Nothing is changed.
      </p>
      <ul class="issues">
        <For each={elsewhere()}>
          {(issue) => (
            <li>
              <button type="button" class="quiet" onClick={() => props.onOpen(issue.file)}>
                {issue.file}:{issue.line}
              </button>{' '}
              {issue.path}: expected {issue.expected}, got {issue.got}
            </li>
          )}
        </For>
      </ul>
    </>
  );
}
