// Which books of a stream reach the merger, whoever publishes them: the reader, or the kernel that reads them.
import { describe, expect, it } from 'vitest';
import { bookSlotOffset, MERGER_TURN } from '../../protocols/merge-layout.ts';
import { DOORBELL_BYTES } from '../../supervision/threads/doorbell.ts';
import { SharedMemory } from '../../supervision/threads/memory.ts';
import { admitToSlot, SlotReader } from '../../supervision/threads/slot.ts';
import { venueNamed } from '../../venues/index.ts';
import { streamFacts } from '../../venues/venue.ts';
import { BookWriter, bookLayout, createBooks } from '../merger/book-memory.ts';
import { Counters } from './counters.ts';
import { FrameReader } from './frame-reader.ts';
import { FrameSource } from './frame-source.ts';
import { kernelFor } from './kernel.ts';
import { Stream } from './stream.ts';

const PLAN = { venues: ['binance'], symbols: ['BTC-USD'], depth: 10 };
const NAME = 'btcusdt@depth20@100ms';

/** A reader of one stream's books, and what the merger would take of it. */
function stage() {
  const venue = venueNamed('binance');
  const share = createBooks(PLAN, { buffer: new SharedArrayBuffer(DOORBELL_BYTES), at: 0 }, true);
  const memory = new SharedMemory(share.memory.buffer);
  const books = new BookWriter(share, 'binance', MERGER_TURN);
  const mapped = { instrument: 'BTC-USD', symbol: 'BTCUSDT', scale: 8 };
  const stream = new Stream(NAME, 'book', streamFacts(venue.facts, 'book'), 0, mapped);
  const streams = new Map([[NAME, stream]]);
  const reader = new FrameReader({
    newKernel: () => kernelFor(streams.values(), 65_536, books),
    ...{ venue, restUrl: undefined, counters: new Counters(), books, decodeTimes: undefined },
    ...{ rehearsal: undefined, trades: undefined },
    ...{ onControl: () => {}, onCovered: () => {}, onBroken: () => {}, onMissing: () => {} },
  });
  reader.route(streams);
  const at = bookSlotOffset(bookLayout(PLAN), 0, 0);
  const slot = new SlotReader(memory, at, admitToSlot(memory, at, 'reader'));
  const view = new DataView(memory.buffer);
  books.finish = () => {};
  /** Reads books of these numbers on a connection; answers the numbers of those that the merger got. */
  const hear = (source: FrameSource, ...sequences: number[]) => {
    const { frame: listen } = reader.listener(source);
    return sequences.flatMap((sequence) => {
      const book = `{"lastUpdateId":${sequence},"bids":[["100","1"]],"asks":[["101","2"]]}`;
      listen(Buffer.from(`{"stream":"${NAME}","data":${book}}`));
      return slot.take() ? [Number(view.getBigUint64(slot.offset, true))] : [];
    });
  };
  const connect = (role: FrameSource['role']) => {
    const source = new FrameSource(role);
    reader.attach(source);
    return source;
  };
  return { reader, stream, streams, memory, at, hear, connect };
}

describe('of the books of a stream', () => {
  it('each newer one goes on, none twice, and all are noted', () => {
    const { hear, connect, stream } = stage();
    expect(hear(connect('current'), 5, 6, 6, 4, 7, 7, 9)).toEqual([5, 6, 7, 9]);
    expect([stream.frames, stream.duplicates, stream.lastSequence]).toEqual([7, 3, 9]);
  });

  it('what one connection has brought is not taken back by another', () => {
    const { hear, connect, reader } = stage();
    const old = connect('current');
    expect(hear(old, 1, 2, 3)).toEqual([1, 2, 3]);
    const successor = connect('successor');
    expect(hear(successor, 2, 4, 8)).toEqual([4, 8]);
    expect(hear(old, 5, 7)).toEqual([]);
    expect(hear(successor, 9)).toEqual([9]);
    expect(hear(old, 9, 10)).toEqual([10]);
    expect(hear(successor, 10)).toEqual([]);
    reader.forget(old);
    expect(hear(successor, 10, 11, 12)).toEqual([11, 12]);
  });

  it('the same one again brings back a book that was in doubt', () => {
    const { hear, connect, reader, stream } = stage();
    const source = connect('current');
    expect(hear(source, 1, 2)).toEqual([1, 2]);
    reader.miss(source, { kind: 'data', streams: [NAME] }, 'a test');
    expect([hear(source, 2), stream.isBroken]).toEqual([[2], false]);
    reader.miss(source, { kind: 'data', streams: [NAME] }, 'a test');
    expect([hear(source, 3), stream.isBroken]).toEqual([[3], false]);
  });

  it('none goes on for a stream that was left, or whose place is another’s', () => {
    const { hear, connect, reader, streams, memory, at } = stage();
    const source = connect('current');
    expect(hear(source, 1, 2)).toEqual([1, 2]);
    reader.route(new Map());
    expect(hear(source, 3)).toEqual([]);
    reader.route(streams);
    expect(hear(source, 4, 5)).toEqual([4, 5]);
    admitToSlot(memory, at, 'writer');
    expect(hear(source, 6, 7)).toEqual([]);
  });

  it('a venue that counts anew is followed after a while', () => {
    const { hear, connect, stream } = stage();
    const source = connect('current');
    expect(hear(source, 1_000, 1_001, 3)).toEqual([1_000, 1_001]);
    // As if that had been a while ago.
    stream.behindNs = 1;
    expect(hear(source, 4, 5, 4, 6)).toEqual([4, 5, 6]);
  });
});
