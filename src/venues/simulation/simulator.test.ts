import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { WebSocket } from 'ws';
import { closeAll, connect, rest, START_MS, simulator } from './rig.ts';
import { startSimulator } from './simulator.ts';

afterEach(closeAll);

describe('all simulated venues', () => {
  it('send the same frames for the same seed', async () => {
    const runs = await Promise.all(
      [1, 2].map(async () => {
        const sim = await simulator({ seed: 11 });
        const clients = [
          await connect(sim, 'binance', '/stream?streams=btcusdt@depth20@100ms/btcusdt@aggTrade'),
          await connect(sim, 'bitstamp'),
          await connect(sim, 'kraken'),
          await connect(sim, 'coinbase'),
        ] as const;
        clients[1].send({ event: 'bts:subscribe', data: { channel: 'order_book_btcusd' } });
        clients[2].send({ method: 'subscribe', params: { channel: 'book', symbol: ['BTC/USD'] } });
        clients[3].send({ type: 'subscribe', product_ids: ['BTC-USD'], channel: 'level2' });
        await clients[1].frame('succeeded');
        await clients[2].frame('"type":"snapshot"');
        await clients[3].frame('"type":"snapshot"');
        sim.advance(50);
        for (const client of clients) {
          client.socket.ping();
          await new Promise((resolve) => client.socket.once('pong', resolve));
        }
        return clients.map((client) => client.frames);
      }),
    );
    expect(runs[0]!.every((frames) => frames.length >= 40)).toBe(true);
    expect(runs[1]).toEqual(runs[0]);
  });

  it('are not found at other paths', async () => {
    const sim = await simulator();
    for (const [venue, path] of [
      ['binance', '/nope'],
      ['kraken', '/v1'],
      ['nowhere', '/'],
    ] as const) {
      const client = await connect(sim, venue, path);
      expect(client.socket.readyState).not.toBe(WebSocket.OPEN);
    }
    expect((await rest(sim, '/nowhere/x')).status).toBe(404);
  });

  it('run by themselves at the rate that is asked for', async () => {
    const sim = await simulator({ manual: false, rate: 500, symbols: ['BTC-USD'] });
    const client = await connect(sim, 'binance', '/ws/btcusdt@depth20@100ms');
    expect((await client.parsed('lastUpdateId', 100)).length).toBeGreaterThanOrEqual(100);
  });

  it('tell when each frame was sent, in the frame where asked, and afterwards', async () => {
    const sim = await simulator({ stamps: true });
    const client = await connect(sim, 'binance', '/ws/btcusdt@depth20@100ms');
    const before = process.hrtime.bigint();
    sim.advance(1);
    const after = process.hrtime.bigint();
    const [frame] = await client.parsed<{ lastUpdateId: number; sent_ns: string }>('lastUpdateId', 1);
    const stamped = BigInt(frame!.sent_ns);
    expect(stamped > before && stamped < after).toBe(true);
    const stream = 'btcusdt@depth20@100ms';
    const kept = sim.truth.sentNs('binance', stream, String(frame!.lastUpdateId))!;
    expect(kept > before && kept <= stamped).toBe(true);
    const query = `venue=binance&stream=${stream}&sequence=${frame!.lastUpdateId}`;
    expect((await rest(sim, `/_sim/sent?${query}`)).body).toEqual({ sent_ns: String(kept) });
  });

  it('serve a recording of themselves as it was', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'tapeworks-')), 'frames.ndjson');
    const subscribe = { type: 'subscribe', product_ids: ['BTC-USD'], channel: 'level2' };
    const live = await startSimulator({ seed: 5, startMs: START_MS, manual: true, record: file });
    const combined = await connect(live, 'binance', '/stream?streams=btcusdt@aggTrade');
    const coinbase = await connect(live, 'coinbase');
    coinbase.send(subscribe);
    await coinbase.frame('"snapshot"');
    live.advance(50);
    const trades = live.truth.trades('binance', 'BTCUSDT').length;
    await combined.parsed('aggTrade', trades);
    const updates = await coinbase.parsed('l2_data', 51);
    await live.stop();

    const replay = await simulator({ replay: file, speed: 10 });
    const again = await connect(replay, 'binance', '/stream?streams=btcusdt@aggTrade');
    const coinbaseAgain = await connect(replay, 'coinbase');
    coinbaseAgain.send(subscribe);
    await coinbaseAgain.frame('subscriptions');
    replay.play();
    expect(await replay.replayed).toBe('all frames served');
    await again.parsed('aggTrade', trades);
    expect(again.frames).toEqual(combined.frames);
    expect(await coinbaseAgain.parsed('l2_data', 51)).toEqual(updates);
  });

  it('begin a recording when all have subscribed, be it one after the other', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const file = join(await mkdtemp(join(tmpdir(), 'tapeworks-')), 'frames.ndjson');
      const streams = ['order_book_btcusd', 'order_book_ethusd'];
      const frames = streams.map((stream) => ({
        t_us: 1,
        venue: 'bitstamp',
        stream,
        frame: `{"recorded":"${stream}"}`,
      }));
      await writeFile(file, frames.map((frame) => JSON.stringify(frame)).join('\n'));
      const sim = await simulator({ replay: file, manual: false });
      const play = vi.spyOn(sim, 'play');
      const client = await connect(sim, 'bitstamp');
      for (const channel of streams) {
        client.send({ event: 'bts:subscribe', data: { channel } });
        await client.frame(`"channel":"${channel}"`);
        vi.advanceTimersByTime(900);
        expect(play).not.toHaveBeenCalled();
      }
      vi.advanceTimersByTime(200);
      expect(await sim.replayed).toBe('all frames served');
      for (const stream of streams) await client.frame(`{"recorded":"${stream}"}`);
    } finally {
      vi.useRealTimers();
    }
  });

  it('name the line of a recording that is none', async () => {
    const file = join(await mkdtemp(join(tmpdir(), 'tapeworks-')), 'frames.ndjson');
    await writeFile(file, '{"t_us":1,"venue":"binance","stream":"a","frame":"{}"}\n{"t_us":"x"}\n');
    const sim = await simulator({ replay: file });
    sim.play();
    expect(await sim.replayed).toBe(`${file}:2: not a recorded frame`);
  });

  it('refuse options that are out of range, files that cannot be used and ports that are taken, with codes', async () => {
    await expect(startSimulator({ rate: 0 })).rejects.toMatchObject({ code: 'TW_SIM_BAD_OPTION' });
    for (const option of ['record', 'replay']) {
      const refused = startSimulator({ [option]: join(tmpdir(), 'no-such-folder', 'frames.ndjson') });
      await expect(refused).rejects.toMatchObject({
        code: 'TW_SIM_BAD_OPTION',
        message: expect.stringContaining(option),
      });
    }
    const sim = await simulator();
    await expect(startSimulator({ port: sim.port })).rejects.toMatchObject({ code: 'TW_SIM_CANNOT_LISTEN' });
  });

  it('drop a client that does not read, and go on serving the others', async () => {
    const sim = await simulator();
    const [deaf, keen] = [await connect(sim, 'bitstamp'), await connect(sim, 'bitstamp')];
    for (const client of [deaf, keen]) {
      client.send({ event: 'bts:subscribe', data: { channel: 'order_book_btcusd' } });
      await client.frame('succeeded');
    }
    deaf.socket.pause();
    const dropped = () =>
      (sim.status() as { venues: { bitstamp: { slowClientsDropped: number } } }).venues.bitstamp.slowClientsDropped;
    for (let round = 0; round < 500 && dropped() === 0; round++) {
      const seen = keen.frames.length;
      sim.advance(20);
      await keen.until(() => keen.frames.length > seen, 'frames for the one who reads');
    }
    expect(dropped()).toBe(1);
    expect(keen.closed).toBeUndefined();
  });
});
