// All that a subscriber of Klines/Subscribe ever heard, over as many connections as it took, and what is wrong with it.
import { type Client, credentials, loadPackageDefinition, type ServiceClientConstructor } from '@grpc/grpc-js';
import { loadProtos } from '../../src/actors/publisher/grpc-server.ts';
import { fromDecimal, QUALITIES, type Quality } from '../../src/protocols/kline.ts';
import type { Figures } from './truth.ts';

export interface Heard extends Figures {
  readonly key: string;
  readonly venue: string;
  readonly symbol: string;
  readonly interval: string;
  readonly openMs: number;
  readonly closeMs: number;
  readonly closed: boolean;
  readonly quality: Quality;
  readonly revision: number;
  /** The venue's time when it was heard. */
  readonly atMs: number;
}

interface GrpcBar {
  readonly [name: `${string}_exact`]: string;
  readonly venue: string;
  readonly symbol: string;
  readonly interval: string;
  readonly open_time_us: string;
  readonly close_time_us: string;
  readonly trades: string;
  readonly first_trade_id: string;
  readonly last_trade_id: string;
  /** As in the proto file: from 1 on, in the order of QUALITIES. */
  readonly quality: number;
  readonly closed: boolean;
  readonly revision: number;
}
type Call = NodeJS.ReadableStream & { cancel(): void };
const RECONNECT_MS = 50;

function heardOf(bar: GrpcBar, atMs: number): Heard {
  const price = (name: string) => fromDecimal(bar[`${name}_exact`]!, 8);
  const quote = (name: string) => fromDecimal(bar[`${name}_exact`]!, 16);
  const { venue, symbol, interval } = bar;
  const openMs = Number(bar.open_time_us) / 1000;
  return {
    ...{ key: `${venue} ${symbol} ${interval} ${openMs}`, venue, symbol, interval, openMs, atMs },
    closeMs: Math.floor(Number(bar.close_time_us) / 1000),
    ...{ closed: bar.closed, quality: QUALITIES[bar.quality - 1]!, revision: bar.revision },
    ...{ open: price('open'), high: price('high'), low: price('low'), close: price('close') },
    ...{ volume: price('volume'), quoteVolume: quote('quote_volume') },
    ...{ takerVolume: price('taker_volume'), takerQuoteVolume: quote('taker_quote_volume') },
    trades: BigInt(bar.trades),
    firstId: BigInt(bar.first_trade_id),
    lastId: BigInt(bar.last_trade_id),
  };
}

export class Journal {
  /** Every closed state of every bar that was heard, in order. */
  readonly closed = new Map<string, Heard[]>();
  readonly complaints: string[] = [];
  readonly #nowMs: (venue: string) => number;
  #close: () => void = () => {};

  constructor(nowMs: (venue: string) => number) {
    this.#nowMs = nowMs;
  }

  /** Listens at an address until the next `follow` or `end`; a stream that breaks is opened again. */
  follow(address: string): void {
    this.#close();
    const { klines } = loadPackageDefinition(loadProtos(['klines.proto'])) as unknown as {
      klines: { Klines: ServiceClientConstructor };
    };
    const client = new klines.Klines(address, credentials.createInsecure()) as unknown as Client & {
      Subscribe(request: object): Call;
    };
    let call: Call | undefined;
    let isOver = false;
    const open = () => {
      if (isOver) return;
      call = client.Subscribe({});
      call.on('data', ({ bars }: { bars: GrpcBar[] }) => this.#hear(bars));
      call.on('error', () => setTimeout(open, RECONNECT_MS));
    };
    open();
    this.#close = () => {
      isOver = true;
      call?.cancel();
      client.close();
    };
  }

  end(): void {
    this.#close();
  }

  /** Every closed state that was heard of a series. */
  statesOf(venue: string, symbol: string, interval: string): Heard[] {
    const prefix = `${venue} ${symbol} ${interval} `;
    return [...this.closed].flatMap(([key, states]) => (key.startsWith(prefix) ? states : []));
  }

  #hear(bars: readonly GrpcBar[]): void {
    for (const bar of bars) {
      const heard = heardOf(bar, this.#nowMs(bar.venue));
      const states = this.closed.get(heard.key) ?? [];
      const before = states.at(-1);
      const what = `${heard.key}: ${before?.revision} ${before?.quality} -> ${heard.revision} ${heard.quality}`;
      if (before !== undefined && !heard.closed) this.complaints.push(`open again ${what}`);
      if (before !== undefined && heard.closed && heard.revision < before.revision)
        this.complaints.push(`back ${what}`);
      if (!heard.closed) continue;
      states.push(heard);
      this.closed.set(heard.key, states);
    }
  }
}
