import { createMemo, For, onCleanup, onMount, Show } from 'solid-js';
import type { Problem } from '../../../protocols/console-api.ts';
import { link, lostReason, pulse } from '../state/live.ts';
import { linkTo } from '../state/route.ts';
import { theme, toggleTheme } from '../state/theme.ts';
import { short, span } from './format.ts';

const WORD = { OK: 'All is well', DEGRADED: 'Degraded', DOWN: 'Down' } as const;

/** The state of everything in one line: what an operator should know after five seconds. */
export function StatusStrip(props: { onHelp(): void }) {
  const status = () => (link() === 'lost' ? 'LOST' : (pulse()?.status ?? 'WAITING'));
  /** Without a connection, what was said of the system last is no news. */
  const problems = createMemo(() => (link() === 'lost' ? [] : (pulse()?.problems ?? [])));
  const headline = createMemo(() => {
    if (link() === 'lost') return `No connection to the system: ${lostReason()}. Trying again.`;
    const state = pulse();
    if (state === undefined) return 'Connecting';
    if (problems().length === 0) return WORD[state.status];
    return `${state.status === 'OK' ? 'Running' : WORD[state.status]}: `;
  });
  let strip!: HTMLElement;
  // What sticks below the strip must know how high it is at the moment.
  onMount(() => {
    const watcher = new ResizeObserver(() => {
      document.documentElement.style.setProperty('--strip-height', `${strip.offsetHeight}px`);
    });
    watcher.observe(strip);
    onCleanup(() => watcher.disconnect());
  });
  return (
    <header class="strip" data-status={status()} ref={strip}>
      <div class="strip-line">
        <a class="brand" href="#/actors">
          Tapeworks
        </a>
        <p class="headline" role="status">
          <span class="lamp" aria-hidden="true" />
          <span title={`${headline()}${problems()[0]?.text ?? ''}`}>
            {headline()}
            <Show when={problems()[0]}>{(worst) => <ProblemLink problem={worst()} />}</Show>
          </span>
        </p>
        <Show when={pulse()}>
          {(state) => (
            <>
              <ul class="parts" aria-label="Parts">
                <For each={state().parts}>
                  {(part) => (
                    <li data-status={part.status} title={part.reason || part.status}>
                      {part.name}
                    </li>
                  )}
                </For>
              </ul>
              <p class="figures">
                <Show when={state().simulated}>
                  <span class="simulated" title="Prices are made up; npm start -- --live connects to the real venues">
                    simulated venues
                  </span>
                </Show>
                <span>
                  <b>{state().actors.running}</b>/{state().actors.total} actors
                </span>
                <span>
                  <b>{short(state().messagesPerSecond)}</b> msg/s
                </span>
                <span>
                  up <b>{span(state().uptimeMs)}</b>
                </span>
              </p>
            </>
          )}
        </Show>
        <button type="button" class="quiet" onClick={toggleTheme} title="Light or dark (t)">
          {theme() === 'dark' ? 'Light' : 'Dark'}
        </button>
        <button type="button" class="quiet" onClick={() => props.onHelp()} title="Keyboard shortcuts (?)">
          ?
        </button>
      </div>
      <Show when={problems().length > 1}>
        <ul class="problems" aria-label="Further problems">
          <For each={problems().slice(1)}>
            {(problem) => (
              <li data-severity={problem.severity}>
                <ProblemLink problem={problem} />
              </li>
            )}
          </For>
        </ul>
      </Show>
    </header>
  );
}

function ProblemLink(props: { readonly problem: Problem }) {
  const query = () => (props.problem.subject === '' ? {} : { actor: props.problem.subject });
  return (
    <a class="problem" href={linkTo(props.problem.page, query())}>
      {props.problem.text}
    </a>
  );
}
