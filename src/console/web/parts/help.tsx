import { For } from 'solid-js';
import { shortcuts } from '../state/keys.ts';
import { Dialog } from './dialog.tsx';

const SHOWN: Readonly<Record<string, string>> = {
  ArrowDown: '↓',
  ArrowUp: '↑',
  ArrowLeft: '←',
  ArrowRight: '→',
  Escape: 'Esc',
};

export function Help(props: { onClose(): void }) {
  return (
    <Dialog label="Keyboard shortcuts" onClose={props.onClose}>
      <h2>Keyboard</h2>
      <dl class="keys">
        <For each={shortcuts()}>
          {({ key, means }) => (
            <>
              <dt>
                <kbd>{SHOWN[key] ?? key}</kbd>
              </dt>
              <dd>{means}</dd>
            </>
          )}
        </For>
      </dl>
      <form method="dialog">
        <button type="submit">Close</button>
      </form>
    </Dialog>
  );
}
