import { type ServerWritableStream, status } from '@grpc/grpc-js';
import type { SummaryEncoder, SymbolShape } from './encode.ts';
import { Subscriber } from './subscriber.ts';

/** A request as it comes off the wire. */
export interface SummaryRequest {
  readonly symbols: readonly string[];
  readonly depth: number;
  readonly min_interval_ms: number;
}

export interface BookServiceOptions {
  readonly symbols: readonly SymbolShape[];
  readonly defaultSymbol: string | null;
  readonly depth: number;
  readonly encoder: SummaryEncoder;
  /** Where the latest summary record of a symbol lies, if there is one yet. */
  readonly latest: (symbol: number) => number | undefined;
  readonly maxSubscribers: number;
  readonly maxSymbols: number;
  readonly cutSlowAfterMs: number;
  readonly now: () => number;
}

export interface BookServiceStats {
  readonly subscribers: number;
  readonly delivered: number;
  readonly skipped: number;
  readonly cut: number;
  readonly encoded: number;
  /** Bytes held for subscribers that have not taken them yet. */
  readonly heldBytes: number;
}

export const NO_STATS: BookServiceStats = {
  subscribers: 0,
  delivered: 0,
  skipped: 0,
  cut: 0,
  encoded: 0,
  heldBytes: 0,
};

type Call = ServerWritableStream<SummaryRequest, Buffer>;

interface Stream {
  readonly call: Call;
  readonly subscriber: Subscriber;
}

/** How often slow subscribers are looked for. */
const CUT_CHECK_MS = 500;

/** Serves OrderbookAggregator/BookSummary: encodes each summary once a depth, writes the same bytes to all who want it. */
export class BookService {
  readonly #options: BookServiceOptions;
  readonly #indexOf: ReadonlyMap<string, number>;
  readonly #streams = new Set<Stream>();
  readonly #bySymbol: Subscriber[][];
  readonly #encoded = new Map<number, Buffer>();
  readonly #cutTimer: NodeJS.Timeout;
  #gone = { delivered: 0, skipped: 0 };
  #cut = 0;
  #encodedCount = 0;

  constructor(options: BookServiceOptions) {
    this.#options = options;
    this.#indexOf = new Map(options.symbols.map((symbol, index) => [symbol.name, index]));
    this.#bySymbol = options.symbols.map(() => []);
    this.#cutTimer = setInterval(() => this.#cutSlow(), CUT_CHECK_MS).unref();
  }

  /** A new summary of a symbol lies at `record`. */
  publish(symbol: number, record: number): void {
    const subscribers = this.#bySymbol[symbol]!;
    if (subscribers.length === 0) return;
    this.#encoded.clear();
    for (const subscriber of subscribers) subscriber.offer(symbol, this.#encode(symbol, record, subscriber.depth));
  }

  #encode(symbol: number, record: number, depth: number): Buffer {
    let bytes = this.#encoded.get(depth);
    if (bytes === undefined) {
      bytes = this.#options.encoder.encode(record, this.#options.symbols[symbol]!, depth);
      this.#encoded.set(depth, bytes);
      this.#encodedCount++;
    }
    return bytes;
  }

  subscribe(call: Call): void {
    const refusal = this.#refusal(call.request);
    if (refusal !== undefined) {
      call.emit('error', refusal);
      return;
    }
    const { request } = call;
    const names = request.symbols.length > 0 ? request.symbols : [this.#options.defaultSymbol!];
    const symbols = [...new Set(names)].map((name) => this.#indexOf.get(name)!);
    const subscriber = new Subscriber(
      { write: (bytes, confirmed) => void call.write(bytes, confirmed) },
      {
        depth: request.depth === 0 ? this.#options.depth : request.depth,
        minIntervalMs: request.min_interval_ms,
        now: this.#options.now,
      },
    );
    const stream = { call, subscriber };
    this.#streams.add(stream);
    const leave = () => this.#leave(stream, symbols);
    call.on('cancelled', leave);
    call.on('close', leave);
    call.on('error', leave);
    for (const symbol of symbols) {
      this.#bySymbol[symbol]!.push(subscriber);
      const record = this.#options.latest(symbol);
      if (record === undefined) continue;
      this.#encoded.clear();
      subscriber.offer(symbol, this.#encode(symbol, record, subscriber.depth));
    }
  }

  #refusal({ symbols, depth }: SummaryRequest): { code: status; details: string } | undefined {
    const { maxSubscribers, maxSymbols, defaultSymbol } = this.#options;
    if (this.#streams.size >= maxSubscribers) {
      return { code: status.RESOURCE_EXHAUSTED, details: `at most ${maxSubscribers} subscribers are served` };
    }
    if (symbols.length > maxSymbols) {
      return { code: status.INVALID_ARGUMENT, details: `symbols: at most ${maxSymbols} a stream` };
    }
    if (depth > this.#options.depth) {
      return { code: status.INVALID_ARGUMENT, details: `depth: at most ${this.#options.depth}, 0 for all of it` };
    }
    const unknown = symbols.find((name) => !this.#indexOf.has(name));
    if (unknown !== undefined) {
      const known = [...this.#indexOf.keys()].slice(0, 20).join(', ');
      return {
        code: status.NOT_FOUND,
        details: `symbols: "${unknown.slice(0, 64)}" is not served; there are ${known}`,
      };
    }
    if (symbols.length === 0 && (defaultSymbol === null || !this.#indexOf.has(defaultSymbol))) {
      return { code: status.FAILED_PRECONDITION, details: 'symbols: none given, and there is no default symbol' };
    }
    return undefined;
  }

  #leave(stream: Stream, symbols: readonly number[]): void {
    if (!this.#streams.delete(stream)) return;
    const { subscriber } = stream;
    subscriber.close();
    this.#gone.delivered += subscriber.delivered;
    this.#gone.skipped += subscriber.skipped;
    for (const symbol of symbols) {
      const list = this.#bySymbol[symbol]!;
      list.splice(list.indexOf(subscriber), 1);
    }
  }

  #cutSlow(): void {
    const nowMs = this.#options.now();
    for (const { call, subscriber } of this.#streams) {
      const busyMs = subscriber.busyForMs(nowMs);
      if (busyMs < this.#options.cutSlowAfterMs) continue;
      this.#cut++;
      const details = `nothing was taken for ${Math.round(busyMs)} ms: read faster, or ask for a minimum interval`;
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details });
    }
  }

  stats(): BookServiceStats {
    let { delivered, skipped } = this.#gone;
    let heldBytes = 0;
    for (const { subscriber } of this.#streams) {
      delivered += subscriber.delivered;
      skipped += subscriber.skipped;
      heldBytes += subscriber.heldBytes;
    }
    const { size: subscribers } = this.#streams;
    return { subscribers, delivered, skipped, cut: this.#cut, encoded: this.#encodedCount, heldBytes };
  }

  close(): void {
    clearInterval(this.#cutTimer);
    const details = 'the server is stopping or merges other books from now on: subscribe again';
    for (const { call } of [...this.#streams]) call.emit('error', { code: status.UNAVAILABLE, details });
  }
}
