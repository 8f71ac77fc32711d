import { createEffect, createSignal, For, type JSX, lazy, Match, Show, Suspense, Switch } from 'solid-js';
import type { PageName } from '../../protocols/console-api.ts';
import { ActorsPage } from './pages/actors.tsx';
import { Help } from './parts/help.tsx';
import { Absent, Calm } from './parts/notes.tsx';
import { StatusStrip } from './parts/status-strip.tsx';
import { TokenDialog } from './parts/token-dialog.tsx';
import { useShortcuts } from './state/keys.ts';
import { pulse } from './state/live.ts';
import { linkTo, PAGES, route } from './state/route.ts';
import { toggleTheme } from './state/theme.ts';

// The first view is the actors; the other pages are loaded when they are looked at.
const ThreadsPage = lazy(() => import('./pages/threads.tsx'));
const BooksPage = lazy(() => import('./pages/books.tsx'));
const BarsPage = lazy(() => import('./pages/bars.tsx'));
const IngestPage = lazy(() => import('./pages/ingest.tsx'));
const TopologyPage = lazy(() => import('./pages/topology.tsx'));

const WHAT: Readonly<Record<PageName, string>> = {
  actors: 'actors',
  threads: 'threads',
  books: 'order books',
  bars: 'K-lines',
  ingest: 'ingest',
  topology: 'a topology that can be changed',
};

export function App() {
  const [isHelpOpen, setHelpOpen] = createSignal(false);
  useShortcuts([
    ...PAGES.map(({ name, title }, at) => ({
      key: String(at + 1),
      means: title,
      run: () => {
        location.hash = linkTo(name);
      },
    })),
    { key: 't', means: 'Light or dark', run: toggleTheme },
    { key: '?', means: 'This help', run: () => setHelpOpen(true) },
  ]);
  createEffect(() => {
    const title = PAGES.find(({ name }) => name === route().page)!.title;
    const status = pulse()?.status ?? 'OK';
    document.title = `${status === 'OK' ? '' : `${status} · `}${title} · Tapeworks`;
  });
  return (
    <>
      <a class="skip" href="#content">
        Skip to content
      </a>
      <StatusStrip onHelp={() => setHelpOpen(true)} />
      <nav class="tabs" aria-label="Pages">
        <For each={PAGES}>
          {({ name, title }, at) => (
            <a
              href={linkTo(name)}
              aria-current={route().page === name ? 'page' : undefined}
              classList={{ absent: pulse() !== undefined && !pulse()!.pages.includes(name) }}
            >
              {title}
              <kbd>{at() + 1}</kbd>
            </a>
          )}
        </For>
      </nav>
      <main id="content" tabindex="-1">
        <Suspense fallback={<Calm>Loading</Calm>}>
          <Switch>
            <Page name="actors" isAlwaysThere>
              <ActorsPage />
            </Page>
            <Page name="threads" isAlwaysThere>
              <ThreadsPage />
            </Page>
            <Page name="books">
              <BooksPage />
            </Page>
            <Page name="bars">
              <BarsPage />
            </Page>
            <Page name="ingest">
              <IngestPage />
            </Page>
            <Page name="topology">
              <TopologyPage />
            </Page>
          </Switch>
        </Suspense>
      </main>
      <Show when={isHelpOpen()}>
        <Help onClose={() => setHelpOpen(false)} />
      </Show>
      <TokenDialog />
    </>
  );
}

/** A page, once it is known whether there is something for it to show. */
function Page(props: { readonly name: PageName; readonly isAlwaysThere?: boolean; readonly children: JSX.Element }) {
  return (
    <Match when={route().page === props.name}>
      <Show when={pulse() ?? props.isAlwaysThere} fallback={<Calm>Waiting for the first data</Calm>}>
        <Show when={pulse()?.pages.includes(props.name) ?? true} fallback={<Absent what={WHAT[props.name]} />}>
          {props.children}
        </Show>
      </Show>
    </Match>
  );
}
