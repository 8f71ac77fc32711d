import { createSignal, For, Show } from 'solid-js';
import type { ThreadView } from '../../../protocols/console-api.ts';
import { bytes, micros, millis, percent } from '../parts/format.ts';
import { Calm } from '../parts/notes.tsx';
import { nameOf } from '../state/actors.ts';
import { followTopic } from '../state/live.ts';
import { linkTo } from '../state/route.ts';

const LATE_MS = 3000;

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
  const facts = (): readonly (readonly [string, string])[] => {
    const { delayMeanUs, delayMaxUs, gcMsPerSecond, heapUsedBytes, heapLimitBytes, restarts, tid } = props.thread;
    return [
      ['Heartbeat', isLate() ? `silent for ${millis(props.thread.beatAgeMs)}` : 'beats'],
      ...(delayMeanUs === null
        ? []
        : [['Loop delay', `${micros(delayMeanUs)} mean, ${micros(delayMaxUs)} most`] as const]),
      ...(gcMsPerSecond === null ? [] : [['Collecting', `${gcMsPerSecond.toFixed(1)} ms/s`] as const]),
      ...(heapUsedBytes === null ? [] : [['Heap', `${bytes(heapUsedBytes)} of ${bytes(heapLimitBytes)}`] as const]),
      ['Restarts', String(restarts)],
      ['Thread id', String(tid)],
    ];
  };
  return (
    <article class="card" data-state={isLate() ? 'failed' : props.thread.state}>
      <header>
        <h2>{props.thread.name}</h2>
        <span class="tag">{props.thread.kind}</span>
        <span class="tag">{place()}</span>
        <span class="state">{props.thread.state}</span>
      </header>
      <Show
        when={props.thread.busy !== null}
        fallback={<p class="aside">Runs one duty cycle, without an event loop to measure</p>}
      >
        <p class="meter">
          <span class="gauge large" classList={{ full: props.thread.busy! > 0.9 }} aria-hidden="true">
            <i style={{ width: `${props.thread.busy! * 100}%` }} />
          </span>
          {percent(props.thread.busy)} busy
        </p>
      </Show>
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
      <ul class="links">
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
