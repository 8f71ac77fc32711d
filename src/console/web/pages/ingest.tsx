import { createSignal, For, Show } from 'solid-js';
import type { IngestView, LedgerView } from '../../../protocols/console-api.ts';
import { ago, bytes, millis, percent, short, whole } from '../parts/format.ts';
import { Calm } from '../parts/notes.tsx';
import { followTopic, pulse } from '../state/live.ts';
import { DeadLetters } from './dead-letters.tsx';

export default function IngestPage() {
  const [ingest, setIngest] = createSignal<IngestView>();
  followTopic<IngestView>(() => 'ingest', setIngest);
  const dead = () => (ingest()?.ledgers ?? []).reduce((sum, ledger) => sum + ledger.deadLettered, 0);
  return (
    <section aria-label="Ingest">
      <Show when={ingest()} fallback={<Calm>Waiting for the ledger</Calm>}>
        {(view) => (
          <>
            <Show when={view().ledgers.length === 0}>
              <Calm>No stream is read at present: the topology has none, or its reader is not up yet</Calm>
            </Show>
            <For each={view().ledgers}>{(ledger) => <Ledger ledger={ledger} />}</For>
            <div class="cards">
              <Batches batches={view().batches} />
              <Breaker breaker={view().breaker} />
              <Spill spill={view().spill} />
              <Modules modules={view().modules} />
            </div>
            <DeadLetters count={dead()} />
          </>
        )}
      </Show>
    </section>
  );
}

/** added = stored + dead-lettered + dropped + pending, in figures that must agree, and the shares as a bar. */
function Ledger(props: { readonly ledger: LedgerView }) {
  const pending = () => {
    const { undelivered, delivered, spilled } = props.ledger.pending;
    return undelivered + delivered + spilled;
  };
  const sum = () => props.ledger.stored + props.ledger.deadLettered + props.ledger.dropped + pending();
  const difference = () => props.ledger.added - sum();
  const terms = (): readonly (readonly [string, string, number])[] => [
    ['stored', 'stored', props.ledger.stored],
    ['dead-lettered', 'dead', props.ledger.deadLettered],
    ['dropped', 'dropped', props.ledger.dropped],
    ['pending', 'pending', pending()],
  ];
  return (
    <article class="card ledger" data-balanced={difference() === 0}>
      <header>
        <h2>{props.ledger.stream}</h2>
        <span class="verdict">{difference() === 0 ? '✓ balances' : `off by ${whole(difference())}`}</span>
        <span class="figures">
          <span>
            <b>{short(props.ledger.perSecond)}</b> events/s
          </span>
          <span>
            lag <b>{millis(props.ledger.lagMs)}</b>
          </span>
        </span>
      </header>
      <p class="equation">
        <span class="term added">
          <b>{whole(props.ledger.added)}</b>
          <small>added</small>
        </span>
        <For each={terms()}>
          {([name, kind, count], at) => (
            <>
              <span class="operator">{at() === 0 ? '=' : '+'}</span>
              <span class={`term ${kind}`} classList={{ some: count > 0 }}>
                <b>{whole(count)}</b>
                <small>{name}</small>
              </span>
            </>
          )}
        </For>
      </p>
      <p class="shares" aria-hidden="true">
        <For each={terms()}>{([, kind, count]) => <i class={kind} style={{ 'flex-grow': Math.sqrt(count) }} />}</For>
      </p>
      <p class="aside">
        Pending: {whole(props.ledger.pending.undelivered)} not yet read, {whole(props.ledger.pending.delivered)} in
        hand, {whole(props.ledger.pending.spilled)} in the spill.
      </p>
    </article>
  );
}

function Batches(props: { readonly batches: IngestView['batches'] }) {
  return (
    <article class="card">
      <h2>Batches</h2>
      <dl class="facts">
        <dt>Written</dt>
        <dd>{whole(props.batches.count)}</dd>
        <dt>Rows</dt>
        <dd>{whole(props.batches.rowsP50)} in the median</dd>
        <dt>Write</dt>
        <dd>
          {millis(props.batches.writeP50Ms)} p50, {millis(props.batches.writeP99Ms)} p99
        </dd>
      </dl>
    </article>
  );
}

function Breaker(props: { readonly breaker: IngestView['breaker'] }) {
  const sentence = {
    closed: 'Postgres takes what is written',
    open: 'Postgres is out; batches go to the spill',
    'half-open': 'Trying whether Postgres is back',
  } as const;
  return (
    <article class="card" data-state={props.breaker.state === 'closed' ? 'running' : 'failed'}>
      <header>
        <h2>Breaker</h2>
        <span class="state">{props.breaker.state}</span>
      </header>
      <p>{sentence[props.breaker.state]}</p>
      <Show when={props.breaker.reason !== ''}>
        <p class="aside">
          {props.breaker.reason}
          {props.breaker.sinceAtMs === null ? '' : `, ${ago(props.breaker.sinceAtMs, pulse()?.atMs ?? 0)}`}
        </p>
      </Show>
    </article>
  );
}

function Spill(props: { readonly spill: IngestView['spill'] }) {
  const share = () => props.spill.bytes / Math.max(1, props.spill.maxBytes);
  return (
    <article class="card" data-state={props.spill.quarantined > 0 ? 'failed' : 'running'}>
      <h2>Spill</h2>
      <p class="meter">
        <span class="gauge large" classList={{ full: share() > 0.8 }} aria-hidden="true">
          <i style={{ width: `${100 * share()}%` }} />
        </span>
        {percent(share())}
      </p>
      <p>
        {bytes(props.spill.bytes)} of {bytes(props.spill.maxBytes)}, {props.spill.segments} segments
      </p>
      <Show when={props.spill.quarantined > 0}>
        <p class="trouble">{props.spill.quarantined} damaged segments are set aside and want a look</p>
      </Show>
    </article>
  );
}

function Modules(props: { readonly modules: IngestView['modules'] }) {
  return (
    <article class="card">
      <h2>Modules</h2>
      <Show when={props.modules.length > 0} fallback={<p class="aside">None is configured</p>}>
        <ul class="modules">
          <For each={props.modules}>
            {(module) => (
              <li data-module={module.state}>
                <b>{module.name}</b>
                <span class="phase">{module.state === 'never-heard' ? 'never heard' : module.state}</span>
                <small>{ago(module.lastHeardAtMs, pulse()?.atMs ?? 0)}</small>
              </li>
            )}
          </For>
        </ul>
      </Show>
    </article>
  );
}
