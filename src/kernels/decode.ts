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
  HEAD_FRAME,
  HEAD_NAME_LENGTH,
  HEAD_NAME_OFFSET,
  HEAD_ROUTE,
  HEAD_SEQUENCE,
  LANDING_BYTES,
} from './assembly/lib/contract.ts';
import { KERNEL_ENV, kernelModule } from './load.ts';
import type { OutletFunctions, OutletPlace } from './outlet.ts';

interface DecodeExports {
  readonly memory: WebAssembly.Memory;
  initialize(...sizes: number[]): void;
  deskAddress(): number;
  landingAddress(): number;
  headAddress(): number;
  bookAddress(): number;
  deltasAddress(): number;
  changesAddress(): number;
  tradesAddress(): number;
  addRoute(length: number, route: number, decimals: number): number;
  decodeSnapshot(length: number, route: number, decimals: number): number;
  openBook(route: number, capacity: number, cut: number, decimals: number): number;
  applyDelta(index: number): number;
  endOfKnown(route: number, levels: number): void;
  topOfBook(route: number, receivedNs: number): number;
  openOutlet(route: number, venue: number, symbol: number, life: number, after: number, patienceMs: number): void;
  closeOutlets(): void;
}

/** Without an outlet nothing is opened, and nothing put. */
const NO_OUTLET: OutletFunctions = { openPlace: () => 0, putRow: () => {}, publishBook: () => {} };

/**
 * A venue's walker in the kernel. `route` and `decimals` are those of a frame that does not say whose it is; a venue whose
 * frames all do does not look at them.
 */
export type Walk = (length: number, route: number, decimals: number, receivedNs: number) => number;

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
  /** Incremental books: how many, and how many levels a side each may hold. Their memory is taken at once. */
  readonly books?: { readonly count: number; readonly levels: number };
  readonly outlet?: OutletFunctions;
}

const PAGE_BYTES = 65_536;
/** The head of an incremental book, and what the allocator adds. */
const LEVEL_BOOK_BYTES = 64 + 16;
/** Routes below this number can have an incremental book. */
const BOOK_ROUTES = 65_536;

/** A frame of a stream that was not registered gets this route. */
export const NO_ROUTE = 0xffffffff;

/**
 * Decodes venue frames. One instance a connection; a call allocates nothing. It answers a code of contract.ts: above zero
 * says which records it filled in, below zero why the frame was refused. Records hold until the next call.
 */
export class DecodeKernel {
  readonly depth: number;
  /** What the venues' folders add to the kernel, by the names under which they export it. */
  readonly walkers: Readonly<Record<string, Walk>>;
  private readonly kernel: DecodeExports;
  private readonly frameBytes: number;
  private readonly bookLevels: number;
  private readonly openedBooks = new Set<number>();
  private booksLeft: number;
  private readonly deskAt: number;
  private readonly landingAt: number;
  private readonly desk: Uint8Array;
  /** A socket may write here; a frame in it is read where it lies. */
  readonly landing: Buffer;
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
    const instance = new WebAssembly.Instance(kernelModule('decode'), {
      env: KERNEL_ENV,
      books: { ...(options.outlet ?? NO_OUTLET) },
    });
    this.kernel = instance.exports as unknown as DecodeExports;
    this.walkers = instance.exports as unknown as Readonly<Record<string, Walk>>;
    const books = options.books ?? { count: 0, levels: 0 };
    this.bookLevels = books.levels;
    const routes = 2 ** Math.ceil(Math.log2(2 * (options.routes ?? 1024)));
    const { changes, deltas, trades } = sizes;
    this.kernel.initialize(depth, this.frameBytes, changes, deltas, trades, routes, BOOK_ROUTES);
    // Room for all books now, so that the views below stay valid.
    const bookPages = Math.ceil((books.count * (LEVEL_BOOK_BYTES + 2 * books.levels * CHANGE_BYTES)) / PAGE_BYTES);
    this.kernel.memory.grow(bookPages + 1);
    this.booksLeft = books.count;

    const { buffer } = this.kernel.memory;
    this.deskAt = this.kernel.deskAddress();
    this.desk = new Uint8Array(buffer, this.deskAt, this.frameBytes);
    this.landingAt = this.kernel.landingAddress();
    this.landing = Buffer.from(buffer, this.landingAt, LANDING_BYTES);
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
    const { written } = new TextEncoder().encodeInto(name, this.desk);
    invariant(this.kernel.addRoute(written, route, decimals) !== 0, 'the route table has room', { name });
  }

  /** Takes a frame in for a walker and answers its length. One that is too long is not copied, and the walker says so. */
  take(frame: Uint8Array): number {
    const { length } = frame;
    if (length <= this.frameBytes) this.desk.set(frame);
    this.head[HEAD_FRAME / 4] = this.deskAt;
    return length;
  }

  /** The same for a frame in the landing. Nothing else may stand there: the bytes around it are overwritten. */
  takeLanded(from: number, length: number): number {
    this.head[HEAD_FRAME / 4] = this.landingAt + from;
    return length;
  }

  /** A view of a frame in the landing, for who must look at it. */
  landed(from: number, length: number): Buffer {
    return this.landing.subarray(from, from + length);
  }

  /** A whole book from REST (`lastUpdateId` or `microtimestamp`, `bids`, `asks`), as a delta that begins a book anew. */
  snapshot(frame: Uint8Array, route: number, decimals: number = DECIMALS_DEFAULT): number {
    return this.kernel.decodeSnapshot(this.take(frame), route, decimals);
  }

  /**
   * Makes, or empties, the incremental book of a route. `cut` is the depth to which the venue wants it cut after each
   * update (it sends again what comes back into view); 0 where the venue sends all levels.
   */
  openBook(route: number, decimals: number = DECIMALS_DEFAULT, cut = 0): void {
    if (!this.openedBooks.has(route)) {
      invariant(this.booksLeft > 0, 'a kernel holds as many books as it was made for', { route });
      this.booksLeft--;
      this.openedBooks.add(route);
    }
    const made = this.kernel.openBook(route, this.bookLevels, cut, decimals) !== 0;
    invariant(made, 'routes with a book are below 65536', { route });
  }

  /** Applies delta number `index` of the last frame to its route's book: APPLIED, or a code below zero. */
  applyDelta(index: number): number {
    return this.kernel.applyDelta(index);
  }

  /** Says that the snapshot that was just applied was cut to so many levels a side: a side that has them may have more. */
  endOfKnown(route: number, levels: number): void {
    this.kernel.endOfKnown(route, levels);
  }

  /** Copies the top of a route's incremental book into `book`: APPLIED, or a code below zero. */
  topOfBook(route: number, receivedNs: number): number {
    return this.kernel.topOfBook(route, receivedNs);
  }

  /**
   * From now on whole books of a route with a number above `after` go into their slot as soon as they are read (BOOK_SENT), each one
   * above the last, to count for `patienceMs` from their arrival.
   */
  openOutlet(route: number, { venue, symbol, life }: OutletPlace, after: number, patienceMs: number): void {
    this.kernel.openOutlet(route, venue, symbol, life, after, patienceMs);
  }

  /** Every book is the caller's to publish again. */
  closeOutlets(): void {
    this.kernel.closeOutlets();
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
