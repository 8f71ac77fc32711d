import { createResource, createSignal, For, onCleanup, onMount, Show } from 'solid-js';
import { type ActorAction, type ActorDetail, type EventsMessage, VALUE } from '../../../protocols/console-api.ts';
import { clock, micros, short, whole } from '../parts/format.ts';
import { Calm, Trouble } from '../parts/notes.tsx';
import { Sparkline } from '../parts/plot.tsx';
import { Told } from '../parts/told.tsx';
import { nameOf, rows, stateOf } from '../state/actors.ts';
import { getJson, postJson } from '../state/api.ts';
import { followTopic, pulse } from '../state/live.ts';

const REFRESH_MS = 2000;

/** One actor: what it says of itself, its last minutes, what happened to it, and what can be done with it. */
export function ActorDetailDrawer(props: { readonly path: string; onClose(): void }) {
  const load = () => getJson<ActorDetail>(`/api/actors/detail?path=${encodeURIComponent(props.path)}`);
  const [detail, { refetch }] = createResource(() => props.path, load);
  onMount(() => {
    const timer = setInterval(() => void refetch(), REFRESH_MS);
    onCleanup(() => clearInterval(timer));
  });
  followTopic<EventsMessage>(
    () => 'events',
    ({ events }) => {
      if (events.some((event) => event.path === props.path)) void refetch();
    },
  );
  return (
    <aside class="drawer" aria-label={`Details of ${props.path}`}>
      <header>
        <h2>{nameOf(props.path)}</h2>
        <button type="button" class="quiet" onClick={() => props.onClose()} aria-label="Close details">
          ✕
        </button>
        <code>{props.path}</code>
      </header>
      <Show when={detail.error === undefined} fallback={<Trouble>{(detail.error as Error).message}</Trouble>}>
        <Show when={detail.latest} fallback={<Calm>Asking the actor</Calm>}>
          {(known) => (
            <>
              <Show when={pulse()?.control}>
                <Actions path={props.path} kind={known().shape.kind} />
              </Show>
              <Suspended path={props.path} />
              <Facts detail={known()} />
              <History detail={known()} />
              <h3>What happened</h3>
              <Show when={known().events.length > 0} fallback={<Calm>Nothing since the console started</Calm>}>
                <ol class="events">
                  <For each={known().events.toReversed()}>
                    {(event) => (
                      <li data-kind={event.kind}>
                        <time>{clock(event.atMs)}</time> {event.text}
                      </li>
                    )}
                  </For>
                </ol>
              </Show>
              <Summary summary={known().summary} />
            </>
          )}
        </Show>
      </Show>
    </aside>
  );
}

/** A suspended actor takes nothing, and what is sent to it waits. */
function Suspended(props: { readonly path: string }) {
  const row = () => rows.find(({ path }) => path === props.path);
  return (
    <Show when={row() !== undefined && stateOf(row()!) === 'suspended'}>
      <p class="held" role="status">
        Suspended: it handles nothing until it is resumed. <b>{whole(row()!.values[VALUE.depth])}</b> waiting, room for{' '}
        {whole(row()!.shape.capacity ?? 0)}.
      </p>
    </Show>
  );
}

function Actions(props: { readonly path: string; readonly kind: string }) {
  const [failure, setFailure] = createSignal('');
  const state = () => {
    const row = rows.find(({ path }) => path === props.path);
    return row === undefined ? 'idle' : stateOf(row);
  };
  const act = (action: ActorAction) => {
    setFailure('');
    postJson('/api/control/actor', { action, path: props.path }).catch((error: Error) => setFailure(error.message));
  };
  return (
    <div class="actions">
      <Show when={props.path !== '/'}>
        <button type="button" onClick={() => act('restart')}>
          Restart
        </button>
      </Show>
      <Show when={props.kind === 'actor'}>
        <Show
          when={state() === 'suspended'}
          fallback={
            <button type="button" onClick={() => act('suspend')} disabled={state() !== 'running'}>
              Suspend
            </button>
          }
        >
          <button type="button" onClick={() => act('resume')}>
            Resume
          </button>
        </Show>
      </Show>
      <Show when={failure() !== ''}>
        <Trouble>{failure()}</Trouble>
      </Show>
    </div>
  );
}

function Facts(props: { readonly detail: ActorDetail }) {
  const value = <K extends keyof typeof VALUE>(name: K) => props.detail.values[VALUE[name]];
  const facts = (): readonly (readonly [string, string])[] => {
    const { shape, incarnation, unhandled, drops, conflated } = props.detail;
    const core = shape.core === null ? '' : `, core ${shape.core}`;
    const mailbox = [
      ['Mailbox', `${whole(value('depth'))} of ${whole(shape.capacity ?? 0)}, ${shape.policy}`],
      ['High water', whole(value('highWater'))],
      ['Drops', `${whole(drops.rejected)} refused, ${whole(drops.oldest)} oldest, ${whole(drops.newest)} newest`],
      ['Conflated', whole(conflated)],
    ] as const;
    return [
      ['Thread', `${shape.thread}${core}`],
      ['Life', `${incarnation}${value('restarts') === 0 ? '' : ` (${value('restarts')} restarted)`}`],
      ['Messages', `${whole(value('messages'))}${unhandled > 0 ? `, ${unhandled} not understood` : ''}`],
      ...(shape.capacity === null ? [] : mailbox),
      ...(value('failure') === null ? [] : [['Last failure', `${value('failure')}`] as const]),
    ];
  };
  return (
    <dl class="facts">
      <For each={facts()}>
        {([name, text]) => (
          <>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </>
        )}
      </For>
    </dl>
  );
}

/** The last three minutes. What only hosts others has no work of its own, and what has no mailbox nothing that waits. */
function History(props: { readonly detail: ActorDetail }) {
  return (
    <Show when={props.detail.shape.kind === 'actor' || props.detail.values[VALUE.messages] > 0}>
      <Sparkline label="Messages a second" values={props.detail.history.perSecond} colour="accent" show={short} />
      <Show when={props.detail.shape.capacity !== null}>
        <Sparkline label="Waiting" values={props.detail.history.depth} colour="warm" show={short} />
      </Show>
      <Sparkline label="Work p99" values={props.detail.history.workP99Us} colour="cool" show={micros} />
    </Show>
  );
}

function Summary(props: { readonly summary: unknown }) {
  return (
    <Show when={props.summary !== null}>
      <h3>In its own words</h3>
      <Told value={props.summary} />
    </Show>
  );
}
