import type { SummaryReader } from '../actors/merger/book-memory.ts';
import { toText } from '../actors/publisher/decimal.ts';
import type { SymbolShape } from '../actors/publisher/encode.ts';
import type { BooksSource } from '../console/sources.ts';
import {
  SUMMARY,
  SUMMARY_LEVEL,
  SUMMARY_LEVEL_BYTES,
  SUMMARY_VENUE,
  SUMMARY_VENUE_BYTES,
  SUMMARY_VENUE_IN,
  summaryAsksOffset,
  summaryBidsOffset,
} from '../protocols/book-layout.ts';
import type { BookPlan } from '../protocols/book-share.ts';
import type * as api from '../protocols/console-api.ts';
import type { ExchangeStatus } from '../protocols/exchange.ts';
import { nowNs } from '../supervision/threads/thread-clock.ts';
import type { BookMetrics } from './book-metrics.ts';

export interface BooksViewOptions {
  readonly plan: () => BookPlan | undefined;
  readonly shapeOf: (symbol: string) => SymbolShape;
  readonly statuses: () => readonly ExchangeStatus[];
  readonly metrics: BookMetrics;
}

/** The merged books as the dashboard shows them, read from the records that the publisher took last. */
export class BooksView implements BooksSource {
  readonly #options: BooksViewOptions;
  #reader: SummaryReader | undefined;
  #view: DataView<ArrayBufferLike> = new DataView(new ArrayBuffer(0));

  constructor(options: BooksViewOptions) {
    this.#options = options;
  }

  onSummary(reader: SummaryReader): void {
    if (reader === this.#reader) return;
    this.#reader = reader;
    this.#view = new DataView(reader.memory.buffer);
  }

  catalogue(): api.BooksCatalogue {
    const plan = this.#options.plan();
    return { symbols: plan?.symbols ?? [], venues: plan?.venues ?? [] };
  }

  latency(): api.HistogramView | undefined {
    return this.#options.metrics.latency();
  }

  latest(symbol: string): api.BookView | undefined {
    const plan = this.#options.plan();
    const index = plan?.symbols.indexOf(symbol) ?? -1;
    const record = index < 0 ? undefined : this.#reader?.latest(index);
    if (plan === undefined || record === undefined) return undefined;
    const shape = this.#options.shapeOf(symbol);
    const venues = plan.venues.length;
    const bids = this.#side(record + summaryBidsOffset(venues), this.#u16(record + SUMMARY.bid_count), shape);
    const asks = this.#side(
      record + summaryAsksOffset(venues, plan.depth),
      this.#u16(record + SUMMARY.ask_count),
      shape,
    );
    return {
      symbol,
      sequence: Number(this.#view.getBigUint64(record + SUMMARY.sequence, true)),
      spread: bids.length > 0 && asks.length > 0 ? this.#spread(record, shape) : null,
      bids,
      asks,
      venues: plan.venues.map((name, venue) => this.#venue(name, symbol, record, venue)),
    };
  }

  #side(first: number, count: number, shape: SymbolShape): api.BookLevelView[] {
    return Array.from({ length: count }, (_, level) => {
      const at = first + level * SUMMARY_LEVEL_BYTES;
      return {
        price: this.#decimal(at + SUMMARY_LEVEL.price, shape.priceDecimals),
        amount: this.#decimal(at + SUMMARY_LEVEL.amount, shape.amountDecimals),
        venue: this.#view.getUint32(at + SUMMARY_LEVEL.venue, true),
      };
    });
  }

  #venue(name: string, symbol: string, record: number, venue: number): api.BookVenueView {
    const row = record + SUMMARY.venues + venue * SUMMARY_VENUE_BYTES;
    const receivedNs = Number(this.#view.getBigUint64(row + SUMMARY_VENUE.received_ns, true));
    const stream = this.#options
      .statuses()
      .filter((status) => status.venue === name)
      .flatMap(({ streams }) => streams)
      .find(({ instrument, kind }) => instrument === symbol && (kind === 'book' || kind === 'book-delta'));
    const isWell = stream?.phase === 'live';
    return {
      name,
      phase: stream?.phase ?? 'down',
      reason: isWell ? '' : stream === undefined ? 'not subscribed' : stream.downReason || stream.reason,
      ageMs: receivedNs === 0 ? null : Math.max(0, (nowNs() - receivedNs) / 1e6),
      merged: (this.#view.getUint32(row + SUMMARY_VENUE.flags, true) & SUMMARY_VENUE_IN) !== 0,
    };
  }

  #spread(record: number, { priceDecimals }: SymbolShape): string {
    const spread = this.#view.getBigInt64(record + SUMMARY.spread, true);
    const size = spread < 0n ? -spread : spread;
    return toText(Number(size & 0xffff_ffffn), Number(size >> 32n), priceDecimals, spread < 0n);
  }

  #decimal(at: number, decimals: number): string {
    return toText(this.#view.getUint32(at, true), this.#view.getUint32(at + 4, true), decimals, false);
  }

  #u16(at: number): number {
    return this.#view.getUint16(at, true);
  }
}
