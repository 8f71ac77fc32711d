import type { ConsoleSources } from '../sources.ts';
import type { TopicMaker } from './live.ts';
import type { Observatory } from './observatory.ts';
import { ActorsTopic, BarsTopic, bookTopic, EventsTopic, StateTopic } from './topics.ts';

const BOOK_PERIOD_MS = 200;
const CALM_PERIOD_MS = 1000;

/**
 * Names of topics: pulse, actors, events, threads, ingest, book/SYMBOL, bars/SYMBOL/INTERVAL. Symbols and intervals
 * must be in the catalogue, so that a stranger cannot make topics up.
 */
export function topicMaker(sources: ConsoleSources, observatory: Observatory): TopicMaker {
  const { books, bars, ingest } = sources;
  return (name) => {
    const [kind, ...rest] = name.split('/');
    if (name === 'pulse') return new StateTopic(CALM_PERIOD_MS, () => observatory.pulse());
    if (name === 'actors') return new ActorsTopic(observatory.sampler);
    if (name === 'events') return new EventsTopic(observatory.events);
    if (name === 'threads') return new StateTopic(CALM_PERIOD_MS, () => observatory.threads());
    if (name === 'ingest' && ingest) return new StateTopic(CALM_PERIOD_MS, () => ingest.view());
    if (kind === 'book' && books) {
      // Symbols may hold a slash themselves.
      const symbol = rest.join('/');
      return books.catalogue().symbols.includes(symbol) ? bookTopic(books, symbol, BOOK_PERIOD_MS) : undefined;
    }
    if (kind === 'bars' && bars) {
      const [symbol, interval] = [rest.slice(0, -1).join('/'), rest.at(-1) ?? ''];
      const { symbols, intervals } = bars.catalogue();
      const isKnown = symbols.includes(symbol) && intervals.includes(interval);
      return isKnown ? new BarsTopic(bars, symbol, interval) : undefined;
    }
    return undefined;
  };
}
