import { createSignal, For, Show } from 'solid-js';
import type { ThreadView } from '../../../protocols/console-api.ts';
import { bytes, micros, millis, percent } from '../parts/format.ts';
import { Calm } from '../parts/notes.tsx';
import { nameOf } from '../state/actors.ts';
import { followTopic } from '../state/live.ts';
import { linkTo } from '../state/route.ts';

const LATE_MS = 3000;
const SECOND_MS = 1000;

export default function ThreadsPage() {
  const [threads, setThreads] = createSignal<readonly ThreadView[]>([]);
  followTopic<readonly ThreadView[]>(() => 'threads', setThreads);
  return (
    <section aria-label="Threads">
      <Show when={threads().length > 0} fallback={<Calm>Waiting for the threads</Calm>}>
        <div class="cards">
          <For each={threads()}>{(thread) => <Thread thread={thread} />}</For>
        </div>
      </Show>
    </section>
  );
}

function Thread(props: { readonly thread: ThreadView }) {
  const place = () => {
    const { core, observedCpus, pinnedBy } = props.thread;
    if (core === null) return observedCpus === '' ? 'any core' : `cores ${observedCpus}`;
    return pinnedBy === 'unpinned' ? `core ${core} wanted, not pinned` : `core ${core}`;
  };
  const isLate = () => (props.thread.beatAgeMs ?? 0) > LATE_MS;
  return (
    <article class="card thread" data-state={isLate() ? 'failed' : props.thread.state}>
      <header>
        <h2>{props.thread.name}</h2>
        <span class="state">{isLate() ? 'silent' : props.thread.state}</span>
        <p class="aside">
          {props.thread.kind === 'main' ? 'main thread' : `${props.thread.kind} thread`}, {place()}
        </p>
      </header>
      <Meter share={props.thread.busy} what="busy" means={BUSY_MEANS[props.thread.kind]} />
      <Meter share={props.thread.onCore} what="on a core" means="Share of the time in which it had a core" />
      <dl class="facts">
        <For each={factsOf(props.thread)}>
          {([name, text, means]) => (
            <>
              <dt title={means}>{name}</dt>
              <dd>{text}</dd>
            </>
          )}
        </For>
      </dl>
      <ul class="links" aria-label={`Actors on ${props.thread.name}`}>
        <For each={props.thread.actors}>
          {(path) => (
            <li>
              <a href={linkTo('actors', { actor: path })} title={path}>
                {nameOf(path)}
              </a>
            </li>
          )}
        </For>
      </ul>
    </article>
  );
}

const BUSY_MEANS: Readonly<Record<ThreadView['kind'], string>> = {
  main: 'Share of the time in which its event loop had something to do',
  loop: 'Share of the time in which its event loop had something to do',
  pinned: 'Share of the time that its work took, from the cycles that are timed; the rest is looking for work',
};

function Meter(props: { readonly share: number | null; readonly what: string; readonly means: string }) {
  return (
    <Show when={props.share !== null}>
      <p class="meter" title={props.means}>
        <span class="gauge large" classList={{ full: props.share! > 0.9 && props.what === 'busy' }} aria-hidden="true">
          <i style={{ width: `${props.share! * 100}%` }} />
        </span>
        {percent(props.share)} {props.what}
      </p>
    </Show>
  );
}

type Fact = readonly [name: string, text: string, means: string];

/** What is known of the thread; a duty cycle has no event loop, and cannot look at its own heap while it runs. */
function factsOf(thread: ThreadView): readonly Fact[] {
  const { beatAgeMs, delayMeanUs, delayMaxUs, waitingForCore, collectionsPerSecond, gcMsPerSecond } = thread;
  const age = beatAgeMs ?? 0;
  const isKnown = (value: number | null, fact: () => Fact): readonly Fact[] => (value === null ? [] : [fact()]);
  return [
    ['Heartbeat', age < SECOND_MS ? 'within the last second' : `${millis(age)} ago`, 'When it was last seen to move'],
    ...isKnown(delayMeanUs, () => [
      'Loop delay',
      `${micros(delayMeanUs)} mean, ${micros(delayMaxUs)} most`,
      'How late its event loop ran timers in the last second',
    ]),
    ...isKnown(waitingForCore, () => [
      'No core free',
      `${(waitingForCore! * 1000).toFixed(1)} ms/s`,
      'Time in which it was ready to run and other threads had the cores',
    ]),
    ...isKnown(gcMsPerSecond, () => [
      'Collections',
      `${collectionsPerSecond!.toFixed(1)}/s, ${gcMsPerSecond!.toFixed(1)} ms/s`,
      'Garbage collections, and the time that they took',
    ]),
    ...isKnown(thread.heapUsedBytes, () => [
      'Heap',
      `${bytes(thread.heapUsedBytes)} of ${bytes(thread.heapLimitBytes)}`,
      'Memory of its JavaScript objects',
    ]),
    ['Restarts', String(thread.restarts), 'Lives after the first'],
    ['Thread id', String(thread.tid), 'As ps and top show it'],
  ];
}
