import { createMemo, createSignal, For, Show } from 'solid-js';
import type { ConfigIssue } from '../../../protocols/config-issue.ts';

/** A plain text field with line numbers. Lines with a mistake are marked, and the one at the cursor says what it is. */
export function YamlEditor(props: {
  readonly name: string;
  readonly text: string;
  readonly isReadOnly: boolean;
  readonly issues: readonly ConfigIssue[];
  onInput(text: string): void;
}) {
  let field!: HTMLTextAreaElement;
  let gutter!: HTMLDivElement;
  const [line, setLine] = createSignal(1);
  const lines = createMemo(() => props.text.split('\n').length);
  const issuesAt = (wanted: number) => props.issues.filter((issue) => issue.line === wanted);
  const noteCursor = () => setLine(field.value.slice(0, field.selectionStart).split('\n').length);
  const goTo = (issue: ConfigIssue) => {
    const before = props.text.split('\n').slice(0, Math.max(0, issue.line - 1));
    const at = before.reduce((sum, text) => sum + text.length + 1, 0) + Math.max(0, issue.column - 1);
    field.focus();
    field.setSelectionRange(at, at);
    noteCursor();
  };
  const keepTab = (event: KeyboardEvent) => {
    if (event.key !== 'Tab' || event.shiftKey || props.isReadOnly) return;
    event.preventDefault();
    field.setRangeText('  ', field.selectionStart, field.selectionEnd, 'end');
    props.onInput(field.value);
  };
  return (
    <div class="card editor">
      <div class="editor-lines">
        <div class="gutter" ref={gutter} aria-hidden="true">
          <For each={Array.from({ length: lines() }, (_, at) => at + 1)}>
            {(number) => (
              <span classList={{ wrong: issuesAt(number).length > 0, here: line() === number }}>{number}</span>
            )}
          </For>
        </div>
        <textarea
          ref={field}
          aria-label={props.name}
          aria-invalid={props.issues.length > 0}
          spellcheck={false}
          autocapitalize="off"
          wrap="off"
          readOnly={props.isReadOnly}
          value={props.text}
          onInput={(event) => {
            props.onInput(event.currentTarget.value);
            noteCursor();
          }}
          onKeyDown={keepTab}
          onKeyUp={noteCursor}
          onClick={noteCursor}
          onScroll={() => {
            gutter.scrollTop = field.scrollTop;
          }}
        />
      </div>
      <Show when={props.issues.length > 0}>
        <ul class="issues" aria-label="Mistakes">
          <For each={props.issues}>
            {(issue) => (
              <li classList={{ here: issue.line === line() }} data-line={issue.line}>
                <button type="button" class="quiet" onClick={() => goTo(issue)}>
                  line {issue.line}:{issue.column}
                </button>{' '}
                <b>{issue.path}</b>: expected {issue.expected}, got {issue.got}
                <Show when={issue.suggestion}>; {issue.suggestion}</Show>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </div>
  );
}
