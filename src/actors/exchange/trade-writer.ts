import { TRADE, TRADE_BYTES, TRADE_LOSS } from '../../protocols/trade-layout.ts';
import { Doorbell } from '../../supervision/threads/doorbell.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { RingProducer } from '../../supervision/threads/ring.ts';
import { admitToRing } from '../../supervision/threads/ring-ends.ts';

/** A worker's ring for this connection, as it travels to the connection's thread. */
export interface TradeEdge {
  readonly worker: number;
  readonly buffer: SharedArrayBuffer;
  readonly at: number;
  /** The doorbell of the worker's thread. */
  readonly bell: { readonly buffer: SharedArrayBuffer; readonly at: number };
}

interface Edge {
  readonly ring: RingProducer;
  readonly memory: SharedMemory;
  readonly words: Uint32Array;
  readonly bell: Doorbell;
}

interface Route {
  readonly edge: Edge;
  readonly index: number;
}

const LOSS = lossRecord();

function lossRecord(): Uint8Array {
  const record = new Uint8Array(TRADE_BYTES);
  new DataView(record.buffer).setUint32(TRADE.flags, TRADE_LOSS, true);
  return record;
}

/** Passes trades on to the partition workers, each symbol to the one that has it now. */
export class TradeWriter {
  readonly #edges: ReadonlyMap<number, Edge>;
  readonly #routes = new Map<string, Route>();

  /** Make it when no earlier life of the connection runs any more: it is the producer of these rings from now on. */
  constructor(edges: readonly TradeEdge[]) {
    this.#edges = new Map(edges.map((edge) => [edge.worker, attach(edge)]));
  }

  /** Trades of the symbol, in the venue's spelling, go to this worker under this index; undefined: nowhere. */
  route(symbol: string, to: { readonly worker: number; readonly index: number } | undefined): void {
    const edge = to === undefined ? undefined : this.#edges.get(to.worker);
    if (edge === undefined || to === undefined) this.#routes.delete(symbol);
    else this.#routes.set(symbol, { edge, index: to.index });
  }

  /** False when the worker's ring is full: the trade is dropped here, and the worker is told so as soon as there is room. */
  write(symbol: string, trades: Uint8Array, offset: number): boolean {
    const route = this.#routes.get(symbol);
    return route === undefined || put(route, trades.subarray(offset, offset + TRADE_BYTES));
  }

  lose(symbol: string): boolean {
    const route = this.#routes.get(symbol);
    return route === undefined || put(route, LOSS);
  }
}

function put({ edge, index }: Route, record: Uint8Array): boolean {
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
