import { createSignal } from 'solid-js';
import type { PageName } from '../../../protocols/console-api.ts';

export const PAGES: readonly { readonly name: PageName; readonly title: string }[] = [
  { name: 'actors', title: 'Actors' },
  { name: 'threads', title: 'Threads' },
  { name: 'books', title: 'Books' },
  { name: 'bars', title: 'Bars' },
  { name: 'ingest', title: 'Ingest' },
  { name: 'topology', title: 'Topology' },
];

/** `#/actors?actor=/feeds/binance`: the page, and what it shows, so that any view can be linked to. */
export interface Route {
  readonly page: PageName;
  readonly query: URLSearchParams;
}

function read(): Route {
  const [path = '', search = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const page = PAGES.find(({ name }) => name === path)?.name ?? 'actors';
  return { page, query: new URLSearchParams(search) };
}

const [route, setRoute] = createSignal<Route>(read());
addEventListener('hashchange', () => setRoute(read()));

export { route };

export function linkTo(page: PageName, query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query).toString();
  return `#/${page}${search === '' ? '' : `?${search}`}`;
}

/** Changes what the present page shows; an undefined value goes. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const query = Object.fromEntries(route().query);
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined) delete query[key];
    else query[key] = value;
  }
  history.replaceState(null, '', linkTo(route().page, query));
  setRoute(read());
}
