// The memory that exchange threads, the merger and the publisher share, and each one's way into it.
import { MergeKernel, mergeMemory } from '../../kernels/merge.ts';
import type { BookOutlet, OutletPlace } from '../../kernels/outlet.ts';
import type { BookPlan, BookShare } from '../../protocols/book-share.ts';
import { invariant } from '../../protocols/errors/index.ts';
import {
  bookDeadlineOffset,
  bookSlotOffset,
  DEADLINE_ALWAYS,
  DEADLINE_OUT,
  deadlineWord,
  drainDirty,
  MERGE_CONTROL,
  type MergeLayout,
  mergeLayout,
  summarySlotOffset,
  venueDeadlineOffset,
} from '../../protocols/merge-layout.ts';
import { Doorbell } from '../../supervision/threads/doorbell.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { admitToSlot, formatSlot, SlotReader } from '../../supervision/threads/slot.ts';
import { SLOT, SLOT_FRESH, slotBytes } from '../../supervision/threads/slot-layout.ts';
import { nowNs } from '../../supervision/threads/thread-clock.ts';

export function bookLayout({ venues, symbols, depth }: BookPlan): MergeLayout {
  return mergeLayout({ venues: venues.length, symbols: symbols.length, depth, slotBytes });
}

export function createBooks(plan: BookPlan, bell: BookShare['bell'], isSpinning: boolean): BookShare {
  const layout = bookLayout(plan);
  const memory = mergeMemory(layout);
  const shared = new SharedMemory(memory.buffer);
  for (let symbol = 0; symbol < plan.symbols.length; symbol++) {
    formatSlot(shared, summarySlotOffset(layout, symbol), layout.summaryBytes);
    for (let venue = 0; venue < plan.venues.length; venue++) {
      formatSlot(shared, bookSlotOffset(layout, venue, symbol), layout.bookBytes);
    }
  }
  // Whether a book counts is said book by book: connections of one venue live and die apart.
  for (let venue = 0; venue < plan.venues.length; venue++) {
    shared.store(venueDeadlineOffset(layout, venue) / 4, DEADLINE_ALWAYS);
  }
  return { plan, memory, bell, isSpinning };
}

/** Gives back the turn of a thread, if it ended while it merged. For the owner of the threads, after the end. */
export function endTurn(share: BookShare, holder: number): boolean {
  const { control } = bookLayout(share.plan);
  const memory = new SharedMemory(share.memory.buffer);
  const turn = (control + MERGE_CONTROL.turn) / 4;
  if (memory.load(turn) !== holder) return false;
  memory.store((control + MERGE_CONTROL.redo) / 4, 1);
  memory.compareExchange(turn, holder, 0);
  new Doorbell(new SharedMemory(share.bell.buffer), share.bell.at).ring();
  return true;
}

/** A spinning merger takes a book within a microsecond. When it has not after another, its core was taken from it. */
const PATIENCE_NS = 1_000;
/** Longer than a helper takes to merge its symbol. While the merger works off a burst, no frame waits longer for its turn. */
const TURN_NS = 3_000;

/** Where one book goes, worked out once: each line of memory that a frame need not visit is time that it does not take. */
interface BookPlace extends OutletPlace {
  readonly stateWord: number;
}

/** One connection's way in. Make it when no earlier life of the connection runs any more. */
export class BookWriter {
  readonly #memory: SharedMemory;
  readonly #layout: MergeLayout;
  readonly #venue: number;
  readonly #places: (BookPlace | undefined)[] = [];
  readonly #bell: Doorbell;
  readonly #helper: MergeKernel;
  readonly #patienceNs: number;
  /** Where the last book went, while nobody has looked whether it was taken. */
  #last: BookPlace | undefined;
  /** For a decode kernel of this thread. */
  readonly outlet: BookOutlet;

  /** `holder` is this thread's number among those that merge in this memory. */
  constructor(share: BookShare, venue: string, holder: number) {
    this.#memory = new SharedMemory(share.memory.buffer);
    this.#layout = bookLayout(share.plan);
    this.#venue = share.plan.venues.indexOf(venue);
    this.#bell = new Doorbell(new SharedMemory(share.bell.buffer), share.bell.at);
    this.#helper = new MergeKernel(share.memory, this.#layout, nowNs, holder);
    this.#patienceNs = share.isSpinning ? PATIENCE_NS : 0;
    this.outlet = {
      functions: this.#helper.outlet,
      placeOf: (symbol) => this.#places[symbol],
      noteSent: (symbol) => this.#note(this.#places[symbol]),
    };
  }

  /** A book's place is taken with its first book; one connection of the venue writes a symbol. */
  #claim(symbol: number, record: Uint8Array): BookPlace {
    invariant(record.length === this.#layout.bookBytes, 'a book fills its slot exactly');
    const at = bookSlotOffset(this.#layout, this.#venue, symbol);
    const life = admitToSlot(this.#memory, at, 'writer');
    const place = { venue: this.#venue, symbol, life, stateWord: at / 4 + SLOT.STATE };
    this.#places[symbol] = place;
    return place;
  }

  #deadlineWord(symbol: number): number {
    return bookDeadlineOffset(this.#layout, this.#venue, symbol) / 4;
  }

  /** Levels a side of the records that it takes. */
  get depth(): number {
    return this.#layout.shape.depth;
  }

  /** Publishes a book record, to count until the given time of the threads' clock. `finish` must follow, after the last one. */
  publish(symbol: number, record: Uint8Array, untilMs: number): void {
    const place = this.#places[symbol] ?? this.#claim(symbol, record);
    const { openPlace, publishBook } = this.outlet.functions;
    const at = openPlace(place.venue, symbol, place.life);
    // Another connection has the symbol now, and this one has not been told yet.
    if (at === 0) return;
    this.#memory.write(at, record);
    publishBook(place.venue, symbol, deadlineWord(untilMs));
    this.#note(place);
  }

  #note(place: BookPlace | undefined): void {
    if (this.#last !== undefined) this.#bell.ring();
    this.#last = place;
  }

  /**
   * Merges the last book here when the merger does not come for it: at once where the merger sleeps, since to wake it takes longer.
   * Who goes on merging for longer than a helper does is the merger itself, or was stopped in the middle of it: then the merger is called.
   */
  finish(): void {
    const last = this.#last;
    this.#last = undefined;
    if (last === undefined) return;
    let untilNs = 0;
    for (;;) {
      if ((this.#memory.load(last.stateWord) & SLOT_FRESH) === 0) return;
      const now = nowNs();
      if (untilNs === 0) untilNs = now + this.#patienceNs;
      else if (now >= untilNs) {
        if (this.#helper.help(this.#venue, last.symbol)) return;
        if (now >= untilNs + TURN_NS) break;
      }
    }
    this.#bell.ring();
  }

  countUntil(symbol: number, untilMs: number): void {
    this.#memory.store(this.#deadlineWord(symbol), deadlineWord(untilMs));
  }

  /** The book does not count any more until the next one is published. */
  leaveOut(symbol: number): void {
    const word = this.#deadlineWord(symbol);
    if (this.#memory.load(word) === DEADLINE_OUT) return;
    this.#memory.store(word, DEADLINE_OUT);
    // A merger that sleeps would leave its levels in the summary until it wakes by itself.
    this.#memory.store((this.#layout.control + MERGE_CONTROL.left) / 4, 1);
    this.#bell.ring();
  }

  release(symbol: number): void {
    this.#places[symbol] = undefined;
  }
}

/** The publisher's way in. */
export class SummaryReader {
  readonly memory: SharedMemory;
  readonly #layout: MergeLayout;
  readonly #slots: readonly SlotReader[];
  readonly #hasSummary: boolean[];

  constructor(share: BookShare) {
    this.memory = new SharedMemory(share.memory.buffer);
    this.#layout = bookLayout(share.plan);
    this.#slots = share.plan.symbols.map((_, symbol) => {
      const at = summarySlotOffset(this.#layout, symbol);
      return new SlotReader(this.memory, at, admitToSlot(this.memory, at, 'reader'));
    });
    this.#hasSummary = share.plan.symbols.map(() => false);
  }

  /** Byte offset of the doorbell that the merger rings. */
  get doorbellAt(): number {
    return this.#layout.control + MERGE_CONTROL.doorbell;
  }

  /** Summaries that the merger has published, modulo 2^32. */
  get merges(): number {
    return this.memory.load((this.#layout.control + MERGE_CONTROL.merges) / 4) >>> 0;
  }

  /** Those of them that an exchange's thread merged because the merger did not come. */
  get helped(): number {
    return this.memory.load((this.#layout.control + MERGE_CONTROL.helped) / 4) >>> 0;
  }

  /** Takes every summary that is new, up to the number of symbols; answers how many. */
  drain(visit: (symbol: number, record: number) => void): number {
    let taken = 0;
    drainDirty(this.memory.words, this.#layout.outputDirty, this.#layout.shape.symbols, (symbol) => {
      const slot = this.#slots[symbol]!;
      if (!slot.take()) return;
      this.#hasSummary[symbol] = true;
      taken++;
      visit(symbol, slot.offset);
    });
    return taken;
  }

  /** Where the summary that was taken last lies; it stays there until the next drain. */
  latest(symbol: number): number | undefined {
    return this.#hasSummary[symbol] ? this.#slots[symbol]!.offset : undefined;
  }
}
