import { createMemo, createResource, createSignal, For, Show } from 'solid-js';
import type {
  BookLevelView,
  BookMessage,
  BooksCatalogue,
  BookVenueView,
  HistogramView,
} from '../../../protocols/console-api.ts';
import { micros, millis, whole } from '../parts/format.ts';
import { Calm, Trouble } from '../parts/notes.tsx';
import { Plot } from '../parts/plot.tsx';
import { getJson } from '../state/api.ts';
import { followTopic } from '../state/live.ts';
import { route, setQuery } from '../state/route.ts';
import { colour } from '../state/theme.ts';

export default function BooksPage() {
  const [catalogue] = createResource(() => getJson<BooksCatalogue>('/api/books'));
  const symbol = () => route().query.get('symbol') ?? catalogue()?.symbols[0];
  const [message, setMessage] = createSignal<BookMessage>({ book: null, latency: null });
  followTopic<BookMessage>(
    () => symbol() && `book/${symbol()}`,
    (next) => setMessage(next),
  );
  return (
    <section aria-label="Books">
      <div class="toolbar">
        <fieldset class="choices" aria-label="Symbol">
          <For each={catalogue()?.symbols ?? []}>
            {(name) => (
              <button type="button" aria-pressed={symbol() === name} onClick={() => setQuery({ symbol: name })}>
                {name}
              </button>
            )}
          </For>
        </fieldset>
      </div>
      <Show when={catalogue.error === undefined} fallback={<Trouble>{(catalogue.error as Error).message}</Trouble>}>
        <Show when={message().book} fallback={<Calm>No venue has sent a book of {symbol() ?? 'any symbol'} yet</Calm>}>
          {(book) => (
            <div class="book-page">
              <div class="ladder-card card">
                <p class="spread">
                  <b>{book().symbol}</b>
                  <span classList={{ crossed: book().spread?.startsWith('-') ?? false }}>
                    {book().spread === null
                      ? 'one side is empty'
                      : `spread ${book().spread}${book().spread!.startsWith('-') ? ': the venues cross' : ''}`}
                  </span>
                </p>
                <div class="ladder">
                  <Side title="Bids" side="bid" levels={book().bids} venues={book().venues} />
                  <Side title="Asks" side="ask" levels={book().asks} venues={book().venues} />
                </div>
              </div>
              <div class="book-side">
                <Venues venues={book().venues} />
                <Show when={message().latency}>{(latency) => <Latency histogram={latency()} />}</Show>
              </div>
            </div>
          )}
        </Show>
      </Show>
    </section>
  );
}

function Side(props: {
  readonly title: string;
  readonly side: 'bid' | 'ask';
  readonly levels: readonly BookLevelView[];
  readonly venues: readonly BookVenueView[];
}) {
  /** Depth up to each level, as a share of the side's whole. */
  const depths = createMemo(() => {
    let sum = 0;
    const sums = props.levels.map((level) => {
      sum += Number(level.amount);
      return sum;
    });
    return sums.map((value) => (sum === 0 ? 0 : value / sum));
  });
  return (
    <table class={`levels ${props.side}`}>
      <caption>{props.title}</caption>
      <thead>
        <tr>
          <th scope="col">Venue</th>
          <th scope="col" class="number">
            Amount
          </th>
          <th scope="col" class="number">
            Price
          </th>
        </tr>
      </thead>
      <tbody>
        <For each={props.levels}>
          {(level, at) => (
            <tr style={{ '--depth': depths()[at()] ?? 0 }} data-venue={level.venue}>
              <td class="venue">{props.venues[level.venue]?.name ?? '?'}</td>
              <td class="number">{level.amount}</td>
              <td class="number price">{level.price}</td>
            </tr>
          )}
        </For>
      </tbody>
    </table>
  );
}

function Venues(props: { readonly venues: readonly BookVenueView[] }) {
  return (
    <div class="card">
      <h2>Venues</h2>
      <ul class="venues">
        <For each={props.venues}>
          {(venue, at) => (
            <li data-venue={at()} data-phase={venue.phase} classList={{ out: !venue.merged }}>
              <b class="venue">{venue.name}</b>
              <span class="phase">{venue.phase}</span>
              <span class="number">{venue.ageMs === null ? 'never heard' : millis(venue.ageMs)}</span>
              <small>{venue.merged ? venue.reason : `left out${venue.reason === '' ? '' : `: ${venue.reason}`}`}</small>
            </li>
          )}
        </For>
      </ul>
    </div>
  );
}

function Latency(props: { readonly histogram: HistogramView }) {
  return (
    <div class="card">
      <h2>Frame to publication</h2>
      <p class="figures">
        <span>
          p50 <b>{micros(props.histogram.p50Us)}</b>
        </span>
        <span>
          p99 <b>{micros(props.histogram.p99Us)}</b>
        </span>
        <span>
          most <b>{micros(props.histogram.maxUs)}</b>
        </span>
        <span>{whole(props.histogram.count)} summaries</span>
      </p>
      <Plot
        height={130}
        data={() => [props.histogram.counts.map((_, at) => at), [...props.histogram.counts]]}
        options={(Uplot) => ({
          cursor: { show: false },
          legend: { show: false },
          padding: [6, 4, 0, 4],
          scales: { x: { time: false, range: (_plot, low, high) => [low - 0.6, high + 0.6] } },
          axes: [
            {
              stroke: colour('muted'),
              grid: { show: false },
              ticks: { show: false },
              font: '11px system-ui',
              values: (_plot, splits) =>
                splits.map((at) => (Number.isInteger(at) ? boundText(props.histogram, at) : '')),
            },
            { show: false },
          ],
          series: [
            {},
            {
              fill: colour('accent'),
              stroke: colour('accent'),
              width: 0,
              points: { show: false },
              paths: Uplot.paths.bars!({ size: [0.86, 40], radius: 0.15 }),
            },
          ],
        })}
      />
    </div>
  );
}

function boundText(histogram: HistogramView, at: number): string {
  const bound = histogram.boundsUs[at];
  if (bound === undefined) return at === histogram.boundsUs.length ? 'more' : '';
  return micros(bound).replace('.0', '');
}
