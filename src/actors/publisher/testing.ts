import {
  SUMMARY,
  SUMMARY_LEVEL,
  SUMMARY_LEVEL_BYTES,
  SUMMARY_VENUE,
  SUMMARY_VENUE_BYTES,
  SUMMARY_VENUE_IN,
  summaryAsksOffset,
  summaryBidsOffset,
  summaryBytes,
} from '../../protocols/book-layout.ts';

export interface TestLevel {
  readonly price: bigint;
  readonly amount: bigint;
  readonly venue: number;
}

export interface TestSummary {
  readonly sequence: bigint;
  readonly spread: bigint;
  readonly mergedNs: bigint;
  readonly receivedNs: bigint;
  readonly bids: readonly TestLevel[];
  readonly asks: readonly TestLevel[];
  readonly venues: readonly { readonly isIn: boolean; readonly receivedNs: bigint; readonly sequence: bigint }[];
}

/** Writes a summary as the merger would, by a road of its own: DataView and BigInt. */
export function writeSummary(memory: SharedArrayBuffer, record: number, depth: number, summary: TestSummary): void {
  const count = summary.venues.length;
  const view = new DataView(memory, record, summaryBytes(count, depth));
  view.setBigUint64(SUMMARY.sequence, summary.sequence, true);
  view.setBigInt64(SUMMARY.spread, summary.spread, true);
  view.setBigUint64(SUMMARY.merged_ns, summary.mergedNs, true);
  view.setBigUint64(SUMMARY.received_ns, summary.receivedNs, true);
  view.setUint16(SUMMARY.bid_count, summary.bids.length, true);
  view.setUint16(SUMMARY.ask_count, summary.asks.length, true);
  summary.venues.forEach((venue, index) => {
    const row = SUMMARY.venues + index * SUMMARY_VENUE_BYTES;
    view.setBigUint64(row + SUMMARY_VENUE.received_ns, venue.receivedNs, true);
    view.setBigUint64(row + SUMMARY_VENUE.sequence, venue.sequence, true);
    view.setUint32(row + SUMMARY_VENUE.flags, venue.isIn ? SUMMARY_VENUE_IN : 0, true);
  });
  const writeSide = (offset: number, levels: readonly TestLevel[]) =>
    levels.forEach((level, index) => {
      const at = offset + index * SUMMARY_LEVEL_BYTES;
      view.setBigUint64(at + SUMMARY_LEVEL.price, level.price, true);
      view.setBigUint64(at + SUMMARY_LEVEL.amount, level.amount, true);
      view.setUint32(at + SUMMARY_LEVEL.venue, level.venue, true);
    });
  writeSide(summaryBidsOffset(count), summary.bids);
  writeSide(summaryAsksOffset(count, depth), summary.asks);
}
