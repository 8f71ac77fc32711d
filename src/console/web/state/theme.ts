import { createSignal } from 'solid-js';

export type Theme = 'light' | 'dark';

const KEY = 'tapeworks.theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const chosen = () => localStorage.getItem(KEY) as Theme | null;

const [theme, setTheme] = createSignal<Theme>(chosen() ?? (system.matches ? 'dark' : 'light'));

export { theme };

function show(next: Theme): void {
  setTheme(next);
  document.documentElement.dataset['theme'] = next;
}

show(theme());
system.addEventListener('change', () => {
  if (chosen() === null) show(system.matches ? 'dark' : 'light');
});

export function toggleTheme(): void {
  const next = theme() === 'dark' ? 'light' : 'dark';
  localStorage.setItem(KEY, next);
  show(next);
}

/** A colour of the stylesheet, for what is drawn on a canvas. */
export function colour(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
