import { createSignal, onCleanup, onMount } from 'solid-js';

const ROW_HEIGHT = 30;
/** Up to so many rows are all kept in the page, where the browser's own search finds them. */
const ALL_MAX = 120;
const BEYOND = 12;

/** Which rows of a long table are near the viewport; the others are room above and below. */
export function useRowWindow(body: () => HTMLElement | undefined, count: () => number) {
  const [top, setTop] = createSignal(0);
  const [height, setHeight] = createSignal(innerHeight);
  const look = () => {
    setTop(Math.max(0, -(body()?.getBoundingClientRect().top ?? 0)));
    setHeight(innerHeight);
  };
  onMount(() => {
    addEventListener('scroll', look, { passive: true });
    addEventListener('resize', look);
    onCleanup(() => {
      removeEventListener('scroll', look);
      removeEventListener('resize', look);
    });
  });
  const isWhole = () => count() <= ALL_MAX;
  const first = () => (isWhole() ? 0 : Math.min(count(), Math.max(0, Math.floor(top() / ROW_HEIGHT) - BEYOND)));
  const end = () => (isWhole() ? count() : Math.min(count(), first() + Math.ceil(height() / ROW_HEIGHT) + 2 * BEYOND));
  return {
    first,
    end,
    above: () => first() * ROW_HEIGHT,
    below: () => (count() - end()) * ROW_HEIGHT,
    /** Scrolls so that the row is in sight, if it is not. */
    reveal(at: number) {
      const start = body()?.getBoundingClientRect().top;
      if (start === undefined || at < 0) return;
      const rowTop = start + at * ROW_HEIGHT;
      const margin = 3 * ROW_HEIGHT;
      if (rowTop < 2 * margin) scrollBy({ top: rowTop - 2 * margin });
      else if (rowTop > innerHeight - margin) scrollBy({ top: rowTop - innerHeight + margin });
    },
  };
}
