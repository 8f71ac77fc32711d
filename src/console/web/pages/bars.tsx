import { createEffect, createResource, createSignal, For, on, onCleanup, Show } from 'solid-js';
import type { BarQuality, BarsCatalogue, BarsMessage, BarView, FeedVerdict } from '../../../protocols/console-api.ts';
import { Calm, Trouble } from '../parts/notes.tsx';
import { getJson } from '../state/api.ts';
import { followTopic } from '../state/live.ts';
import { route, setQuery } from '../state/route.ts';
import { MARKS, MEANS } from './bar-quality.ts';
import { Candles } from './candles.tsx';

const KEPT_MAX = 1000;
const LISTED = 12;

const FEED_MEANS: Readonly<Record<FeedVerdict, string>> = {
  live: 'trades come',
  quiet: "the venue's ticker shows no trades either",
  dead: "the venue's ticker shows trades that do not come",
  unknown: 'no trades come, and the venue has no ticker to compare with',
};
const FEEDS_EVERY_MS = 5_000;

export default function BarsPage() {
  const [catalogue, { refetch }] = createResource(() => getJson<BarsCatalogue>('/api/bars'));
  const again = setInterval(() => void refetch(), FEEDS_EVERY_MS);
  onCleanup(() => clearInterval(again));
  const feed = () => catalogue()?.feeds[symbol() ?? ''];
  const symbol = () => route().query.get('symbol') ?? catalogue()?.symbols[0];
  const interval = () => route().query.get('interval') ?? catalogue()?.intervals[0];
  const series = () => (symbol() && interval() ? `${symbol()}/${interval()}` : undefined);
  const [bars, setBars] = createSignal<readonly BarView[]>([]);
  const [failure, setFailure] = createSignal('');
  const load = async () => {
    const wanted = series();
    if (wanted === undefined) return;
    const query = new URLSearchParams({ symbol: symbol()!, interval: interval()!, limit: '500' });
    try {
      const history = await getJson<readonly BarView[]>(`/api/bars/history?${query}`);
      if (series() === wanted) setBars((early) => merged(history, early));
      setFailure('');
    } catch (error) {
      setFailure((error as Error).message);
    }
  };
  createEffect(
    on(series, () => {
      setBars([]);
      void load();
    }),
  );
  followTopic<BarsMessage>(
    () => series() && `bars/${series()}`,
    (message) => {
      setBars((known) => merged(known, message.bars));
      if (message.reset) void load();
    },
  );
  return (
    <section aria-label="Bars">
      <div class="toolbar">
        <select
          aria-label="Symbol"
          value={symbol() ?? ''}
          onChange={(event) => setQuery({ symbol: event.currentTarget.value })}
        >
          <For each={catalogue()?.symbols ?? []}>{(name) => <option value={name}>{name}</option>}</For>
        </select>
        <fieldset class="choices" aria-label="Interval">
          <For each={catalogue()?.intervals ?? []}>
            {(name) => (
              <button type="button" aria-pressed={interval() === name} onClick={() => setQuery({ interval: name })}>
                {name}
              </button>
            )}
          </For>
        </fieldset>
        <Show when={feed()}>
          {(verdict) => (
            <span class="feed" data-verdict={verdict()} title={FEED_MEANS[verdict()]}>
              feed {verdict()}
            </span>
          )}
        </Show>
        <Legend bars={bars()} />
      </div>
      <Show when={failure() === ''} fallback={<Trouble>{failure()}</Trouble>}>
        <Show when={bars().length > 0} fallback={<Calm>No bars of {symbol() ?? 'any symbol'} yet</Calm>}>
          <Candles bars={bars()} series={series()!} hasSeconds={interval()!.endsWith('s')} />
          <List bars={bars()} />
        </Show>
      </Show>
      <p class="credit">
        Charts by{' '}
        <a href="https://www.tradingview.com/" rel="noreferrer noopener" target="_blank">
          TradingView Lightweight Charts™
        </a>
      </p>
    </section>
  );
}

/** By opening time; of two bars with the same one the later revision stands, and of equals the newer. */
function merged(known: readonly BarView[], fresh: readonly BarView[]): readonly BarView[] {
  const byTime = new Map(known.map((bar) => [bar.openAtMs, bar]));
  for (const bar of fresh) {
    if (bar.revision >= (byTime.get(bar.openAtMs)?.revision ?? 0)) byTime.set(bar.openAtMs, bar);
  }
  return [...byTime.values()].sort((a, b) => a.openAtMs - b.openAtMs).slice(-KEPT_MAX);
}

/** All qualities, with the marks that the chart has for them, and how many of the bars have them. */
function Legend(props: { readonly bars: readonly BarView[] }) {
  const count = (quality: BarQuality) => props.bars.filter((bar) => bar.quality === quality).length;
  return (
    <ul class="legend" aria-label="Quality of the bars">
      <For each={Object.keys(MEANS) as BarQuality[]}>
        {(quality) => (
          <li data-quality={quality} data-count={count(quality)} title={MEANS[quality]}>
            <span class="mark" aria-hidden="true">
              {MARKS[quality]}
            </span>{' '}
            {quality} <b>{count(quality)}</b>
          </li>
        )}
      </For>
    </ul>
  );
}

/** The last bars in figures; bars that are not complete are listed first, since they are what one looks for. */
function List(props: { readonly bars: readonly BarView[] }) {
  const listed = () => {
    const notable = props.bars.filter((bar) => bar.quality === 'gap' || bar.quality === 'repaired').slice(-LISTED / 2);
    const last = props.bars.slice(-LISTED);
    return [...new Set([...notable, ...last])].sort((a, b) => b.openAtMs - a.openAtMs);
  };
  return (
    <div class="scroll">
      <table class="grid bars">
        <thead>
          <tr>
            <th scope="col">Opens</th>
            <th scope="col">Quality</th>
            <th scope="col" class="number">
              Open
            </th>
            <th scope="col" class="number">
              High
            </th>
            <th scope="col" class="number">
              Low
            </th>
            <th scope="col" class="number">
              Close
            </th>
            <th scope="col" class="number">
              Volume
            </th>
            <th scope="col" class="number">
              Trades
            </th>
            <th scope="col" class="number">
              Revision
            </th>
          </tr>
        </thead>
        <tbody>
          <For each={listed()}>
            {(bar) => (
              <tr data-quality={bar.quality}>
                <th scope="row">{new Date(bar.openAtMs).toISOString().slice(0, 19).replace('T', ' ')}</th>
                <td class="quality" title={MEANS[bar.quality]}>
                  {bar.quality}
                  {bar.closed ? '' : ', open'}
                </td>
                <td class="number">{bar.open}</td>
                <td class="number">{bar.high}</td>
                <td class="number">{bar.low}</td>
                <td class="number">{bar.close}</td>
                <td class="number">{bar.volume}</td>
                <td class="number">{bar.trades}</td>
                <td class="number">{bar.revision}</td>
              </tr>
            )}
          </For>
        </tbody>
      </table>
    </div>
  );
}
