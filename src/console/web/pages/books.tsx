import { createMemo, createResource, createSignal, For, Show } from 'solid-js';
import type {
  BookMessage,
  BooksCatalogue,
  BookVenueView,
  BookView,
  HistogramView,
} from '../../../protocols/console-api.ts';
import { micros, millis, span, whole } from '../parts/format.ts';
import { Calm, Trouble } from '../parts/notes.tsx';
import { Plot } from '../parts/plot.tsx';
import { getJson } from '../state/api.ts';
import { followTopic } from '../state/live.ts';
import { route, setQuery } from '../state/route.ts';
import { colour } from '../state/theme.ts';

const BUTTONS_MAX = 8;

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
        <Choice names={catalogue()?.symbols ?? []} chosen={symbol()} onChoose={(name) => setQuery({ symbol: name })} />
      </div>
      <Show when={catalogue.error === undefined} fallback={<Trouble>{(catalogue.error as Error).message}</Trouble>}>
        <Show when={message().book} fallback={<Calm>No venue has sent a book of {symbol() ?? 'any symbol'} yet</Calm>}>
          {(book) => (
            <div class="book-page">
              <div class="ladder-card card">
                <p class="spread">
                  <b>{book().symbol}</b>
                  <Spread book={book()} />
                </p>
                <div class="ladder">
                  <Side title="Bids" side="bid" book={book()} />
                  <Side title="Asks" side="ask" book={book()} />
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

/** A few symbols are all in sight; many are in a list that takes the first letters. */
function Choice(props: {
  readonly names: readonly string[];
  readonly chosen: string | undefined;
  onChoose(name: string): void;
}) {
  return (
    <Show
      when={props.names.length <= BUTTONS_MAX}
      fallback={
        <select
          aria-label="Symbol"
          value={props.chosen ?? ''}
          onChange={(event) => props.onChoose(event.currentTarget.value)}
        >
          <For each={props.names}>{(name) => <option value={name}>{name}</option>}</For>
        </select>
      }
    >
      <fieldset class="choices" aria-label="Symbol">
        <For each={props.names}>
          {(name) => (
            <button type="button" aria-pressed={props.chosen === name} onClick={() => props.onChoose(name)}>
              {name}
            </button>
          )}
        </For>
      </fieldset>
    </Show>
  );
}

/** The spread, also as a share of the price. Venues cross when one bids more than another asks, mostly for a moment. */
function Spread(props: { readonly book: BookView }) {
  const isCrossed = () => props.book.spread?.startsWith('-') ?? false;
  const points = () => (10_000 * Number(props.book.spread)) / Number(props.book.asks[0]?.price ?? 1);
  return (
    <Show when={props.book.spread} fallback={<span>one side is empty</span>}>
      <span classList={{ crossed: isCrossed() }} title={isCrossed() ? 'One venue bids more than another asks' : ''}>
        spread {props.book.spread}, {points().toFixed(2)} bp{isCrossed() ? ': the venues cross' : ''}
      </span>
    </Show>
  );
}

function Side(props: { readonly title: string; readonly side: 'bid' | 'ask'; readonly book: BookView }) {
  const levels = () => (props.side === 'bid' ? props.book.bids : props.book.asks);
  /** Figures of one column have equally many decimals, so that they can be compared at a glance. */
  const decimals = createMemo(() => {
    const all = [...props.book.bids, ...props.book.asks];
    const most = (field: 'price' | 'amount') => Math.max(0, ...all.map((level) => decimalsOf(level[field])));
    return { price: most('price'), amount: most('amount') };
  });
  /** Depth up to each level, as a share of the side's whole. */
  const depths = createMemo(() => {
    let sum = 0;
    const sums = levels().map((level) => {
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
        <For each={levels()}>
          {(level, at) => (
            <tr style={{ '--depth': depths()[at()] ?? 0 }} data-venue={level.venue}>
              <td class="venue">{props.book.venues[level.venue]?.name ?? '?'}</td>
              <td class="number">{padded(level.amount, decimals().amount)}</td>
              <td class="number price">{padded(level.price, decimals().price)}</td>
            </tr>
          )}
        </For>
      </tbody>
    </table>
  );
}

const decimalsOf = (text: string) => (text.includes('.') ? text.length - text.indexOf('.') - 1 : 0);

function padded(text: string, decimals: number): string {
  const missing = decimals - decimalsOf(text);
  return missing === 0 ? text : `${text}${text.includes('.') ? '' : '.'}${'0'.repeat(missing)}`;
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
      <p class="aside">all symbols, in the last {span(props.histogram.windowMs)}</p>
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
        height={110}
        data={() => [props.histogram.counts.map((_, at) => at), [...props.histogram.counts]]}
        options={(Uplot) => ({
          cursor: { show: false },
          legend: { show: false },
          padding: [6, 18, 0, 18],
          scales: { x: { time: false, range: (_plot, low, high) => [low - 0.6, high + 0.6] } },
          axes: [
            {
              stroke: colour('muted'),
              grid: { show: false },
              ticks: { show: false },
              size: 22,
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
