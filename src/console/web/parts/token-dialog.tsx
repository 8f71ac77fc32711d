import { Show } from 'solid-js';
import { tokenQuestion } from '../state/token.ts';
import { Dialog } from './dialog.tsx';

/** Asks for the bearer token. It is kept for this tab only. */
export function TokenDialog() {
  let field!: HTMLInputElement;
  return (
    <Show when={tokenQuestion()}>
      {(question) => (
        <Dialog label="Token" onClose={() => question().answer(undefined)}>
          <h2>Token needed</h2>
          <p>
            {question().wasWrong ? 'That token was not accepted. ' : ''}
            Paste the content of the file that <code>auth.tokenFile</code> names. It stays in this tab.
          </p>
          <form
            onSubmit={(event) => {
              event.preventDefault();
              if (field.value.trim() !== '') question().answer(field.value.trim());
            }}
          >
            <input ref={field} type="password" autocomplete="off" aria-label="Token" autofocus />
            <button type="submit">Use it</button>
            <button type="button" onClick={() => question().answer(undefined)}>
              Not now
            </button>
          </form>
        </Dialog>
      )}
    </Show>
  );
}
