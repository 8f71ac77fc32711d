// Incremental books: each connection builds its own, in its own kernel, from a snapshot on. The current connection's books
// are published; a successor's are ready when it takes over.
//
//   waiting --snapshot on the stream (Kraken, Coinbase)----------------> following --checksum, gap, thin, unreadable--> out
//    ^ |                                                                     ^                                          |
//    | +--first diff (Binance)--> buffering --REST snapshot that it continues-+                                         |
//    +----------------------------------------- the stream is joined again ---------------------------------------------+
import {
  APPLIED,
  APPLY_CHECKSUM_DIFFERS,
  APPLY_THIN,
  CONTROL,
  DELTA_BYTES,
  DELTA_FIRST_SEQUENCE,
  DELTA_FLAGS,
  DELTA_IS_SNAPSHOT,
  DELTA_LAST_SEQUENCE,
  DELTA_ROUTE,
  DELTA_TIME_US,
} from '../../kernels/assembly/lib/contract.ts';
import { type DecodeKernel, NO_ROUTE, type Walk } from '../../kernels/decode.ts';
import { DECIMALS_DEFAULT } from '../../protocols/book-layout.ts';
import { type DepthSync, receiveDiff, receiveSnapshot, UNSYNCED } from '../../venues/depth-sync.ts';
import { fetchWhole } from '../../venues/rest.ts';
import type { Walker } from '../../venues/venue.ts';
import { type FrameSource, NEVER } from './frame-source.ts';
import { refusalCode } from './refusals.ts';
import type { Stream } from './stream.ts';
import type { BookTarget } from './targets.ts';

/** Diffs that wait for a snapshot; more than that, and the snapshot is too old when it comes. */
const BUFFERED_MAX = 1_000;
/** 0.5, 1, 2, 4, 8, 16, 30, 30 ... seconds between tries. */
const REFETCH_MIN_MS = 500;
const REFETCH_MAX_MS = 30_000;
const FETCHES_MAX = 10;
const RETRY_AFTER_MAX_MS = 600_000;

export interface DeltaReaderOptions {
  readonly walker: Walker;
  /** It, in the connection's kernel. */
  readonly walk: Walk;
  readonly restUrl: string | undefined;
  readonly books: BookTarget | undefined;
  onCovered(stream: Stream, atNs: number): void;
  onBroken(source: FrameSource, stream: Stream, reason: string): void;
  /** A snapshot could not be fetched; it is tried again. */
  onSnapshotFailed(reason: string): void;
}

/** One stream's book on one connection. */
interface Following {
  readonly stream: Stream;
  readonly route: number;
  /** The stream is being left: what still comes of it begins nothing. */
  isOut: boolean;
  isFollowing: boolean;
  /** On a successor: it has been told that nothing of this book can fall between the two connections. */
  isCovered: boolean;
  /** The venue's time of the last change that the stream brought; 0 where it has brought none, or says no time. */
  venueUs: number;
  /** For a venue whose diffs stand on a REST snapshot. */
  sync: DepthSync;
  buffered: Buffer[];
  fetching: AbortController | undefined;
}

/** The incremental books of one connection. */
export class DeltaReader {
  readonly #options: DeltaReaderOptions;
  readonly #source: FrameSource;
  readonly #kernel: DecodeKernel;
  readonly #books = new Map<number, Following>();
  /** Diffs are worth nothing without a snapshot that is fetched. */
  readonly #standsOnRest: boolean;

  constructor(options: DeltaReaderOptions, source: FrameSource, kernel: DecodeKernel) {
    this.#options = options;
    this.#source = source;
    this.#kernel = kernel;
    this.#standsOnRest = options.walker.snapshot !== undefined && options.restUrl !== undefined;
  }

  /** Begins, or begins anew, the book of a stream. */
  open(stream: Stream, route: number): void {
    this.#books.get(route)?.fetching?.abort();
    this.#kernel.openBook(route, stream.mapped.scale, this.#options.walker.bookCut ?? 0);
    const fresh = {
      isOut: false,
      isFollowing: false,
      isCovered: false,
      venueUs: NEVER,
      sync: UNSYNCED,
      buffered: [],
      fetching: undefined,
    };
    this.#books.set(route, { stream, route, ...fresh });
  }

  /** The kernel has decoded a frame of deltas; `frame` is kept only where it must wait for a snapshot. */
  read(frame: Buffer, receivedNs: number): void {
    const { deltas, count } = this.#kernel;
    for (let index = 0; index < count; index++) {
      const at = index * DELTA_BYTES;
      const book = this.#books.get(deltas.getUint32(at + DELTA_ROUTE, true));
      if (book === undefined || book.isOut) continue;
      const isSnapshot = (deltas.getUint32(at + DELTA_FLAGS, true) & DELTA_IS_SNAPSHOT) !== 0;
      if (this.#standsOnRest && !isSnapshot) {
        if (!this.#isNextDiff(book, at, frame)) continue;
      } else if (!isSnapshot && !book.isFollowing) continue;
      this.#apply(book, index, receivedNs);
    }
  }

  /** The stream is being joined again. */
  resume(stream: string): void {
    const book = this.#bookOf(stream);
    if (book !== undefined) book.isOut = false;
  }

  /** Something of the stream's book is missing. */
  miss(stream: Stream, reason: string): void {
    const book = this.#bookOf(stream.name);
    if (book?.isOut === false) this.#break(book, reason);
  }

  /** Something may be missing from the stream's book; one that has not begun lacks nothing yet. */
  doubt(stream: Stream, reason: string): void {
    if (this.#bookOf(stream.name)?.isFollowing === true) this.miss(stream, reason);
  }

  /** Whether the stream has a whole book here. */
  hasBook(stream: Stream): boolean {
    return this.#bookOf(stream.name)?.isFollowing === true;
  }

  /** Publishes every book: the connection has just become the current one. */
  publishAll(receivedNs: number): void {
    for (const book of this.#books.values()) {
      if (!book.isFollowing) continue;
      // The old connection had lost this one: with what this one has it begins anew.
      if (book.stream.lastFrameNs === 0) this.#following(book, receivedNs);
      this.#publish(book, receivedNs);
    }
    this.#options.books?.finish();
  }

  close(): void {
    for (const book of this.#books.values()) book.fetching?.abort();
    this.#books.clear();
  }

  #apply(book: Following, index: number, receivedNs: number): void {
    const code = this.#kernel.applyDelta(index);
    if (code !== APPLIED) {
      this.#break(book, reasonOf(code));
      return;
    }
    const timeAt = index * DELTA_BYTES + DELTA_TIME_US;
    const { deltas } = this.#kernel;
    book.venueUs = deltas.getUint32(timeAt + 4, true) * 2 ** 32 + deltas.getUint32(timeAt, true);
    this.#following(book, receivedNs);
    this.#publish(book, receivedNs);
  }

  #following(book: Following, receivedNs: number): void {
    const { stream } = book;
    this.#source.dataNs = receivedNs;
    book.isFollowing = true;
    if (this.#source.role === 'current') {
      stream.heard(receivedNs);
      stream.isBroken = false;
      stream.lastSequence = appliedOf(book);
      stream.venueUs = book.venueUs;
    } else if (!book.isCovered && appliedOf(book) >= stream.lastSequence && book.venueUs >= stream.venueUs) {
      // A successor that is behind would take the book back in time, or let it stand still on a snapshot that is ahead.
      book.isCovered = true;
      this.#options.onCovered(stream, receivedNs);
    }
  }

  #publish(book: Following, receivedNs: number): void {
    if (this.#source.role !== 'current' || this.#options.books === undefined) return;
    const code = this.#kernel.topOfBook(book.route, receivedNs);
    if (code === APPLIED) {
      this.#options.books.publish(book.stream.symbol, this.#kernel.book, book.stream.countsUntilMs);
    } else this.#break(book, reasonOf(code));
  }

  #bookOf(stream: string): Following | undefined {
    return [...this.#books.values()].find((book) => book.stream.name === stream);
  }

  #break(book: Following, reason: string): void {
    this.open(book.stream, book.route);
    this.#books.get(book.route)!.isOut = true;
    if (this.#source.role === 'current') book.stream.isBroken = true;
    this.#options.onBroken(this.#source, book.stream, reason);
  }

  // --- diffs that stand on a REST snapshot ---

  /** True when the diff is to be applied now. */
  #isNextDiff(book: Following, at: number, frame: Buffer): boolean {
    const first = this.#kernel.deltas.getBigUint64(at + DELTA_FIRST_SEQUENCE, true);
    const last = this.#kernel.deltas.getBigUint64(at + DELTA_LAST_SEQUENCE, true);
    const [sync, action] = receiveDiff(book.sync, first, last);
    book.sync = sync;
    if (action === 'apply') return true;
    if (action === 'ignore') {
      book.stream.duplicates++;
      return false;
    }
    if (action === 'resync') {
      this.#break(book, 'changes before this one are missing');
      return false;
    }
    if (book.buffered.length < BUFFERED_MAX) book.buffered.push(Buffer.from(frame));
    if (book.fetching === undefined) void this.#fetch(book);
    return false;
  }

  async #fetch(book: Following): Promise<void> {
    const url = this.#options.walker.snapshot!.url(this.#options.restUrl!, book.stream.mapped.symbol);
    for (let fetches = 0; fetches < FETCHES_MAX; fetches++) {
      book.fetching = new AbortController();
      const answer = await fetchSnapshot(url, book.fetching);
      if (!this.#isCurrent(book)) return;
      const failure = answer.kind === 'failed' ? answer.reason : this.#useSnapshot(book, answer.bytes);
      if (failure === undefined) return;
      this.#options.onSnapshotFailed(failure);
      // A venue that says when to come back means it: who comes earlier is banned.
      const askedMs = answer.kind === 'failed' ? answer.retryAfterMs : 0;
      const waitMs = Math.max(Math.min(REFETCH_MIN_MS * 2 ** fetches, REFETCH_MAX_MS), askedMs);
      await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      if (!this.#isCurrent(book)) return;
    }
    this.#break(book, `no usable snapshot in ${FETCHES_MAX} tries`);
  }

  /** False once the book was begun anew or the connection closed. */
  #isCurrent(book: Following): boolean {
    return this.#books.get(book.route) === book;
  }

  /** Why the snapshot is of no use; undefined when it is the book's from now on. */
  #useSnapshot(book: Following, bytes: Buffer): string | undefined {
    const code = this.#kernel.snapshot(bytes, book.route, book.stream.mapped.scale);
    if (code <= 0) return `a snapshot that cannot be read: ${code === CONTROL ? 'it is no book' : refusalCode(code)}`;
    const last = this.#kernel.deltas.getBigUint64(DELTA_LAST_SEQUENCE, true);
    const [sync, verdict] = receiveSnapshot(book.sync, last);
    book.sync = sync;
    if (verdict === 'refetch') return 'a snapshot older than the first change';
    const applied = this.#kernel.applyDelta(0);
    if (applied !== APPLIED) return reasonOf(applied);
    this.#kernel.endOfKnown(book.route, this.#options.walker.snapshot!.levels);
    book.fetching = undefined;
    const buffered = book.buffered;
    book.buffered = [];
    const { walk } = this.#options;
    const { heardNs } = this.#source;
    for (const frame of buffered) {
      const code = walk(this.#kernel.take(frame), NO_ROUTE, DECIMALS_DEFAULT, heardNs);
      if (code > 0) this.read(frame, heardNs);
    }
    // Changes that were missing among those have broken it already.
    if (this.#isCurrent(book)) {
      this.#following(book, heardNs);
      this.#publish(book, heardNs);
    }
    this.#options.books?.finish();
    return undefined;
  }
}

/** The number that both connections share; 0 where the venue has none. */
function appliedOf({ sync }: Following): number {
  return sync.phase === 'synced' ? Number(sync.applied) : 0;
}

function reasonOf(code: number): string {
  if (code === APPLY_CHECKSUM_DIFFERS) return "the checksum of the book differs from the venue's";
  if (code === APPLY_THIN) return 'too few levels are left near the top of the book';
  return `the book refused an update (${code})`;
}

type SnapshotAnswer =
  | { readonly kind: 'bytes'; readonly bytes: Buffer }
  | { readonly kind: 'failed'; readonly reason: string; readonly retryAfterMs: number };

async function fetchSnapshot(url: string, abort: AbortController): Promise<SnapshotAnswer> {
  try {
    const { response, body } = await fetchWhole(url, abort);
    if (response.ok) return { kind: 'bytes', bytes: body };
    const seconds = Number(response.headers.get('retry-after') ?? 0);
    const retryAfterMs = Number.isFinite(seconds) ? Math.min(seconds * 1000, RETRY_AFTER_MAX_MS) : 0;
    return { kind: 'failed', reason: `HTTP ${response.status} from ${url}`, retryAfterMs };
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error), retryAfterMs: 0 };
  }
}
