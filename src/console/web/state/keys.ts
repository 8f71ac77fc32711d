import { onCleanup } from 'solid-js';

export interface Shortcut {
  readonly key: string;
  readonly means: string;
  run(event: KeyboardEvent): void;
}

const active: Shortcut[][] = [];

/** What the keys do at this moment, the most particular first. */
export const shortcuts = (): readonly Shortcut[] => active.toReversed().flat();

/** Binds keys while the component lives. Typing into a field is never a shortcut, except Escape. */
export function useShortcuts(list: Shortcut[]): void {
  active.push(list);
  onCleanup(() => active.splice(active.indexOf(list), 1));
}

addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
  if (isTyping && event.key !== 'Escape') return;
  const shortcut = shortcuts().find(({ key }) => key === event.key);
  if (shortcut === undefined) return;
  event.preventDefault();
  shortcut.run(event);
});
