import { TapeworksError } from '../protocols/errors/index.ts';
import type { ControlFrame, KnownVenue, StreamFacts, StreamKind, Ticker, VenueFacts } from '../protocols/venue.ts';
import type { VenueHistory } from './history.ts';
import type { VenueSimulation } from './simulation/simulated-venue.ts';

/** How a venue spells what the subscription bookkeeping wants said, and how it answers. */
export interface Dialect {
  /** One frame that subscribes to or leaves the streams; all of them fit `limits.streamsPerFrame`. */
  encode(action: 'subscribe' | 'unsubscribe', streams: readonly string[], id: number): string;
  /** Streams that one frame can name together; frames are filled per group (one channel a frame, say). */
  groupOf(stream: string): string;
  /** Reads a frame that the decode kernels did not take. Never throws; what it does not know is `unknown`. */
  classify(text: string): ControlFrame;
  /** Reads a frame of the stream of tickers, where there is one: by symbol, those that changed. Other frames have none. */
  readTickers?(text: string): ReadonlyMap<string, Ticker>;
}

/** A venue as the rest of the program sees it. */
export interface Venue {
  readonly facts: VenueFacts;
  readonly dialect: Dialect;
  readonly simulation: VenueSimulation;
  readonly walker: Walker;
  /** What can be asked of the past; none where nothing that bars need can be. */
  readonly history?: VenueHistory;
}

/** How a venue's data frames are read. */
export interface Walker {
  /** What the venue's walker is called in the decode kernel. */
  readonly walk: string;
  /** What stands in a frame of this kind to say whose it is: the stream's name, or the symbol. */
  routeBy(kind: StreamKind): 'stream' | 'symbol';
  /** The depth to which the venue wants an incremental book cut after each update; none where it sends all levels. */
  readonly bookCut?: number;
  /** The snapshot to fetch that a venue's diffs stand on; none where the stream itself begins with one. */
  readonly snapshot?: FetchedSnapshot | undefined;
}

/** A whole book from REST. */
export interface FetchedSnapshot {
  url(restUrl: string, symbol: string): string;
  /** Levels a side that are asked for: a side that has as many may have more behind them, a shorter one is all there is. */
  readonly levels: number;
}

/** What the configuration's defaults and checks go by. */
export function knownVenue({ facts, dialect, history }: Venue): KnownVenue {
  const { trades, tickers } = facts.streams;
  const showsHoles = trades?.gapProof === 'dense-trade-id' || trades?.gapProof === 'ordered-trade-id';
  const fillsHoles = history?.tradesById !== undefined || history?.windows !== undefined;
  return {
    id: facts.id,
    makesBars: showsHoles && fillsHoles,
    tellsSymbols: tickers !== undefined && dialect.readTickers !== undefined,
  };
}

export function streamFacts(facts: VenueFacts, kind: StreamKind): StreamFacts {
  const found = facts.streams[kind];
  if (found !== undefined) return found;
  throw new TapeworksError('TW_VENUE_NO_SUCH_STREAM', `${facts.title} has no ${kind} stream`, {
    venue: facts.id,
    kind,
  });
}

/** BTC, USDT -> BTCUSDT on Binance, btcusdt on Bitstamp, BTC/USDT on Kraken, BTC-USDT on Coinbase. */
export function symbolOf(facts: VenueFacts, base: string, quote: string): string {
  const joined = `${base}${facts.symbolForm.separator}${quote}`;
  return facts.symbolForm.case === 'upper' ? joined.toUpperCase() : joined.toLowerCase();
}

/** More than any symbol has; a stream's name, which holds it, must fit into the decode kernel's table of names. */
const SYMBOL_BYTES_MAX = 40;

/**
 * Whether a text is written as the venue writes its symbols; it need not list such a one. Letters that have no case are
 * letters too: Binance lists symbols in Chinese.
 */
export function isSymbolShaped({ symbolForm }: VenueFacts, text: string): boolean {
  if (Buffer.byteLength(text) > SYMBOL_BYTES_MAX) return false;
  const letters = symbolForm.case === 'upper' ? '[A-Z0-9\\p{Lo}]' : '[a-z0-9\\p{Lo}]';
  const { separator } = symbolForm;
  const shape = separator === '' ? `${letters}{2,30}` : `${letters}{1,20}${separator}${letters}{1,20}`;
  return new RegExp(`^${shape}$`, 'u').test(text);
}

/** The stream that carries `kind` for a symbol: book, BTCUSDT -> btcusdt@depth20@100ms. */
export function streamName(facts: VenueFacts, kind: StreamKind, symbol: string): string {
  const cased = facts.symbolForm.caseInStreams === 'upper' ? symbol.toUpperCase() : symbol.toLowerCase();
  return streamFacts(facts, kind).name.replace('{symbol}', cased);
}
