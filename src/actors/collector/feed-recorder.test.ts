import { describe, expect, it } from 'vitest';
import { BOOK, bookAsksOffset, bookBytes } from '../../protocols/book-layout.ts';
import type { NewEvent } from '../../protocols/event-producer.ts';
import { FeedRecorder } from './feed-recorder.ts';

const DEPTH = 2;
const MAPPED = { instrument: 'BTC-USD', symbol: 'BTCUSDT', scale: 8 };

function stage() {
  const told: NewEvent[] = [];
  const clock = { ms: 10_000 };
  const recorder = new FeedRecorder({
    symbols: [MAPPED],
    depth: DEPTH,
    quoteEveryMs: 200,
    bookEveryMs: 1000,
    nowMs: () => clock.ms,
    nowNs: () => BigInt(clock.ms) * 1_000_000n,
    record: (event) => told.push(event) > 0,
  });
  const payloads = (type: string) =>
    told.filter(({ eventType }) => eventType === type).map(({ payload }) => JSON.parse(String(payload)) as object);
  return { recorder, clock, told, payloads };
}

/** A book with one bid and, unless told otherwise, one ask; amounts are 1. */
function book(sequence: number, bid: bigint, ask?: bigint): Uint8Array {
  const record = new Uint8Array(bookBytes(DEPTH));
  const view = new DataView(record.buffer);
  const level = (at: number, price: bigint) => {
    view.setBigUint64(at, price, true);
    view.setBigUint64(at + 8, 100_000_000n, true);
  };
  view.setBigUint64(BOOK.sequence, BigInt(sequence), true);
  view.setUint16(BOOK.bid_count, 1, true);
  level(BOOK.levels, bid);
  if (ask === undefined) return record;
  view.setUint16(BOOK.ask_count, 1, true);
  level(bookAsksOffset(DEPTH), ask);
  return record;
}

describe('the recorder of a feed', () => {
  it('makes two quotes of a burst: its first book at once, its last when the next turn is due', () => {
    const { recorder, clock, payloads } = stage();
    for (let at = 1; at <= 40; at++) {
      recorder.publish(0, book(at, BigInt(at) * 100_000_000n, 50n * 100_000_000n));
      clock.ms += 4;
    }
    clock.ms = 10_199;
    recorder.tick();
    expect(payloads('quote')).toHaveLength(1);
    clock.ms = 10_200;
    recorder.tick();
    expect(payloads('quote')).toMatchObject([
      { bid_price: '1', sequence: '1' },
      { bid_price: '40', bid_amount: '1', ask_price: '50', sequence: '40', venue_symbol: 'BTCUSDT' },
    ]);
    expect(recorder.conflated).toBe(38);
  });

  it('makes no quote where only deeper levels changed, but one book a second', () => {
    const { recorder, clock, payloads } = stage();
    for (let at = 1; at <= 25; at++) {
      recorder.publish(0, book(at, 100_000_000n, 200_000_000n));
      clock.ms += 100;
    }
    expect(payloads('quote')).toHaveLength(1);
    expect(payloads('orderbook')).toMatchObject([
      { sequence: '1', bids: [['1', '1']], asks: [['2', '1']] },
      { sequence: '11' },
      { sequence: '21' },
    ]);
  });

  it('keeps its pace after a pause: no second quote comes early', () => {
    const { recorder, clock, payloads } = stage();
    recorder.publish(0, book(1, 1n, 9n));
    clock.ms += 5000;
    recorder.publish(0, book(2, 2n, 9n));
    clock.ms += 1;
    recorder.publish(0, book(3, 3n, 9n));
    expect(payloads('quote')).toMatchObject([{ sequence: '1' }, { sequence: '2' }]);
  });

  it('leaves an empty side out and takes the time of receipt where the venue gives none', () => {
    const { recorder, told, payloads } = stage();
    recorder.publish(0, book(7, 12_345_678n));
    expect(payloads('quote')).toEqual([
      { bid_price: '0.12345678', bid_amount: '1', sequence: '7', venue_symbol: 'BTCUSDT' },
    ]);
    expect(told[0]!.tsEvent).toBe(10_000_000_000n);
  });

  it('forgets a waiting book that does not count any more', () => {
    const { recorder, clock, payloads } = stage();
    recorder.publish(0, book(1, 1n, 9n));
    recorder.publish(0, book(2, 2n, 9n));
    recorder.leaveOut(0);
    clock.ms += 5000;
    recorder.tick();
    expect(payloads('quote')).toHaveLength(1);
  });
});
