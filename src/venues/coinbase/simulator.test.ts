import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { judgeCounted } from '../sequence.ts';
import { ClientBook, closeAll, connect, sideOf, simulator } from '../simulation/rig.ts';

afterEach(closeAll);

describe('simulated Coinbase', () => {
  it('numbers all frames of a connection, and its updates turn the snapshot into its book', async () => {
    const sim = await simulator();
    const client = await connect(sim, 'coinbase');
    const request = (channel: string) => ({ type: 'subscribe', product_ids: ['ETH-USD'], channel });
    client.send({ type: 'subscribe', channel: 'heartbeats' }, request('level2'), request('market_trades'));
    await client.frame('"market_trades":["ETH-USD"]');
    sim.advance(200);
    await client.frame('"heartbeat_counter":20');
    type Update = { side: 'bid' | 'offer'; price_level: string; new_quantity: string };
    type Frame = { channel: string; sequence_num: number; events: [{ updates?: Update[] }] };
    const frames = client.frames.map((frame) => JSON.parse(frame) as Frame);
    let last: number | undefined;
    const book = new ClientBook();
    for (const frame of frames) {
      expect(judgeCounted(last, frame.sequence_num)).toBe('next');
      last = frame.sequence_num;
      for (const update of frame.events[0].updates ?? []) {
        book.set(update.side === 'bid' ? 'bids' : 'asks', update.price_level, update.new_quantity);
      }
    }
    const listing = sim.truth.listing('coinbase', 'ETH-USD');
    expect(book.levels('bids')).toEqual(sideOf(listing, listing.book.bids, 1e9));
    expect(book.levels('asks')).toEqual(sideOf(listing, listing.book.asks, 1e9));
  });

  it('numbers the frames of a recording among its own', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'tapeworks-')), 'frames.ndjson');
    const recorded = [7001, 7004].map((sequence_num) =>
      JSON.stringify({ channel: 'l2_data', sequence_num, events: [] }),
    );
    const lines = recorded.map((frame) =>
      JSON.stringify({ t_us: 1, venue: 'coinbase', stream: 'level2:ETH-USD', frame }),
    );
    await writeFile(file, lines.join('\n'));
    const sim = await simulator({ replay: file });
    const client = await connect(sim, 'coinbase');
    client.send({ type: 'subscribe', channel: 'heartbeats' });
    client.send({ type: 'subscribe', product_ids: ['ETH-USD'], channel: 'level2' });
    await client.frame('"level2"');
    sim.play();
    await client.parsed('l2_data', 2);
    const numbers = client.frames.map((frame) => (JSON.parse(frame) as { sequence_num: number }).sequence_num);
    expect(numbers).toEqual([0, 1, 2, 3]);
  });

  it('ends connections that do not subscribe in time, and refuses unknown products', async () => {
    const sim = await simulator({ rules: { subscribeWithinMs: 150 } });
    const [idle, busy] = [await connect(sim, 'coinbase'), await connect(sim, 'coinbase')];
    busy.send({ type: 'subscribe', channel: 'heartbeats' });
    busy.send({ type: 'subscribe', product_ids: ['NO-SUCH'], channel: 'level2' });
    expect(await busy.frame('error')).toContain('NO-SUCH');
    await idle.until(() => idle.closed !== undefined, 'the close');
    expect([idle.closed!.code, busy.closed]).toEqual([1008, undefined]);
  });
});
