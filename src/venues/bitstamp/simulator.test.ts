import { afterEach, describe, expect, it } from 'vitest';
import { closeAll, connect, type Level, rest, START_MS, sideOf, simulator } from '../simulation/rig.ts';

afterEach(closeAll);

describe('simulated Bitstamp', () => {
  it('acks every pair in lower case, refuses the rest, and serves only what exists', async () => {
    const sim = await simulator();
    const client = await connect(sim, 'bitstamp');
    const subscribe = (channel: string) => ({ event: 'bts:subscribe', data: { channel } });
    client.send(subscribe('order_book_nosuch'), subscribe('order_book_BTCUSD'), subscribe('order_book_ethusd'));
    await client.until(() => client.frames.length === 3, 'three answers');
    expect(client.frames.map((frame) => (JSON.parse(frame) as { event: string }).event)).toEqual([
      'bts:subscription_succeeded',
      'bts:error',
      'bts:subscription_succeeded',
    ]);
    sim.advance(5);
    client.send({ event: 'bts:heartbeat' });
    await client.frame('bts:heartbeat');
    const data = client.frames.filter((frame) => frame.endsWith('"event":"data"}'));
    expect(data).toHaveLength(5);
    expect(data.every((frame) => frame.includes('order_book_ethusd'))).toBe(true);
  });

  it('sends a hundred levels a side when the book changed, and nothing when it did not', async () => {
    const sim = await simulator();
    const client = await connect(sim, 'bitstamp');
    client.send({ event: 'bts:subscribe', data: { channel: 'order_book_ltcbtc' } });
    await client.frame('succeeded');
    const listing = sim.truth.listing('bitstamp', 'ltcbtc');
    let changes = 0;
    for (let step = 0; step < 400; step++) {
      sim.advance(1);
      if (listing.book.changed) changes++;
    }
    expect(changes).toBeGreaterThan(0);
    expect(changes).toBeLessThan(40);
    client.send({ event: 'bts:heartbeat' });
    await client.frame('bts:heartbeat');
    type Frame = { data: { bids: Level[]; asks: Level[]; microtimestamp: string } };
    const frames = await client.parsed<Frame>('"event":"data"', changes);
    expect(frames).toHaveLength(changes);
    expect(frames.at(-1)!.data.bids).toEqual(sideOf(listing, listing.book.bids, 100));
  });

  it('has trades whose ids only text can hold, and bars that are their sums', async () => {
    const sim = await simulator({ speed: 30 });
    const client = await connect(sim, 'bitstamp');
    client.send({ event: 'bts:subscribe', data: { channel: 'live_trades_btcusd' } });
    await client.frame('succeeded');
    sim.advance(60);
    const count = sim.truth.trades('bitstamp', 'btcusd').length;
    type Trade = { data: { id: number; id_str: string; amount: number; amount_str: string; microtimestamp: string } };
    const trades = await client.parsed<Trade>('"event":"trade"', count);
    expect(BigInt(trades[0]!.data.id_str) > 2n ** 53n).toBe(true);
    expect(trades.some(({ data }) => String(data.id) !== data.id_str)).toBe(true);
    expect(
      trades.every((trade, at) => at === 0 || BigInt(trade.data.id_str) > BigInt(trades[at - 1]!.data.id_str)),
    ).toBe(true);
    expect(trades.every(({ data }) => data.amount === Number(data.amount_str))).toBe(true);
    type Ohlc = { data: { pair: string; ohlc: { timestamp: string; volume: string }[] } };
    const { body } = await rest<Ohlc>(sim, `/bitstamp/api/v2/ohlc/btcusd/?step=60&limit=1000&start=${START_MS / 1000}`);
    const lots = (text: string) => BigInt(text.replace('.', ''));
    for (const bar of body.data.ohlc) {
      const fromUs = Number(bar.timestamp) * 1e6;
      const inside = trades.filter(
        ({ data }) => Number(data.microtimestamp) >= fromUs && Number(data.microtimestamp) < fromUs + 60e6,
      );
      expect(lots(bar.volume)).toBe(inside.reduce((sum, { data }) => sum + lots(data.amount_str), 0n));
    }
    const recent = await rest<{ tid: string }[]>(sim, '/bitstamp/api/v2/transactions/btcusd/?time=day');
    expect(recent.body[0]!.tid).toBe(trades.at(-1)!.data.id_str);
  });

  it('closes on a frame of 512 bytes, and without a word on the 1025th channel', async () => {
    const sim = await simulator();
    const [long, many] = [await connect(sim, 'bitstamp'), await connect(sim, 'bitstamp')];
    long.send('x'.repeat(512));
    for (let at = 0; at < 1025; at++) many.send({ event: 'bts:subscribe', data: { channel: `order_book_p${at}` } });
    await long.until(() => long.closed !== undefined, 'the close');
    await many.until(() => many.closed !== undefined, 'the cut');
    expect([long.closed, many.closed!.code]).toEqual([{ code: 1009, reason: 'read limited at 513 bytes' }, 1006]);
  });
});
