import { afterEach, describe, expect, it } from 'vitest';
import { ClientBook, closeAll, connect, type Level, sideOf, simulator } from '../simulation/rig.ts';
import { bookChecksum, type LevelText } from './sequence.ts';

afterEach(closeAll);

describe('simulated Kraken', () => {
  it('sends updates that keep a client of any depth right, each with the right checksum', async () => {
    const sim = await simulator();
    type Side = { price: number; qty: number }[];
    type Frame = { type: string; data: [{ bids: Side; asks: Side; checksum: number }] };
    for (const depth of [10, 100]) {
      const client = await connect(sim, 'kraken');
      client.send({ method: 'subscribe', params: { channel: 'book', symbol: ['BTC/USD'], depth }, req_id: 1 });
      await client.frame('"snapshot","data"');
      for (let step = 0; step < 300; step++) sim.advance(1);
      client.send({ method: 'ping', req_id: 9 });
      await client.frame('pong');
      const listing = sim.truth.listing('kraken', 'BTC/USD');
      const book = new ClientBook();
      const text = (level: Level): LevelText => level;
      for (const { data } of await client.parsed<Frame>('"channel":"book","type"', 100)) {
        for (const side of ['bids', 'asks'] as const) {
          for (const { price, qty } of data[0][side]) {
            book.set(side, price.toFixed(listing.priceDecimals), qty.toFixed(listing.amountDecimals));
          }
        }
        book.truncate(depth);
        expect(bookChecksum(book.levels('asks', 10).map(text), book.levels('bids', 10).map(text))).toBe(
          data[0].checksum,
        );
      }
      expect(book.levels('bids')).toEqual(sideOf(listing, listing.book.bids, depth));
      expect(book.levels('asks')).toEqual(sideOf(listing, listing.book.asks, depth));
    }
  });

  it('answers each symbol of a request by itself', async () => {
    const client = await connect(await simulator(), 'kraken');
    client.send({ method: 'subscribe', params: { channel: 'trade', symbol: ['ETH/USD', 'XBT/USD'] }, req_id: 4 });
    client.send({ method: 'subscribe', params: { channel: 'book', symbol: ['ETH/USD'], depth: 11 }, req_id: 5 });
    client.send('junk');
    expect(JSON.parse(await client.frame('"success":true'))).toMatchObject({
      result: { symbol: 'ETH/USD' },
      req_id: 4,
    });
    expect(JSON.parse(await client.frame('XBT/USD'))).toMatchObject({ success: false, symbol: 'XBT/USD', req_id: 4 });
    expect(JSON.parse(await client.frame('depth not'))).toMatchObject({ success: false, req_id: 5 });
    expect(JSON.parse(await client.frame('Malformed'))).toMatchObject({ success: false });
    expect(client.frames[0]).toContain('"system":"online"');
  });
});
