import { createEffect, createMemo, createSignal, For, on, Show } from 'solid-js';
import { VALUE } from '../../../protocols/console-api.ts';
import { ago, micros, short } from '../parts/format.ts';
import { Calm } from '../parts/notes.tsx';
import { useRowWindow } from '../parts/row-window.ts';
import { type ActorRow, followActors, levelOf, nameOf, pathsAbove, rows, stateOf } from '../state/actors.ts';
import { useShortcuts } from '../state/keys.ts';
import { pulse } from '../state/live.ts';
import { route, setQuery } from '../state/route.ts';
import { ActorDetailDrawer } from './actor-detail.tsx';

const [closed, setClosed] = createSignal<ReadonlySet<string>>(new Set());

function toggle(path: string): void {
  const next = new Set(closed());
  if (!next.delete(path)) next.add(path);
  setClosed(next);
}

/** Matches path, state or thread; supervisors above a match stay in sight. */
function matching(filter: string): readonly ActorRow[] {
  const words = filter
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== '');
  if (words.length === 0) return rows.filter((row) => !pathsAbove(row.path).some((path) => closed().has(path)));
  const hits = rows.filter((row) => {
    const text = `${row.path} ${stateOf(row)} ${row.shape.thread}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const wanted = new Set(hits.flatMap((row) => [row.path, ...pathsAbove(row.path)]));
  return rows.filter((row) => wanted.has(row.path));
}

export function ActorsPage() {
  followActors();
  let field!: HTMLInputElement;
  let body: HTMLTableSectionElement | undefined;
  const filter = () => route().query.get('filter') ?? '';
  const chosen = () => route().query.get('actor') ?? undefined;
  const shown = createMemo(() => matching(filter()));
  const open = (path: string | undefined) => setQuery({ actor: path });
  const move = (by: number) => {
    const list = shown();
    const at = list.findIndex((row) => row.path === chosen());
    open(list[Math.min(list.length - 1, Math.max(0, at + by))]?.path);
  };
  const near = useRowWindow(
    () => body,
    () => shown().length,
  );
  createEffect(
    on(chosen, (path) => {
      if (path !== undefined) near.reveal(shown().findIndex((row) => row.path === path));
    }),
  );
  const close = () => {
    field.blur();
    open(undefined);
  };
  useShortcuts([
    { key: '/', means: 'Filter actors', run: () => field.focus() },
    { key: 'ArrowDown', means: 'Next actor', run: () => move(1) },
    { key: 'ArrowUp', means: 'Actor before', run: () => move(-1) },
    { key: 'ArrowLeft', means: 'Fold or unfold', run: () => chosen() !== undefined && toggle(chosen()!) },
    { key: 'Escape', means: 'Close the details', run: close },
  ]);
  return (
    <div class="split">
      <section aria-label="Actors">
        <div class="toolbar">
          <input
            ref={field}
            type="search"
            placeholder="Filter by path, state or thread  ( / )"
            aria-label="Filter actors"
            value={filter()}
            onInput={(event) => setQuery({ filter: event.currentTarget.value || undefined })}
          />
          <p>
            {shown().length} of {rows.length}
          </p>
        </div>
        <Show when={rows.length > 0} fallback={<Calm>Waiting for the tree</Calm>}>
          <div class="scroll">
            <table class="grid actors" aria-label="Tree of actors" aria-rowcount={shown().length}>
              <thead>
                <tr>
                  <th scope="col">Actor</th>
                  <th scope="col">State</th>
                  <th scope="col" class="thread-column">
                    Thread
                  </th>
                  <th scope="col" class="number">
                    Mailbox
                  </th>
                  <th scope="col" class="number">
                    msg/s
                  </th>
                  <th scope="col" class="number wide">
                    <abbr title="Time in the mailbox, over the last minute">Wait p50 / p99</abbr>
                  </th>
                  <th scope="col" class="number wide">
                    <abbr title="Time to handle a message, over the last minute">Work p50 / p99</abbr>
                  </th>
                  <th scope="col" class="number">
                    Restarts
                  </th>
                  <th scope="col" class="number">
                    Drops
                  </th>
                  <th scope="col" class="wide failure-column">
                    Last failure
                  </th>
                </tr>
              </thead>
              <tbody ref={body}>
                <Room height={near.above()} />
                <For each={shown().slice(near.first(), near.end())}>
                  {(row) => <Row row={row} isChosen={chosen() === row.path} onOpen={() => open(row.path)} />}
                </For>
                <Room height={near.below()} />
              </tbody>
            </table>
          </div>
        </Show>
      </section>
      <Show when={chosen()} keyed>
        {(path) => <ActorDetailDrawer path={path} onClose={() => open(undefined)} />}
      </Show>
    </div>
  );
}

/** Stands for rows that are out of sight. */
function Room(props: { readonly height: number }) {
  return (
    <Show when={props.height > 0}>
      <tr class="room">
        <td colspan={10} style={{ height: `${props.height}px` }} />
      </tr>
    </Show>
  );
}

function Row(props: { readonly row: ActorRow; readonly isChosen: boolean; onOpen(): void }) {
  const value = <K extends keyof typeof VALUE>(name: K) => props.row.values[VALUE[name]];
  const pair = (low: 'waitP50' | 'workP50', high: 'waitP99' | 'workP99') =>
    value(low) === null ? '–' : `${micros(value(low))} / ${micros(value(high))}`;
  const isSupervisor = () => props.row.shape.kind === 'supervisor';
  /** Supervisors and threads that only host others take no messages of their own. */
  const isHost = () => isSupervisor() || (props.row.shape.kind === 'thread' && value('messages') === 0);
  return (
    <tr
      data-path={props.row.path}
      data-state={stateOf(props.row)}
      aria-current={props.isChosen ? 'true' : undefined}
      data-kind={props.row.shape.kind}
      onClick={() => props.onOpen()}
    >
      <th scope="row">
        <span class="indent" style={{ '--level': levelOf(props.row.path) }} />
        <Show when={isSupervisor()} fallback={<span class="leaf" aria-hidden="true" />}>
          <button
            type="button"
            class="fold"
            aria-label={`Fold ${props.row.path}`}
            aria-expanded={!closed().has(props.row.path)}
            onClick={(event) => {
              event.stopPropagation();
              toggle(props.row.path);
            }}
          />
        </Show>
        <a
          href={`#/actors?actor=${encodeURIComponent(props.row.path)}`}
          onClick={(event) => event.preventDefault()}
          title={props.row.path}
        >
          {nameOf(props.row.path)}
        </a>
      </th>
      <td class="state">{stateOf(props.row)}</td>
      <td class="thread thread-column">
        {props.row.shape.thread}
        <Show when={props.row.shape.core !== null}>
          <small> core {props.row.shape.core}</small>
        </Show>
      </td>
      <td class="number">
        <Show when={props.row.shape.capacity !== null}>
          <Mailbox depth={value('depth')} highWater={value('highWater')} capacity={props.row.shape.capacity!} />
        </Show>
      </td>
      <td class="number">{isHost() ? '' : short(value('perSecond'))}</td>
      <td class="number wide">{isHost() ? '' : pair('waitP50', 'waitP99')}</td>
      <td class="number wide">{isHost() ? '' : pair('workP50', 'workP99')}</td>
      <td class="number" classList={{ notable: value('restarts') > 0 }}>
        {value('restarts')}
      </td>
      <td class="number" classList={{ notable: value('dropped') > 0 }}>
        {value('dropped') > 0 ? short(value('dropped')) : '0'}
      </td>
      <td class="failure wide failure-column" title={value('failure') ?? ''}>
        <Show when={value('failure') !== null}>
          <span>{value('failure')}</span> <small>{ago(value('failureAtMs'), pulse()?.atMs ?? 0)}</small>
        </Show>
      </td>
    </tr>
  );
}

/** Depth as a filled bar, the high-water mark as a tick on it; the scale is the square root, so that small depths show. */
function Mailbox(props: { readonly depth: number; readonly highWater: number; readonly capacity: number }) {
  const share = (count: number) => `${100 * Math.sqrt(Math.min(1, count / Math.max(1, props.capacity)))}%`;
  return (
    <span
      class="mailbox"
      title={`${props.depth} waiting, at most ${props.highWater} so far, room for ${props.capacity}`}
    >
      <span class="gauge" classList={{ full: props.depth > props.capacity * 0.8 }} aria-hidden="true">
        <i style={{ width: share(props.depth) }} />
        <b style={{ left: share(props.highWater) }} />
      </span>
      <span class="waiting">{short(props.depth)}</span>
      <small> ↑{short(props.highWater)}</small>
    </span>
  );
}
