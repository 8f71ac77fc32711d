import { Connection } from '../actors/exchange/connection.ts';
import type { Ticker } from '../actors/watchdog/verdicts.ts';
import { venueNamed } from '../venues/index.ts';
import { streamName } from '../venues/venue.ts';

export interface TickerWatchOptions {
  readonly venue: string;
  readonly wsUrl: string;
  /** The tickers that changed of late, by symbol in the venue's spelling. */
  readonly onTickers: (tickers: ReadonlyMap<string, Ticker>) => void;
}

const LIMITS = { maxFrameBytes: 8 << 20, handshakeTimeoutMs: 10_000 } as const;
const RECONNECT_MS = { least: 500, most: 30_000 } as const;

/** Listens to the stream on which a venue tells of all its symbols, on a connection of its own. */
export class TickerWatch {
  readonly #options: TickerWatchOptions;
  #connection: Connection | undefined;
  #timer: NodeJS.Timeout | undefined;
  #waitMs: number = RECONNECT_MS.least;
  #isClosed = false;

  constructor(options: TickerWatchOptions) {
    this.#options = options;
    this.#connect();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#connection?.end();
  }

  #connect(): void {
    const { facts, dialect } = venueNamed(this.#options.venue);
    const connection = new Connection(
      { url: this.#options.wsUrl, ...LIMITS },
      {
        opened: () => connection.send(dialect.encode('subscribe', [streamName(facts, 'tickers', '')], 1)),
        frame: (frame) => this.#frame(frame),
        alive: () => {},
        closed: () => this.#again(),
      },
    );
    this.#connection = connection;
  }

  #again(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => this.#connect(), this.#waitMs);
    this.#waitMs = Math.min(this.#waitMs * 2, RECONNECT_MS.most);
  }

  #frame(frame: Buffer): void {
    const tickers = tickersOf(frame);
    if (tickers.size === 0) return;
    this.#waitMs = RECONNECT_MS.least;
    this.#options.onTickers(tickers);
  }
}

/** Anything but tickers has none. */
function tickersOf(frame: Buffer): ReadonlyMap<string, Ticker> {
  const tickers = new Map<string, Ticker>();
  try {
    const { data } = JSON.parse(frame.toString('utf8')) as { data?: unknown };
    if (!Array.isArray(data)) return tickers;
    for (const ticker of data as ({ s?: unknown; c?: unknown; v?: unknown } | null)[]) {
      if (typeof ticker?.s === 'string') tickers.set(ticker.s, { close: String(ticker.c), volume: String(ticker.v) });
    }
  } catch {
    return tickers;
  }
  return tickers;
}
