import type { ExchangeSettings, MappedSymbol } from '../../protocols/topology.ts';
import type { StreamKind } from '../../protocols/venue.ts';
import { streamFacts, streamName, type Venue } from '../../venues/venue.ts';
import { Stream } from './stream.ts';

/** The streams that the settings ask for, by name. */
export function wantedStreams(
  venue: Venue,
  settings: ExchangeSettings,
  bookIndex: (instrument: string, scale: number) => number | undefined,
): ReadonlyMap<string, Stream> {
  const streams = new Map<string, Stream>();
  const add = (kind: StreamKind, mapped: MappedSymbol, index: number) => {
    const name = streamName(venue.facts, kind, mapped.symbol);
    streams.set(name, new Stream(name, kind, streamFacts(venue.facts, kind), index, mapped));
  };
  const bookKind = bookKindOf(venue, settings);
  for (const mapped of settings.symbols) {
    const index = bookIndex(mapped.instrument, mapped.scale);
    if (bookKind !== undefined && index !== undefined) add(bookKind, mapped, index);
    if (settings.trades && venue.facts.streams.trades !== undefined) add('trades', mapped, -1);
  }
  return streams;
}

function bookKindOf(venue: Venue, { book }: ExchangeSettings): 'book' | 'book-delta' | undefined {
  switch (book) {
    case 'off':
      return undefined;
    case 'snapshot':
      return 'book';
    case 'delta':
      return 'book-delta';
    case 'venue-default':
      return venue.facts.streams.book === undefined ? 'book-delta' : 'book';
  }
}

/** The wanted streams, those that are there already as they are, and what of the old ones is left: gone, or something else by the same name. */
export function matched(before: ReadonlyMap<string, Stream>, wanted: ReadonlyMap<string, Stream>) {
  const streams: ReadonlyMap<string, Stream> = new Map(
    [...wanted].map(([name, stream]) => {
      const known = before.get(name);
      return [name, known?.isAs(stream) === true ? known.with(stream.facts) : stream];
    }),
  );
  return { streams, left: [...before.values()].filter((stream) => streams.get(stream.name) !== stream) };
}
