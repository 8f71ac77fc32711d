// A server that says what a test wants, as a stranger's would, and the real exchange as its client.
import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { Exchange } from '../../src/actors/exchange/exchange.ts';
import { BOOK, bookAsksOffset } from '../../src/protocols/book-layout.ts';
import type { ExchangeSettings } from '../../src/protocols/topology.ts';
import { TRADE } from '../../src/protocols/trade-layout.ts';
import { venueNamed } from '../../src/venues/index.ts';
import { EXCHANGE_SETTINGS } from './exchange-settings.ts';
import { until } from './harness.ts';

export const SYMBOLS: Readonly<Record<string, string>> = {
  binance: 'BTCUSDT',
  bitstamp: 'btcusd',
  kraken: 'BTC/USD',
  coinbase: 'BTC-USD',
};
export interface Published {
  readonly sequence: number;
  readonly bids: readonly string[];
  readonly asks: readonly string[];
}

export interface StandInOptions {
  readonly settings?: Partial<ExchangeSettings>;
  /** In the venue's spelling; the first one's books are those that are kept. */
  readonly symbols?: readonly string[];
  /** Answers a request of the client. */
  readonly answer?: (text: string, say: (frame: string) => void) => void;
  readonly rest?: RequestListener;
  /** Levels a side of the books that are published. */
  readonly depth?: number;
}

export class StandIn {
  readonly heard: string[] = [];
  /** Books of the first symbol, as they were published. */
  readonly books: Published[] = [];
  /** The book that counts now, by symbol; none while it is left out. */
  readonly counting = new Map<string, Published>();
  /** Symbols whose trades were said to be missing, once each time. */
  readonly losses: string[] = [];
  /** Numbers of the trades that were passed on. */
  readonly trades: bigint[] = [];
  readonly venue: string;
  readonly symbols: readonly string[];
  readonly #options: StandInOptions;
  #http!: Server;
  #server!: WebSocketServer;
  #client: WebSocket | undefined;
  #exchange!: Exchange;
  #timer: NodeJS.Timeout | undefined;
  #refusals = 0;

  constructor(venue: string, options: StandInOptions = {}) {
    this.venue = venue;
    this.symbols = options.symbols ?? [SYMBOLS[venue]!];
    this.#options = options;
  }

  async start(): Promise<void> {
    const { answer, rest = (_, response) => response.writeHead(404).end(), settings, depth = 10 } = this.#options;
    this.#http = createServer(rest);
    this.#server = new WebSocketServer({
      server: this.#http,
      perMessageDeflate: false,
      verifyClient: () => this.#refusals-- <= 0,
    });
    this.#server.on('connection', (client) => {
      this.#client = client;
      client.on('message', (data) => {
        this.heard.push(String(data));
        answer?.(String(data), (frame) => client.send(frame));
      });
    });
    this.#http.listen(0, '127.0.0.1');
    await once(this.#http, 'listening');
    const { port } = this.#http.address() as AddressInfo;
    const mapped = this.symbols.map((symbol) => ({ instrument: symbol, symbol, scale: 8 }));
    this.#exchange = new Exchange({
      path: `/feeds/${this.venue}`,
      venue: venueNamed(this.venue),
      settings: { ...EXCHANGE_SETTINGS, ...settings, venue: this.venue, symbols: mapped },
      wsUrl: `ws://127.0.0.1:${port}`,
      restUrl: `http://127.0.0.1:${port}`,
      books: {
        depth,
        publish: (index, record) => {
          const book = bookOf(record, depth);
          if (index === 0) this.books.push(book);
          this.counting.set(this.symbols[index]!, book);
        },
        finish: () => {},
        countUntil: () => {},
        leaveOut: (index) => this.counting.delete(this.symbols[index]!),
        release: () => {},
      },
      bookIndex: (instrument) => this.symbols.indexOf(instrument),
      trades: {
        write: (_, records, at) => {
          const { buffer, byteOffset } = records;
          return this.trades.push(new DataView(buffer, byteOffset + at).getBigUint64(TRADE.sequence, true)) > 0;
        },
        lose: (symbol) => this.losses.push(symbol) > 0,
      },
      random: Math.random,
    });
    this.#timer = setInterval(() => this.#exchange.tick(), 20);
    await until(() => this.heard.length > 0, 'the first request');
  }

  say(frame: string | Buffer): void {
    this.#client!.send(frame, { binary: typeof frame !== 'string' });
  }

  /** Refuses the next connections. */
  refuse(count: number): void {
    this.#refusals = count;
  }

  get socket(): WebSocket {
    return this.#client!;
  }

  rotate(): void {
    this.#exchange.rotate('the test wants it');
  }

  status() {
    return this.#exchange.status();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#exchange.close();
    for (const client of this.#server.clients) client.terminate();
    this.#server.close();
    this.#http.close();
  }
}

function bookOf(record: Uint8Array, depth: number): Published {
  const view = new DataView(record.buffer, record.byteOffset, record.byteLength);
  const side = (at: number, count: number) =>
    Array.from({ length: count }, (_, level) => {
      const [price, amount] = [0, 8].map((field) => Number(view.getBigUint64(at + level * 16 + field, true)) / 1e8);
      return `${amount}@${price}`;
    });
  return {
    sequence: Number(view.getBigUint64(BOOK.sequence, true)),
    bids: side(BOOK.levels, view.getUint16(BOOK.bid_count, true)),
    asks: side(bookAsksOffset(depth), view.getUint16(BOOK.ask_count, true)),
  };
}
