import {
  bookBytes,
  DECIMALS_DEFAULT,
  DECIMALS_MAX,
  DEPTH_DEFAULT,
  DEPTH_MAX,
  DEPTH_MIN,
} from '../protocols/book-layout.ts';
import { invariant } from '../protocols/errors/index.ts';
import { TRADE_BYTES } from '../protocols/trade-layout.ts';
import {
  CHANGE_BYTES,
  DELTA_BYTES,
  HEAD_BYTES,
  HEAD_COUNT,
  HEAD_FAILED_AT,
  HEAD_NAME_LENGTH,
  HEAD_NAME_OFFSET,
  HEAD_ROUTE,
  HEAD_SEQUENCE,
} from './assembly/lib/contract.ts';
import { KERNEL_ENV, kernelModule } from './load.ts';

interface DecodeExports {
  readonly memory: WebAssembly.Memory;
  initialize(depth: number, frame: number, changes: number, deltas: number, trades: number, routes: number): void;
  frameAddress(): number;
  headAddress(): number;
  bookAddress(): number;
  deltasAddress(): number;
  changesAddress(): number;
  tradesAddress(): number;
  addRoute(length: number, route: number, decimals: number): number;
  decodeBinance(length: number, route: number, decimals: number, receivedNs: number): number;
  decodeBitstamp(length: number, receivedNs: number): number;
}

export interface DecodeOptions {
  /** Levels kept of a whole book, 1..100. */
  readonly depth?: number;
  /** The longest frame that is read; longer ones are refused. */
  readonly frameBytes?: number;
  /** Level changes, deltas and trades that one frame may hold. */
  readonly changes?: number;
  readonly deltas?: number;
  readonly trades?: number;
  /** Stream, channel and symbol names that can be registered. */
  readonly routes?: number;
}

/** A frame of a stream that was not registered gets this route. */
export const NO_ROUTE = 0xffffffff;

/**
 * Decodes venue frames. One instance a thread; a call allocates nothing. It answers a code of contract.ts: above zero
 * says which records it filled in, below zero why the frame was refused. Records hold until the next call.
 */
export class DecodeKernel {
  readonly depth: number;
  private readonly kernel: DecodeExports;
  private readonly frameBytes: number;
  private frame: Uint8Array;
  private head: Uint32Array;
  private headFloats: Float64Array;
  /** The book record, laid out as book-layout.ts says: copy it into a slot. */
  book: Uint8Array;
  /** Trade records, TRADE_BYTES each, `count` of them. */
  trades: Uint8Array;
  /** Delta rows and changed levels, see contract.ts. */
  deltas: DataView;
  changes: DataView;

  constructor(options: DecodeOptions = {}) {
    const depth = options.depth ?? DEPTH_DEFAULT;
    invariant(Number.isInteger(depth) && depth >= DEPTH_MIN && depth <= DEPTH_MAX, 'depth is 1..100', { depth });
    this.depth = depth;
    this.frameBytes = options.frameBytes ?? 1 << 20;
    const sizes = { changes: options.changes ?? 20_000, deltas: options.deltas ?? 64, trades: options.trades ?? 1024 };
    const instance = new WebAssembly.Instance(kernelModule('decode'), { env: KERNEL_ENV });
    this.kernel = instance.exports as unknown as DecodeExports;
    const routes = 2 ** Math.ceil(Math.log2(2 * (options.routes ?? 1024)));
    this.kernel.initialize(depth, this.frameBytes, sizes.changes, sizes.deltas, sizes.trades, routes);

    const { buffer } = this.kernel.memory;
    this.frame = new Uint8Array(buffer, this.kernel.frameAddress(), this.frameBytes);
    this.head = new Uint32Array(buffer, this.kernel.headAddress(), HEAD_BYTES / 4);
    this.headFloats = new Float64Array(buffer, this.kernel.headAddress(), HEAD_BYTES / 8);
    this.book = new Uint8Array(buffer, this.kernel.bookAddress(), bookBytes(depth));
    this.trades = new Uint8Array(buffer, this.kernel.tradesAddress(), sizes.trades * TRADE_BYTES);
    this.deltas = new DataView(buffer, this.kernel.deltasAddress(), sizes.deltas * DELTA_BYTES);
    this.changes = new DataView(buffer, this.kernel.changesAddress(), sizes.changes * CHANGE_BYTES);
  }

  /** From now on frames of this stream, channel or symbol name belong to `route`, at this scale. */
  addRoute(name: string, route: number, decimals: number = DECIMALS_DEFAULT): void {
    invariant(decimals >= 0 && decimals <= DECIMALS_MAX, 'a scale has 0..18 decimals', { name, decimals });
    const { written } = new TextEncoder().encodeInto(name, this.frame);
    invariant(this.kernel.addRoute(written, route, decimals) !== 0, 'the route table has room', { name });
  }

  /** `route` and `decimals` are those of a raw partial book, which does not name its symbol. */
  binance(frame: Uint8Array, receivedNs: number, route = NO_ROUTE, decimals: number = DECIMALS_DEFAULT): number {
    const { length } = frame;
    if (length <= this.frameBytes) this.frame.set(frame);
    return this.kernel.decodeBinance(length, route, decimals, receivedNs);
  }

  bitstamp(frame: Uint8Array, receivedNs: number): number {
    const { length } = frame;
    if (length <= this.frameBytes) this.frame.set(frame);
    return this.kernel.decodeBitstamp(length, receivedNs);
  }

  get route(): number {
    return this.head[HEAD_ROUTE / 4]!;
  }
  get count(): number {
    return this.head[HEAD_COUNT / 4]!;
  }
  get nameOffset(): number {
    return this.head[HEAD_NAME_OFFSET / 4]!;
  }
  get nameLength(): number {
    return this.head[HEAD_NAME_LENGTH / 4]!;
  }
  get failedAt(): number {
    return this.head[HEAD_FAILED_AT / 4]!;
  }
  get sequence(): number {
    return this.headFloats[HEAD_SEQUENCE / 8]!;
  }
}
