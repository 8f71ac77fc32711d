import type { TradeEdge, TradePlace, TradeRoute } from '../../protocols/exchange.ts';
import { TRADE, TRADE_BYTES, TRADE_LOSS } from '../../protocols/trade-layout.ts';
import { Doorbell } from '../../supervision/threads/doorbell.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { RingProducer } from '../../supervision/threads/ring.ts';
import { admitToRing } from '../../supervision/threads/ring-ends.ts';

interface Edge {
  readonly ring: RingProducer;
  readonly memory: SharedMemory;
  readonly words: Uint32Array;
  readonly bell: Doorbell;
}

interface Target {
  readonly edge: Edge;
  readonly index: number;
}

const NOWHERE: readonly Target[] = [];
const LOSS = lossRecord();

function lossRecord(): Uint8Array {
  const record = new Uint8Array(TRADE_BYTES);
  new DataView(record.buffer).setUint32(TRADE.flags, TRADE_LOSS, true);
  return record;
}

/** Passes trades on to the partition workers, each symbol to the one that has it now, or to both while it moves. */
export class TradeWriter {
  readonly #edges = new Map<number, Edge>();
  readonly #routes = new Map<string, readonly Target[]>();

  /** Make it when no earlier life of the connection runs any more: it is the producer of these rings from now on. */
  constructor(edges: readonly TradeEdge[]) {
    this.attach(edges);
  }

  /** Rings of workers that came later. One that is known is left alone: it has one producer. */
  attach(edges: readonly TradeEdge[]): void {
    for (const edge of edges) if (!this.#edges.has(edge.worker)) this.#edges.set(edge.worker, attach(edge));
  }

  /** Trades go there from now on, and those of other symbols nowhere. */
  route(routes: Iterable<TradeRoute>): void {
    this.#routes.clear();
    for (const { symbol, to, also } of routes) {
      const targets = [to, also].flatMap((place) => this.#target(place));
      if (targets.length > 0) this.#routes.set(symbol, targets);
    }
  }

  /** False when a worker's ring is full: the trade is dropped there, and the worker is told so as soon as there is room. */
  write(symbol: string, trades: Uint8Array, offset: number): boolean {
    return this.#put(symbol, trades.subarray(offset, offset + TRADE_BYTES));
  }

  lose(symbol: string): boolean {
    return this.#put(symbol, LOSS);
  }

  #put(symbol: string, record: Uint8Array): boolean {
    let isTaken = true;
    for (const target of this.#routes.get(symbol) ?? NOWHERE) isTaken = put(target, record) && isTaken;
    return isTaken;
  }

  #target(place: TradePlace | undefined): Target[] {
    const edge = place === undefined ? undefined : this.#edges.get(place.worker);
    return edge === undefined || place === undefined ? [] : [{ edge, index: place.index }];
  }
}

function put({ edge, index }: Target, record: Uint8Array): boolean {
  const place = edge.ring.claim();
  if (place < 0) return false;
  edge.memory.write(place, record);
  edge.words[(place + TRADE.symbol) >>> 2] = index;
  edge.ring.publish();
  edge.bell.ring();
  return true;
}

function attach({ buffer, at, bell }: TradeEdge): Edge {
  const memory = new SharedMemory(buffer);
  return {
    ring: new RingProducer(memory, at, admitToRing(memory, at, 'producer')),
    memory,
    words: new Uint32Array(buffer),
    bell: new Doorbell(new SharedMemory(bell.buffer), bell.at),
  };
}
