import { createEffect, createResource, createSignal, For, on, Show } from 'solid-js';
import type { DeadLetterView, RetryOutcome } from '../../../protocols/console-api.ts';
import { Calm, Trouble } from '../parts/notes.tsx';
import { getJson, postJson } from '../state/api.ts';
import { pulse } from '../state/live.ts';

/** Entries that could not be stored, why, and another try for those whose cause is mended. */
export function DeadLetters(props: { readonly count: number }) {
  const load = () => getJson<readonly DeadLetterView[]>('/api/ingest/dead-letters?limit=100');
  const [letters, { refetch }] = createResource(load);
  const [chosen, setChosen] = createSignal<ReadonlySet<string>>(new Set());
  const [outcome, setOutcome] = createSignal('');
  createEffect(
    on(
      () => props.count,
      () => void refetch(),
      { defer: true },
    ),
  );
  const pick = (id: string) => {
    const next = new Set(chosen());
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  const retry = async (ids: readonly string[]) => {
    try {
      const { retried, refused } = await postJson<RetryOutcome>('/api/control/dead-letters/retry', { ids });
      const failed = refused.map(({ id, reason }) => `${id}: ${reason}`).join('; ');
      setOutcome(`${retried.length} sent again${failed === '' ? '' : `, not: ${failed}`}`);
      setChosen(new Set<string>());
      await refetch();
    } catch (error) {
      setOutcome((error as Error).message);
    }
  };
  return (
    <article class="card">
      <header>
        <h2>Dead letters</h2>
        <Show when={pulse()?.control && chosen().size > 0}>
          <button type="button" onClick={() => void retry([...chosen()])}>
            Retry {chosen().size}
          </button>
        </Show>
        <Show when={outcome() !== ''}>
          <span role="status">{outcome()}</span>
        </Show>
      </header>
      <Show when={letters.error === undefined} fallback={<Trouble>{(letters.error as Error).message}</Trouble>}>
        <Show when={(letters.latest?.length ?? 0) > 0} fallback={<Calm>None: no event was refused.</Calm>}>
          <div class="scroll">
            <table class="grid">
              <thead>
                <tr>
                  <Show when={pulse()?.control}>
                    <th scope="col" aria-label="Choose" />
                  </Show>
                  <th scope="col">When</th>
                  <th scope="col">Stream</th>
                  <th scope="col">Code</th>
                  <th scope="col">Reason</th>
                  <th scope="col" class="wide">
                    Begins with
                  </th>
                </tr>
              </thead>
              <tbody>
                <For each={letters.latest}>
                  {(letter) => (
                    <tr data-letter={letter.id}>
                      <Show when={pulse()?.control}>
                        <td>
                          <input
                            type="checkbox"
                            aria-label={`Choose ${letter.id}`}
                            checked={chosen().has(letter.id)}
                            onChange={() => pick(letter.id)}
                          />
                        </td>
                      </Show>
                      <td>{new Date(letter.atMs).toISOString().slice(0, 19).replace('T', ' ')}</td>
                      <td>{letter.stream}</td>
                      <td>
                        <code>{letter.code}</code> <small>{letter.stage}</small>
                      </td>
                      <td class="reason">
                        {letter.reason} <small>{letter.path}</small>
                      </td>
                      <td class="raw wide">
                        <code>{letter.raw}</code>
                      </td>
                    </tr>
                  )}
                </For>
              </tbody>
            </table>
          </div>
        </Show>
      </Show>
    </article>
  );
}
