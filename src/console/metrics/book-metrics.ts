import type { ExchangeStatus } from '../../protocols/exchange.ts';
import type { FeedPhase } from '../../protocols/venue.ts';
import { type Distribution, Exposition, type MetricFacts } from './exposition.ts';

const METRICS: Readonly<Record<string, MetricFacts>> = {
  orderbook_messages_total: { type: 'counter', labels: ['exchange'], help: 'Frames received.' },
  orderbook_errors_total: { type: 'counter', labels: ['exchange'], help: 'Frames refused.' },
  orderbook_reconnections_total: { type: 'counter', labels: ['exchange'], help: 'Connections lost.' },
  orderbook_exchange_up: { type: 'gauge', labels: ['exchange'], help: '1 while books of the venue can be merged.' },
  orderbook_merges_total: { type: 'counter', labels: [], help: 'Summaries merged.' },
  orderbook_uptime_seconds: { type: 'gauge', labels: [], help: 'Time since the start.' },
  orderbook_e2e_duration_seconds: {
    type: 'histogram',
    labels: [],
    help: 'Time from the receipt of a frame to the summary with it.',
  },
};

export interface BookFigures {
  readonly exchanges: readonly ExchangeStatus[];
  readonly merges: number;
  readonly uptimeSeconds: number;
  /** From the receipt of a frame to the summary with it, in seconds. */
  readonly frameToSummary?: Distribution;
}

/** Phases in which a book is merged. */
const USABLE: ReadonlySet<FeedPhase> = new Set(['live', 'quiet']);

/** The order-book plane in Prometheus' words. A venue with several connections is one exchange here. */
export function renderBookMetrics({ exchanges, merges, uptimeSeconds, frameToSummary }: BookFigures): string {
  const text = new Exposition(METRICS);
  for (const [exchange, own] of byVenue(exchanges)) {
    const sum = (of: (status: ExchangeStatus) => number) => own.reduce((total, status) => total + of(status), 0);
    const labels = { exchange };
    text.add(
      'orderbook_messages_total',
      labels,
      sum(({ counters }) => counters.messages),
    );
    text.add(
      'orderbook_errors_total',
      labels,
      sum(({ counters }) => counters.errors),
    );
    text.add(
      'orderbook_reconnections_total',
      labels,
      sum(({ counters }) => counters.reconnections),
    );
    text.add('orderbook_exchange_up', labels, own.some(hasUsableBook) ? 1 : 0);
  }
  text.add('orderbook_merges_total', {}, merges);
  text.add('orderbook_uptime_seconds', {}, uptimeSeconds);
  if (frameToSummary !== undefined) text.histogram('orderbook_e2e_duration_seconds', {}, frameToSummary);
  return text.text;
}

function hasUsableBook({ streams }: ExchangeStatus): boolean {
  return streams.some(({ kind, phase }) => (kind === 'book' || kind === 'book-delta') && USABLE.has(phase));
}

function byVenue(exchanges: readonly ExchangeStatus[]): Map<string, ExchangeStatus[]> {
  const venues = new Map<string, ExchangeStatus[]>();
  for (const status of exchanges) venues.set(status.venue, [...(venues.get(status.venue) ?? []), status]);
  return venues;
}
