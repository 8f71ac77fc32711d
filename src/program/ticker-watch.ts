import { Connection } from '../actors/exchange/connection.ts';
import type { Ticker } from '../protocols/venue.ts';
import { venueNamed } from '../venues/index.ts';
import { isSymbolShaped, streamName } from '../venues/venue.ts';

export interface TickerWatchOptions {
  readonly venue: string;
  readonly wsUrl: string;
  /** The tickers that changed of late, by symbol in the venue's spelling. */
  readonly onTickers: (tickers: ReadonlyMap<string, Ticker>) => void;
}

const LIMITS = { maxFrameBytes: 8 << 20, handshakeTimeoutMs: 10_000 } as const;
const NO_TICKERS: ReadonlyMap<string, Ticker> = new Map();
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
    const read = (frame: Buffer) => {
      const tickers = dialect.readTickers?.(frame.toString('utf8')) ?? NO_TICKERS;
      // What is no symbol at all cannot be subscribed to, and its name may have any length.
      return new Map([...tickers].filter(([symbol]) => isSymbolShaped(facts, symbol)));
    };
    const connection = new Connection(
      { url: this.#options.wsUrl, ...LIMITS },
      {
        opened: () => connection.send(dialect.encode('subscribe', [streamName(facts, 'tickers', '')], 1)),
        frames: { frame: (frame) => this.#take(read(frame)) },
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

  #take(tickers: ReadonlyMap<string, Ticker>): void {
    if (tickers.size === 0) return;
    this.#waitMs = RECONNECT_MS.least;
    this.#options.onTickers(tickers);
  }
}
